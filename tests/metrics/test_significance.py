"""Paired tests against sacrebleu's, and against what must hold of any test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from xlate.errors import InputError
from xlate.metrics.score import evaluate
from xlate.metrics.significance import (
    DEFAULT,
    PairedTests,
    Resampling,
    holm,
    paired_runs,
)
from xlate.metrics.statistics import Stats, ter_scores


def paired(
    ours: list[str], other: list[str], references: list[list[str]], resampling: Resampling = DEFAULT, **settings: Any
) -> PairedTests:
    """The tests of two outputs."""
    settings = {"measures": ("bleu", "chrf", "ter"), "bootstrap": 0, **settings}
    stats = [evaluate(lines, references, **settings).stats for lines in (ours, other)]
    return paired_runs(stats[:1], stats[1:], resampling)


def test_randomisation_is_sacrebleus_and_the_bootstrap_has_two_sides() -> None:
    """Two systems that each spoil other words, one some more: differences that chance may well make."""
    random = np.random.default_rng(4)
    references = [" ".join(random.choice(list("abcdefgh"), size=9)) for _ in range(40)]
    ours, other = (
        [" ".join("x" if random.random() < share else word for word in line.split()) for line in references]
        for share in (0.2, 0.25)
    )
    found = paired(ours, other, [references], tokenize="none")
    metrics = {"bleu": BLEU(tokenize="none", force=True), "chrf": CHRF(), "ter": TER()}
    _, scores = PairedTest([("other", other), ("ours", ours)], metrics, [references], test_type="ar")()
    for name, theirs in (("bleu", "BLEU"), ("chrf", "chrF2"), ("ter", "TER")):
        # sacrebleu counts only differences larger than the real one; TER has many ties.
        expected = pytest.approx(scores[theirs][1].p_value, abs=0.05 if name == "ter" else 2e-4)
        assert found[name].p_randomisation == expected
        # Both tests are two-sided, so they agree roughly; sacrebleu's bootstrap has about half of this.
        assert found[name].p_bootstrap == pytest.approx(found[name].p_randomisation, abs=0.1)


def test_p_values_of_several_comparisons_are_adjusted() -> None:
    """By hand: 4 x 0.01; 3 x 0.011, which is less than that; 2 x 0.2; and 1 x 0.3, which is less. At most 1."""
    assert holm([0.3, 0.01, 0.2, 0.011]) == pytest.approx([0.4, 0.04, 0.4, 0.04])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.04]) == [0.04]
    assert holm([]) == []


def test_a_system_does_not_differ_from_itself() -> None:
    lines = ["a b c d", "a c", "b d"]
    test = paired(lines, lines, [["a b c e", "a d c", "b d"]], resampling=Resampling(50, 50))["bleu"]
    assert test.difference == 0.0
    # The real difference counts itself.
    assert test.p_bootstrap == test.p_randomisation == test.p_by_sentence == 1.0


def test_a_clear_difference_is_found_and_has_its_sign() -> None:
    references = [f"w{i} w{i + 1} w{i + 2} w{i + 3} end" for i in range(40)]
    poor = [" ".join(line.split()[:3]) + " x y" for line in references]
    tests = paired(references, poor, [references], tokenize="none", resampling=Resampling(200, 400))
    assert tests["bleu"].difference > 0 > tests["ter"].difference
    assert tests["bleu"].p_randomisation == pytest.approx(1 / 401)
    assert "against" in tests.summary()
    assert tests.to_json()["ter"]["against"] == tests["ter"].against


def test_texts_and_runs_that_cannot_be_paired_are_refused() -> None:
    with pytest.raises(InputError, match="2 hypotheses and 1 references"):
        paired(["a"], ["a", "b"], [["a"]])
    stats = Stats(np.ones((2, 2)), ter_scores)
    with pytest.raises(InputError, match="2 and 1 sentences"):
        paired_runs([{"ter": stats}], [{"ter": stats[:1]}])
    for ours, theirs in ((3, 2), (0, 1)):
        with pytest.raises(InputError, match=f"{ours} runs and {theirs} runs"):
            paired_runs([{"ter": stats}] * ours, [{"ter": stats}] * theirs)


def systems(random: np.random.Generator, runs: int, better: float) -> list[dict[str, Stats]]:
    """Runs of a system that makes errors by chance, 50 sentences of 10 words; `better` of them fewer a sentence."""
    errors = [random.binomial(10, 0.4 - better / 10, size=(50, 1)) for _ in range(runs)]
    return [{"ter": Stats(np.hstack([e, np.full((50, 1), 10)]).astype(np.float64), ter_scores)} for e in errors]


@pytest.mark.parametrize("together", [False, True])
def test_the_test_of_runs_is_the_naive_one(together: bool) -> None:
    """Swaps sentences with a coin for each, in all pairs of runs or, with the coins of all pairs in a row, in one."""
    random = np.random.default_rng(3)
    ours, theirs = systems(random, 3, 0.3), systems(random, 3, 0.0)
    found = paired_runs(ours, theirs, Resampling(10, 300, seed=5))["ter"]
    real = np.mean([o["ter"].score() - t["ter"].score() for o, t in zip(ours, theirs, strict=True)])
    assert found.difference == pytest.approx(real)
    assert found.score == pytest.approx(np.mean([run["ter"].score() for run in ours]))
    larger = 0
    for kept in np.random.default_rng(5).integers(2, size=(300, 50 if together else 150), dtype=bool):
        differences = []
        for run, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            kept_S = (kept if together else kept[run * 50 : run * 50 + 50])[:, None]
            first, second = one["ter"].values_SK, other["ter"].values_SK
            swapped = np.where(kept_S, first, second), np.where(kept_S, second, first)
            differences.append(float(np.subtract(*ter_scores(np.array([part.sum(axis=0) for part in swapped])))))
        larger += abs(np.mean(differences)) >= abs(real) - 1e-9
    p = found.p_by_sentence if together else found.p_randomisation
    assert p == pytest.approx((larger + 1) / 301)
    alone = [paired_runs([o], [t], Resampling(10, 300, seed=5))["ter"] for o, t in zip(ours, theirs, strict=True)]
    assert found.interval.mean == pytest.approx(np.mean([test.interval.mean for test in alone]))


def test_runs_that_are_all_the_same_are_no_more_evidence_by_sentence() -> None:
    random = np.random.default_rng(9)
    ours, theirs = systems(random, 1, 0.2), systems(random, 1, 0.0)
    once, thrice = paired_runs(ours, theirs)["ter"], paired_runs(ours * 3, theirs * 3)["ter"]
    assert thrice.difference == pytest.approx(once.difference)
    assert thrice.p_by_sentence == once.p_randomisation
    assert thrice.p_randomisation < once.p_randomisation
    assert paired_runs(ours * 3, theirs)["ter"] == thrice
