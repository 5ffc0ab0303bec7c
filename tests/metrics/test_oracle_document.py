"""Approximated BLEU: gains are what a translation does to a document, from the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tuners.test_mira import random_lists
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.objective import Objective, OracleDocument

SENTENCES = 5


def document(seed: int, **settings: bool) -> tuple[OracleDocument, np.ndarray]:
    """A document of some sentences, the last of which has no oracle yet, and statistics of translations of any."""
    rows = random_lists(seed, instances=12, most=6).gain_CG.astype(np.float64)
    made = OracleDocument(np.zeros((SENTENCES, 10)), **settings)
    for sentence in range(min(SENTENCES - 1, len(rows) // 2)):
        made.replace(sentence, rows[sentence])
    return made, rows[SENTENCES:]


@given(st.integers(0, 1000), st.integers(0, SENTENCES - 1))
def test_a_gain_is_bleu_of_the_document_with_it_less_that_without(seed: int, sentence: int) -> None:
    made, rows = document(seed)
    others = [made.statistics_IK[s] for s in range(SENTENCES) if s != sentence]
    sentences = 1 + sum(bool(row[1]) for row in others)

    def bleu(*more: np.ndarray) -> float:
        return float(bleu_scores(1.0 + np.sum([*others, *more], axis=0)[None])[0]) / 100

    expected = [sentences * (bleu(row) - bleu()) for row in rows]
    assert made.gains(sentence, rows) == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 1000))
def test_what_stands_in_the_document_itself_does_not_matter(seed: int) -> None:
    made, rows = document(seed)
    made.replace(2, rows[0])
    before = made.gains(2, rows)
    made.replace(2, rows[-1])
    assert np.array_equal(before, made.gains(2, rows))


@given(st.integers(0, 1000))
def test_sums_follow_replacements(seed: int) -> None:
    made, rows = document(seed)
    for row in rows:
        made.replace(1, row)
    assert np.array_equal(made.sums_K, made.statistics_IK.sum(axis=0))
    assert made.score == pytest.approx(float(bleu_scores(made.statistics_IK.sum(axis=0)[None])[0]))


def test_by_sentence_gains_are_those_of_the_objective() -> None:
    made, rows = document(3)
    made.objective, made.by_sentence = Objective.of("bleu", "gao"), True
    assert np.array_equal(made.gains(0, rows), made.objective.sentences(rows))


def test_a_short_translation_costs_more_in_a_short_document() -> None:
    """What sentence BLEU does not know: whether the document can afford it."""
    full = np.array([10, 10, 10, 9, 8, 7, 10, 9, 8, 7.0])
    short = np.array([8, 10, 8, 7, 6, 5, 8, 7, 6, 5.0])
    long = np.array([14, 10, 10, 9, 8, 7, 14, 13, 12, 11.0])
    lacking, enough = (OracleDocument(np.stack([full, other, other])) for other in (short, long))
    costs = [np.diff(one.gains(0, np.stack([short, full])))[0] for one in (lacking, enough)]
    assert costs[0] > costs[1]
