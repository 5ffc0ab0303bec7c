"""Lists in the forms of the tools, as they wrote and as they document them; the same records in their new order."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.formats import tools
from xlate.errors import InputError
from xlate.formats.nbest_file import NbestFile
from xlate.formats.records import read_record, write_lists
from xlate.scoring.feature_weights import rescored
from xlate.text import opening
from xlate.text.lines import write_lines

VLLM = {
    "request_id": "7",
    "prompt": "Übersetze: das Haus",
    "outputs": [
        {
            "text": "the\nhouse",
            "token_ids": [5, 9],
            "cumulative_logprob": -0.75,
            "logprobs": [{"4": {"logprob": -0.125}, "5": {"logprob": -0.25}}, {"9": {"logprob": -0.5}}],
            "qe": 0.5,
        },
        {"index": 1, "text": "a house", "token_ids": [7], "cumulative_logprob": -2.0, "logprobs": None, "qe": 0.75},
    ],
    "finished": True,
}
CHAT = json.loads(tools.CHAT)
BATCH = {"id": "batch_req_1", "custom_id": "line 3", "response": {"status_code": 200, "body": CHAT}, "error": None}
# Without log probabilities of the first token.
COMPLETION = {"id": "cmpl-1", "choices": [{"text": "the house", "logprobs": {"token_logprobs": [None, -2.0]}}]}
FACES = {
    "id": 1,
    "sequences": ["the house", "a house"],
    "sequences_scores": [-0.5, -1],
    "qe": [0.25, 1],
    "beams": 2,
}
PIPELINE = [{"translation_text": "the house", "score": 0.5}, {"translation_text": "a house", "score": 0.25}]
CTRANSLATE = {
    "src": "das Haus",
    "hypotheses": [["the", "house"], ["a", "house"]],
    "scores": [-0.5, -1],
    "attention": None,
}
COMET = {"src": "das Haus", "mt": "the house", "ref": "the house!", "score": 0.5}
PAIR = {"prompt": "das Haus", "chosen": "the house", "rejected": [{"role": "assistant", "content": "a house"}]}


def tokens(*values: float) -> dict[str, float]:
    first = values[:3]
    mean, begin = sum(values) / len(values), sum(first) / len(first)
    return {
        "log_prob": sum(values), "mean_log_prob": mean, "least_log_prob": min(values), "first_log_prob": begin,
        "pieces": len(values),
    }  # fmt: skip


HOUSES = [("the house", tokens(-0.5, -0.25), None), ("a house", tokens(-1.5, -0.25), None)]
# The first line of what a tool wrote, or a record with more in it: the id, the source and the hypotheses.
FORMS = {
    tools.TRANSFORMERS: (
        0,
        "das haus ist klein",
        [
            ("grün cat grün cat", {}, -0.7763990759849548),
            ("smaller small", {}, -0.788546085357666),
            ("grün cat small", {}, -0.837368369102478),
        ],
    ),
    tools.PIPELINE: (None, None, [("hund old katze", {}, None), ("katze rot", {}, None)]),
    tools.CTRANSLATE: (
        None,
        "das haus ist klein",
        [
            (" grün cat grün cat cat", {}, -0.8625754117965698),
            (" grün cat<s> small cat", {}, -0.891951858997345),
            ("<s> smaller smaller", {}, -0.9615529179573059),
        ],
    ),
    tools.CHAT: ("chatcmpl-1", None, HOUSES),
    json.dumps(BATCH): ("line 3", None, HOUSES),
    tools.COMPLETION: ("cmpl-1", None, [(f" {text}", *rest) for text, *rest in HOUSES]),
    json.dumps(COMPLETION): ("cmpl-1", None, [("the house", tokens(-2.0), None)]),
    tools.VLLM: (0, "das haus", [(" the house", HOUSES[0][1], -0.75), (" a house", HOUSES[1][1], -1.75)]),
    json.dumps(VLLM): (
        7,
        "Übersetze: das Haus",
        [("the\nhouse", {"qe": 0.5, **tokens(-0.25, -0.5)}, -0.75), ("a house", {"qe": 0.75}, -2)],
    ),
    json.dumps(FACES): (
        1,
        None,
        [("the house", {"qe": 0.25, "beams": 2}, -0.5), ("a house", {"qe": 1, "beams": 2}, -1)],
    ),
    tools.COMET: (None, "das haus", [("the house", {"COMET": 0.9375}, None)]),
    tools.TRL: (None, "das haus", [("the house", {"chosen": 1}, None), ("a house", {"chosen": 0}, None)]),
}


@pytest.mark.parametrize("written", FORMS)
def test_every_form(written: str) -> None:
    record = read_record(json.loads(written.splitlines()[0]))
    assert (record.id, record.source, record.entries) == FORMS[written]
    assert record.references == (("the house",) if written is tools.COMET else ())


def test_other_forms_through_the_names_of_their_fields() -> None:
    given = {"task": {"number": 4, "text": "das Haus"}, "answers": [{"out": {"en": "a"}, "p": -1}], "gold": ["b", "c"]}
    fields = {"id": "task.number", "src": "task.text", "hyp": "answers.out.en", "ref": "gold", "score": "answers.p"}
    record = read_record(given, fields)
    assert record[:4] == (4, "das Haus", ("b", "c"), [("a", {}, -1)])
    with pytest.raises(ValueError, match="no field answer"):
        read_record(given, fields | {"hyp": "answer.out"})


def lines_of(path: Path, *records: Any) -> Path:
    write_lines(path, map(json.dumps, records))
    return path


def ranked(path: Path, scores: list[float], *, out: str = "out.jsonl", **how: Any) -> list[Any]:
    """The records of a list under these scores."""
    write_lists(path.parent / out, rescored(NbestFile(path, **how).lists(), np.array(scores)))
    return [json.loads(line) for line in (path.parent / out).read_text().splitlines()]


def shown(path: Path, **how: Any) -> list[list[tuple[int, str]]]:
    return [[(one.sentence, one.text) for one in group] for group in NbestFile(path, **how).lists()]


def test_records_come_back_in_their_form_best_first(tmp_path: Path) -> None:
    first, second = VLLM["outputs"]
    path = lines_of(tmp_path / "list", VLLM, FACES | {"ref": ["r", "s"]}, CTRANSLATE | {"id": 8})
    column = tmp_path / "column"
    column.write_text("6\n5\n4\n3\n2\n1\n")
    vllm, faces, translated = ranked(path, [1, 2, 3, 4, 0, 1], added=(f"lm={column}",))
    better, worse = {"lm": 5, "score": 2, "rank": 1}, {"lm": 6, "score": 1, "rank": 2}
    assert vllm == VLLM | {"outputs": [second | better, first | worse]}
    turned = {name: FACES[name][::-1] for name in ("sequences", "sequences_scores", "qe")}
    assert faces == FACES | turned | {"ref": ["r", "s"], "lm": [3, 4], "score": [4, 3], "rank": [1, 2]}
    turned = {name: CTRANSLATE[name][::-1] for name in ("hypotheses", "scores")}
    assert translated == CTRANSLATE | turned | {"id": 8, "lm": [1, 2], "score": [1, 0], "rank": [1, 2]}
    assert shown(tmp_path / "out.jsonl")[0] == [(7, "a house"), (7, "the house")]


def test_answers_of_a_batch_lists_and_pairs_come_back(tmp_path: Path) -> None:
    batch, pipeline, pair = (
        ranked(lines_of(tmp_path / "list", record), [1, 2])[0] for record in (BATCH, PIPELINE, PAIR)
    )
    one, two = CHAT["choices"]
    choices = [two | {"score": 2, "rank": 1}, one | {"score": 1, "rank": 2}]
    assert batch == BATCH | {"response": {"status_code": 200, "body": CHAT | {"choices": choices}}}
    assert [one["translation_text"] for one in pipeline] == ["a house", "the house"]
    assert pair == {
        "prompt": "das Haus", "chosen": PAIR["rejected"], "rejected": PAIR["chosen"], "score": [2, 1], "rank": [1, 2],
    }  # fmt: skip


def test_ids_that_are_texts_or_missing_are_numbered_and_kept(tmp_path: Path) -> None:
    named = [{"id": name, "hyp": hyp, "x": None} for name, hyp in (("b", "1"), ("b", "2"), ("a", "3"))]
    path = lines_of(tmp_path / "list", *named)
    assert shown(path) == [[(0, "1"), (0, "2")], [(1, "3")]]
    assert ranked(path, [1, 2, 0], out="out")[:2] == [
        named[1] | {"score": 2, "rank": 1}, named[0] | {"score": 1, "rank": 2}
    ]  # fmt: skip
    sources = [COMET, COMET | {"mt": "a house"}, COMET | {"src": "es"}, CTRANSLATE, CTRANSLATE | {"src": None}]
    listed = [["the house", "a house"], ["the house"], ["the house", "a house"], ["the house", "a house"]]
    assert shown(lines_of(path, *sources)) == [[(at, text) for text in texts] for at, texts in enumerate(listed)]


def test_the_name_chooses_between_records_and_bars(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "list", {"id": 3, "src": "s", "hyp": "a\nb", "lm": -1}, {"id": 4, "hyp": "a ||| b"})
    assert ranked(path, [1, 2])[0]["hyp"] == "a\nb"
    with pytest.raises(InputError, match="which a list with bars cannot contain"):
        ranked(path, [1, 2], out="out.nbest")
    bars = tmp_path / "bars"
    bars.write_text("3 ||| a b ||| lm= -1 tm= 1 2 ||| 1\n")
    assert ranked(bars, [2]) == [
        {"id": 3, "hyp": "a b", "scores": {"lm": -1, "tm_0": 1, "tm_1": 2}, "score": 2, "rank": 1}
    ]
    write_lists(tmp_path / "out.nbest", NbestFile(lines_of(path, {"id": 3, "hyp": "a\nb", "lm": -1})).lists())
    assert (tmp_path / "out.nbest").read_text() == "3 ||| a b ||| lm= -1 ||| \n"


def test_standard_input_is_read_as_often_as_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines_of(tmp_path / "list", FACES).read_bytes())))
    opening.standard_input.cache_clear()
    for _ in range(2):
        assert shown(Path("-")) == [[(1, "the house"), (1, "a house")]]
    opening.standard_input.cache_clear()


@pytest.mark.parametrize("kind", ["parquet", "folder", "datasets"])
def test_tables_are_lists_of_records(tmp_path: Path, kind: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet, ipc = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.ipc")
    table = arrow.Table.from_pylist([FACES, FACES | {"id": 2}])
    folder = tmp_path / "data"
    folder.mkdir()
    path = folder / "list.parquet" if kind == "parquet" else folder
    if kind == "datasets":
        with ipc.new_stream(folder / "list.arrow", table.schema) as stream:
            stream.write_table(table)
        (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "list.arrow"}]}))
    else:
        parquet.write_table(table, folder / "list.parquet")
    assert shown(path) == [[(number, "the house"), (number, "a house")] for number in (1, 2)]
    assert ranked(path, [1, 2, 4, 3], out="out")[0]["sequences"] == ["a house", "the house"]
    for damaged in ("{}", '{"_data_files": [1]}', '{"_data_files": [{"filename": 1}]}'):
        (folder / "state.json").write_text(damaged)
        with pytest.raises(InputError, match=r"state\.json"):
            shown(folder)
    (folder / "list.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match="cannot be read as a table"):
        shown(folder / "list.parquet")


def test_lists_of_equal_sources_stay_apart(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "list", *[{"prompt": "Ja.", "outputs": [{"text": text}]} for text in "ab"])
    assert shown(path) == [[(0, "a")], [(1, "b")]]
