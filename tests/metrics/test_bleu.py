"""BLEU of many rows at once against sacrebleu, one row at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from xlate.errors import InputError
from xlate.metrics.bleu import bleu_scores

SACREBLEU = {"none": ("none", None), "floor": ("floor", 0.1), "exp": ("exp", None), "add-1": ("add-k", 1)}


@st.composite
def statistics(draw: st.DrawFn) -> list[int]:
    """A row of BLEU statistics of up to 30 words, matches no more than n-grams."""
    length, reference = draw(st.integers(0, 30)), draw(st.integers(0, 30))
    total = [max(0, length - n) for n in range(4)]
    correct = [draw(st.integers(0, t)) for t in total]
    return [length, reference, *correct, *total]


@pytest.mark.parametrize("smooth", SACREBLEU)
@pytest.mark.parametrize("effective_order", [False, True])
@given(rows=st.lists(statistics(), min_size=1, max_size=8))
def test_equals_sacrebleu(smooth: str, effective_order: bool, rows: list[list[int]]) -> None:
    method, value = SACREBLEU[smooth]
    expected = [
        BLEU.compute_bleu(
            row[2:6], row[6:], row[0], row[1], method, smooth_value=value, effective_order=effective_order
        ).score
        for row in [list(r) for r in rows]
    ]
    scores = bleu_scores(np.array(rows), smooth=smooth, effective_order=effective_order)
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


def test_a_value_by_hand() -> None:
    row = [6, 8, 5, 3, 2, 1, 6, 5, 4, 3]
    expected = 100 * np.exp(1 - 8 / 6) * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert bleu_scores(np.array([row]), smooth="none")[0] == pytest.approx(expected, rel=1e-14)


def test_an_unknown_smoothing_is_named() -> None:
    with pytest.raises(InputError, match=r"(?s)unknown BLEU smoothing.*add-2.*none, floor, exp, add-1"):
        bleu_scores(np.ones((1, 10)), smooth="add-2")
