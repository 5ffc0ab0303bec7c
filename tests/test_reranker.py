"""Ranking n-best lists from Python: the same as the commands to the last bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

import xlate
from tests.commands import succeed
from tests.test_rerank_end_to_end import as_json, write_lists

MIRA = ["loss=mira", "loss.tune.heldout_every=4", "model.rerank.mbr=chrf"]


@pytest.fixture
def lists(tmp_path: Path) -> list[dict[str, Any]]:
    """The lists of `write_lists` in the form of vLLM, each in one dictionary, with a column `qe`."""
    write_lists(tmp_path, "train", range(24))
    found: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(as_json(tmp_path, "train").read_text().splitlines()):
        row = json.loads(line)
        held = found.setdefault(row["id"], {"request_id": f"r{row['id']}", "prompt": row["src"], "outputs": []})
        qe = (0.1, 0.2, 0.9, 0.3)[number % 4]
        held["outputs"].append({"text": row["hyp"], "cumulative_logprob": row["scores"]["LM"] / 3, "qe": qe})
    return list(found.values())


def references(folder: Path) -> list[str]:
    return (folder / "train.ref").read_text().splitlines()


def write(path: Path, lists: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(one) + "\n" for one in lists))
    return str(path)


def test_training_and_ranking_equal_the_commands(tmp_path: Path, lists: list[dict[str, Any]]) -> None:
    file = write(tmp_path / "lists.jsonl", lists)
    given = [f"nbest={file}", f"references={tmp_path / 'train.ref'}", f"run={tmp_path / 'command'}"]
    succeed("train", "model=rerank", *MIRA, *given)
    keys = {"model.rerank.mbr": "chrf", "loss.tune.heldout_every": 4}
    reranker = xlate.Reranker.train(lists, references(tmp_path), loss="mira", **keys)
    weights = "weights.safetensors"
    assert (reranker.run / weights).read_bytes() == (tmp_path / "command" / weights).read_bytes()
    assert reranker.figures["heldout_ranked_BLEU"] == 100 > reranker.figures["heldout_first_BLEU"]
    out = tmp_path / "out.jsonl"
    succeed("nbest", "rescore", file, f"run={tmp_path / 'command'}", f"out={out}")
    ranked = reranker.rank(lists)
    assert ranked == [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["outputs"][0]["text"] for one in ranked] == references(tmp_path)
    assert [output["rank"] for output in ranked[0]["outputs"]] == [1, 2, 3, 4]
    assert "rank" not in lists[0]["outputs"][0]
    reranker.save(tmp_path / "saved")
    assert xlate.Reranker.load(tmp_path / "saved").rank(lists[:2]) == ranked[:2]
    assert not [path for path in (tmp_path / "saved").iterdir() if path.name.startswith(".")]
    gone = reranker.run
    del reranker
    assert not gone.exists()


def test_references_belong_to_lists_whatever_their_ids(tmp_path: Path, lists: list[dict[str, Any]]) -> None:
    gold = references(tmp_path)
    backwards = [{**one, "request_id": 123 - number} for number, one in enumerate(lists)]
    # In the lists themselves, and several of them.
    inside = [{**one, "references": [line]} for one, line in zip(lists, gold, strict=True)]
    several = [[line, line] for line in gold]
    given = (lists, gold), (backwards, gold), (inside, None), (lists, several)
    one, *others = [xlate.Reranker.train(*texts, *MIRA).weights for texts in given]
    assert all(other == one for other in others)


def test_a_run_is_kept_and_found_again(tmp_path: Path, lists: list[dict[str, Any]]) -> None:
    column = {"model.rerank.metric": "column", "model.rerank.gain_column": "qe", "run": tmp_path / "run"}
    first = xlate.Reranker.train(lists, None, *MIRA, **column)
    assert first.figures["heldout_ranked_column"] == 90
    stamp = (first.run / "weights.safetensors").stat().st_mtime_ns
    assert xlate.Reranker.train(lists, None, *MIRA, **column).run == tmp_path / "run"
    assert (first.run / "weights.safetensors").stat().st_mtime_ns == stamp
    with pytest.raises(xlate.InputError, match="the folder holds another run"):
        xlate.Reranker.train(lists[:20], None, *MIRA, **column)


def test_agreement_equals_the_command_and_a_function_may_judge(tmp_path: Path, lists: list[dict[str, Any]]) -> None:
    out = tmp_path / "out.jsonl"
    file = write(tmp_path / "lists.jsonl", lists)
    succeed("nbest", "rescore", file, "mbr=chrf", f"out={out}")
    assert xlate.mbr(lists) == [json.loads(line) for line in out.read_text().splitlines()]
    pairs: list[tuple[str, str]] = []

    def longer(hypothesis: str, reference: str) -> float:
        pairs.append((hypothesis, reference))
        return float(len(hypothesis) > len(reference))

    (ranked,) = xlate.mbr([{"id": "a", "src": "x", "hypotheses": ["a", "b b", "a", "c c c"]}], longer)
    assert (ranked["hypotheses"], ranked["score"]) == (["c c c", "b b", "a", "a"], [0.75, 0.5, 0, 0])
    assert len(pairs) == 9
    assert xlate.mbr([]) == []
    with pytest.raises(xlate.InputError, match="no such utility"):
        xlate.mbr(lists, "comet")


def test_gains_are_those_of_sacrebleu() -> None:
    hypotheses, reference = ["the cat sat on a mat", "a dog", "the  cat sat\n"], "the cat sat on the mat"
    metrics = {
        "bleu": sacrebleu.BLEU(tokenize="none", smooth_method="add-k", smooth_value=1),
        "chrf": sacrebleu.CHRF(),
    }
    for name, metric in metrics.items():
        wanted = [metric.sentence_score(" ".join(one.split()), [reference]).score / 100 for one in hypotheses]
        assert xlate.gains([hypotheses], [reference], name) == [pytest.approx(wanted)]
        assert xlate.gains(hypotheses, [reference] * 3, name) == pytest.approx(wanted)
    assert xlate.gains(["the cat sat on a mat"], [[reference, "the cat sat on a mat"]], "ter") == [1]
    with pytest.raises(xlate.InputError, match="2 references, 1 lists"):
        xlate.gains(["a"], ["b", "c"])


def test_errors_name_the_list(lists: list[dict[str, Any]]) -> None:
    wrong = [*lists[:2], {"request_id": "r2", "prompt": "x", "outputs": []}]
    with pytest.raises(xlate.InputError, match=r"^lists\[2\], id r2: the record has no hypotheses"):
        xlate.mbr(wrong)
    with pytest.raises(xlate.InputError, match=r"^lists\[2\], id r0: a sentence"):
        xlate.mbr([*lists[:2], lists[0]])
    with pytest.raises(xlate.InputError, match="lists and references do not fit"):
        xlate.Reranker.train(lists, ["a"])
