"""Figures of a system: sacrebleu's own, with what may go wrong on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from xlate.errors import InputError
from xlate.metrics.score import Evaluation, evaluate
from xlate.text.lines import read_lines

HYPOTHESES = ["The cat sat on the mat.", "There is a dog, too.", "Quite another thing"]
STREAMS = [
    ["The cat sits on the mat.", "A dog is there, too.", "Something else"],
    ["On the mat sat the cat.", "There was a dog too.", "Quite a different thing"],
]


def test_figures_are_sacrebleus() -> None:
    found = evaluate(HYPOTHESES, STREAMS, bootstrap=50)
    metrics = {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}
    for name, metric in metrics.items():
        expected = metric.corpus_score(HYPOTHESES, STREAMS, n_bootstrap=50)
        assert found[name] == expected.score
        assert found.stats[name].score() == pytest.approx(expected.score, rel=1e-12)
        assert found.figures[name].signature == str(metric.get_signature())
        held = found.figures[name].interval
        assert held.half_width == pytest.approx(expected._ci, rel=1e-5)


def test_case_and_tokeniser_count() -> None:
    shouted = [line.upper() for line in HYPOTHESES]
    low = [evaluate(lines, STREAMS, bootstrap=0, lowercase=True)["bleu"] for lines in (shouted, HYPOTHESES)]
    assert low[0] == pytest.approx(low[1])
    mixed, usual = (evaluate(lines, STREAMS, bootstrap=0) for lines in (shouted, HYPOTHESES))
    assert all(mixed[measure] < usual[measure] for measure in ("bleu", "chrf", "nist", "lexacc"))
    bare = evaluate(HYPOTHESES, STREAMS, bootstrap=0, tokenize="none")
    assert bare["lexacc"] != usual["lexacc"]
    assert "tok:none" in bare.figures["nist"].signature


def test_a_missing_reference_is_left_out() -> None:
    gaps = [STREAMS[0], [STREAMS[1][0], "", " "]]
    found = evaluate(HYPOTHESES, gaps, bootstrap=0)
    none = [STREAMS[0], [STREAMS[1][0], None, None]]
    for name, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        assert found[name] == metric.corpus_score(HYPOTHESES, none).score  # type: ignore[arg-type]
    assert all("nrefs:var" in found.figures[name].signature for name in ("bleu", "ter", "lexacc"))
    # Words without any reference are wrong.
    found = evaluate(["a b", "c d"], [["a b", ""], ["", ""]], bootstrap=0)
    assert (found["ter"], found["lexacc"]) == pytest.approx((100, 100 * 4 / 6))


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a", "b"], [["a", "b"], ["a"]], r"(?s)reference stream 1.*2 hypotheses and 1 references"),
        ([], [[]], "nothing to score"),
        (["a"], [], "nothing to score against"),
        (["a"], ["a"], "sentences must come as lists"),
    ],
)
def test_counts_are_compared(hypotheses: list[str], references: list[list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(hypotheses, references)


def test_unknown_names_are_answered_with_the_known() -> None:
    with pytest.raises(InputError, match=r"(?s)unknown measure.*meteor.*bleu, chrf, ter, nist, lexacc"):
        evaluate(["a"], [["a"]], measures=["meteor"])
    with pytest.raises(InputError, match=r"(?s)unknown tokeniser.*13b.*13a"):
        evaluate(["a"], [["a"]], tokenize="13b")
    with pytest.raises(InputError, match="too few samples"):
        evaluate(["a"], [["a"]], bootstrap=-1)


def test_tokenised_and_empty_lines_are_pointed_out() -> None:
    lines = ["a house ."] * 100 + [""]
    found = evaluate(lines, [lines], bootstrap=0, measures=["bleu"])
    assert "100 lines end in a space and a full stop" in found.notes[0]
    assert "empty hypotheses: 1" in found.summary()
    assert evaluate(lines[:99], [lines[:99]], bootstrap=0, measures=["bleu"]).notes == ()
    assert len(evaluate(lines, [lines], bootstrap=0, measures=["bleu"], tokenize="none").notes) == 1


def test_words_for_people_fit_a_terminal_and_values_are_plain() -> None:
    found = evaluate(HYPOTHESES, STREAMS, bootstrap=50)
    assert [line.split()[0] for line in found.summary().splitlines()] == ["bleu", "chrf", "ter", "nist", "lexacc"]
    plain, held = json.loads(json.dumps(found.to_json())), found.figures["ter"].interval
    assert (plain["sentences"], plain["references"], plain["ter"]) == (3, 2, found["ter"])
    assert (plain["ter_interval"], plain["ter_mean"]) == (held.half_width, held.mean)
    assert plain["ter_signature"] == found.figures["ter"].signature
    assert "bleu_interval" not in evaluate(HYPOTHESES, STREAMS, bootstrap=0).to_json()


@pytest.mark.corpus
def test_published_bleu(shared_data: Path) -> None:
    folder = shared_data / "eval-wmt10"
    lines, references = read_lines(folder / "hyps.baseline.opt0.gz"), read_lines(folder / "ref.lc.tok.en.gz")
    found: Evaluation = evaluate(lines, [references], tokenize="none", bootstrap=0, measures=["bleu"])
    assert f"{found['bleu']:.2f}" == (folder / "hyps.baseline.opt0.bleu.gold").read_text().strip() == "18.54"
