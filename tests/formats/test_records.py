"""Lists in the forms in which the tools document them, and the same records in their new order."""

from __future__ import annotations

from typing import Any

import pytest

from xlate.formats.records import read_record

VLLM = {
    "request_id": "7",
    "prompt": "Übersetze: das Haus",
    "prompt_token_ids": [1, 2],
    "outputs": [
        {
            "index": 0,
            "text": "the\nhouse",
            "token_ids": [5, 9],
            "cumulative_logprob": -0.75,
            "logprobs": [
                {"4": {"logprob": -0.125, "rank": 1}, "5": {"logprob": -0.25, "rank": 2}},
                {"9": {"logprob": -0.5, "rank": 1}},
            ],
            "finish_reason": "stop",
            "qe": 0.5,
        },
        {"index": 1, "text": "a house", "token_ids": [7], "cumulative_logprob": -2.0, "logprobs": None, "qe": 0.75},
    ],
    "finished": True,
}
CHAT = {
    "id": "chatcmpl-1",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "the house"},
            "logprobs": {"content": [{"token": "the", "logprob": -0.5}, {"token": "house", "logprob": -1.5}]},
        },
        {"index": 1, "message": {"role": "assistant", "content": "a house"}, "logprobs": None},
    ],
}
COMPLETION = {
    "id": "cmpl-1",
    "choices": [{"text": "the house", "index": 0, "logprobs": {"tokens": ["the"], "token_logprobs": [None, -2.0]}}],
}
BATCH = {"id": "batch_req_1", "custom_id": "line 3", "response": {"status_code": 200, "body": CHAT}, "error": None}
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

BOTH = [("the house", {}, None), ("a house", {}, None)]


def tokens(*values: float) -> dict[str, float]:
    first = values[:3]
    mean, begin = sum(values) / len(values), sum(first) / len(first)
    return {
        "log_prob": sum(values), "mean_log_prob": mean, "least_log_prob": min(values), "first_log_prob": begin,
        "pieces": len(values),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "name", "source", "entries", "unused"),
    [
        (
            VLLM,
            7,
            "Übersetze: das Haus",
            [("the\nhouse", {"qe": 0.5, **tokens(-0.25, -0.5)}, -0.75), ("a house", {"qe": 0.75}, -2)],
            {"finished", "prompt_token_ids", "finish_reason", "index", "token_ids"},
        ),
        (CHAT, "chatcmpl-1", None, [("the house", tokens(-0.5, -1.5), None), BOTH[1]], {"index"}),
        (COMPLETION, "cmpl-1", None, [("the house", tokens(-2.0), None)], {"index"}),
        (BATCH, "line 3", None, [("the house", tokens(-0.5, -1.5), None), BOTH[1]], {"id", "index"}),
        (
            FACES,
            1,
            None,
            [("the house", {"qe": 0.25, "beams": 2}, -0.5), ("a house", {"qe": 1, "beams": 2}, -1)],
            set(),
        ),
        (PIPELINE, None, None, [("the house", {}, 0.5), ("a house", {}, 0.25)], set()),
        (CTRANSLATE, None, "das Haus", [("the house", {}, -0.5), ("a house", {}, -1)], set()),
        (COMET, None, "das Haus", [("the house", {}, 0.5)], set()),
        (PAIR, None, "das Haus", [("the house", {"chosen": 1}, None), ("a house", {"chosen": 0}, None)], set()),
    ],
)
def test_every_form(given: Any, name: Any, source: Any, entries: Any, unused: set[str]) -> None:
    record = read_record(given)
    assert (record.id, record.source, record.entries, set(record.unused)) == (name, source, entries, unused)
    assert record.references == (("the house!",) if given is COMET else ())


def test_other_forms_through_the_names_of_their_fields() -> None:
    given = {"task": {"number": 4, "text": "das Haus"}, "answers": [{"out": {"en": "a"}, "p": -1}], "gold": ["b", "c"]}
    fields = {"id": "task.number", "src": "task.text", "hyp": "answers.out.en", "ref": "gold", "score": "answers.p"}
    record = read_record(given, fields)
    assert record[:4] == (4, "das Haus", ("b", "c"), [("a", {}, -1)])
    with pytest.raises(ValueError, match="no field answer"):
        read_record(given, fields | {"hyp": "answer.out"})
