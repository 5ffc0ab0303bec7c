"""BLEU of many rows at once, and the statistics of sentences, against sacrebleu."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from xlate.errors import InputError
from xlate.metrics.bleu import bleu_scores, prior_bleu, sentence_bleu

SACREBLEU = {
    "none": {"smooth_method": "none"},
    "floor": {"smooth_method": "floor", "smooth_value": 0.1},
    "exp": {"smooth_method": "exp"},
    "add-1": {"smooth_method": "add-k", "smooth_value": 1},
}


@st.composite
def statistics(draw: st.DrawFn) -> list[int]:
    """A row of BLEU statistics of up to 30 words, matches no more than n-grams."""
    length, reference = draw(st.integers(0, 30)), draw(st.integers(0, 30))
    total = [max(0, length - n) for n in range(4)]
    correct = [draw(st.integers(0, t)) for t in total]
    return [length, reference, *correct, *total]


@pytest.mark.parametrize("smooth", SACREBLEU)
@pytest.mark.parametrize("effective_order", [False, True])
@settings(max_examples=20)
@given(rows=st.lists(statistics(), min_size=1, max_size=8))
def test_equals_sacrebleu(smooth: str, effective_order: bool, rows: list[list[int]]) -> None:
    scores = bleu_scores(np.array(rows), smooth=smooth, effective_order=effective_order)
    theirs = {**SACREBLEU[smooth], "effective_order": effective_order}
    expected = [BLEU.compute_bleu(row[2:6], row[6:], *row[:2], **theirs).score for row in rows]
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


def test_sentences_have_the_smoothing_asked_for() -> None:
    rows = np.array([[3, 4, 3, 2, 0, 0, 3, 2, 1, 0]])
    assert sentence_bleu(rows).tolist() == bleu_scores(rows, smooth="add-1").tolist()
    assert sentence_bleu(rows, "exp").tolist() == bleu_scores(rows, smooth="exp", effective_order=True).tolist()
    with pytest.raises(InputError, match=r"(?s)unknown BLEU smoothing.*add-2.*none, floor, exp, add-1"):
        sentence_bleu(rows, "add-2")


def test_long_ngrams_are_drawn_to_what_shorter_ones_make_likely() -> None:
    """By hand: 4 words for 5, 4 / 2 / 0 / 0 matches of 4 / 3 / 2 / 1 n-grams."""
    p = [1.0, 2 / 3]
    p.append((0 + 5 * p[1] ** 2 / p[0]) / (2 + 5))
    p.append((0 + 5 * p[2] ** 2 / p[1]) / (1 + 5))
    expected = 100 * np.prod(p) ** 0.25 * np.exp(1 - 5 / 4)
    rows = np.array([[4, 5, 4, 2, 0, 0, 4, 3, 2, 1], [4, 5, 3, 0, 0, 0, 4, 3, 2, 1], [0, 5, 0, 0, 0, 0, 0, 0, 0, 0]])
    assert prior_bleu(rows).tolist() == pytest.approx([expected, 0.0, 0.0])
    assert sentence_bleu(rows, "gao").tolist() == prior_bleu(rows).tolist()
