"""Mixtures of measures to tune for; gains as what a translation does to a document, from the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tuners.test_mira import random_lists
from xlate.errors import InputError
from xlate.metrics.bleu import bleu_scores, sentence_bleu
from xlate.metrics.objective import Objective, OracleDocument
from xlate.metrics.score import measure_sentences

HYPOTHESES = ["the house is very small today", "a cat sat on the mat", "no"]
REFERENCES = ["the house is small today", "the cat sat on the mat", "yes indeed"]


def statistics(*measures):
    found = [measure_sentences(name, HYPOTHESES, [REFERENCES], tokenize="none").stats for name in measures]
    return np.concatenate([stats.values_SK for stats in found], axis=1), [stats.score() for stats in found]


def test_a_mixture_is_the_mean_of_its_measures():
    rows, (bleu, chrf, ter) = statistics("bleu", "chrf", "ter")
    # sacrebleu's rows of BLEU have lengths first, as ours.
    objective = Objective.of("ter:1,bleu:2,chrf:1")
    expected = 0.5 * bleu + 0.25 * chrf + 0.25 * (100 - ter)
    assert objective.corpus(rows.sum(axis=0)[None])[0] == pytest.approx(expected, abs=1e-6)
    beside = objective.beside_bleu(rows)
    assert objective.sentences(rows) == pytest.approx(beside + 0.005 * sentence_bleu(rows[:, :10]))


@pytest.mark.parametrize("text", ["", "meteor", "bleu,bleu", "bleu:0", "bleu:1.2.3", "bleu:-1"])
def test_what_is_no_measure_is_refused(text):
    with pytest.raises(InputError, match="measure"):
        Objective.of(text)


def test_smoothing_of_sentences_is_chosen() -> None:
    rows = np.array([[6.0, 8, 5, 3, 1, 0, 6, 5, 4, 3], [9.0, 8, 7, 4, 2, 1, 9, 8, 7, 6]])
    assert Objective.of("bleu", "gao").sentences(rows) == pytest.approx(sentence_bleu(rows, "gao") / 100)
    with pytest.raises(InputError, match="smoothing"):
        Objective.of("bleu", "other")


def test_figures_are_called_by_what_they_are() -> None:
    assert [str(Objective.of(text)) for text in ("bleu:2", "chrf", "bleu:1,ter:3")] == [
        *("BLEU", "chrF", "0.25 BLEU + 0.75 (100 - TER)")
    ]


SENTENCES = 5


def document(seed: int, **settings: bool) -> tuple[OracleDocument, np.ndarray]:
    """A document of some sentences, the last of which has no oracle yet, and statistics of translations of any."""
    rows = random_lists(seed, instances=12, most=6).gain_CG.astype(np.float64)
    made = OracleDocument(np.zeros((SENTENCES, 10)), **settings)
    for sentence in range(min(SENTENCES - 1, len(rows) // 2)):
        made.replace(sentence, rows[sentence])
    return made, rows[SENTENCES:]


@settings(max_examples=25)
@given(st.integers(0, 1000), st.integers(0, SENTENCES - 1))
def test_a_gain_is_bleu_of_the_document_with_it_less_that_without(seed: int, sentence: int) -> None:
    made, rows = document(seed)
    others = [made.statistics_IK[s] for s in range(SENTENCES) if s != sentence]
    sentences = 1 + sum(bool(row[1]) for row in others)

    def bleu(*more: np.ndarray) -> float:
        return float(bleu_scores(1.0 + np.sum([*others, *more], axis=0)[None])[0]) / 100

    expected = [sentences * (bleu(row) - bleu()) for row in rows]
    assert made.gains(sentence, rows) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_sums_follow_replacements_and_what_stands_there_itself_does_not_matter(seed: int) -> None:
    made, rows = document(seed)
    before = made.gains(1, rows)
    for row in rows:
        made.replace(1, row)
        assert np.array_equal(before, made.gains(1, rows)) or not made.statistics_IK[1, 1]
    assert np.array_equal(made.sums_K, made.statistics_IK.sum(axis=0))
    assert made.score == pytest.approx(float(bleu_scores(made.statistics_IK.sum(axis=0)[None])[0]))


def test_by_sentence_gains_are_those_of_the_objective() -> None:
    made, rows = document(3)
    made.objective, made.by_sentence = Objective.of("bleu", "gao"), True
    assert np.array_equal(made.gains(0, rows), made.objective.sentences(rows))
