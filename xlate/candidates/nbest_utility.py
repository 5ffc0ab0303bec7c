"""Minimum Bayes risk in n-best lists: how much each hypothesis gains, in the mean, if another one were the reference.

The hypotheses of a list are taken as equally probable, or as probable as their totals say (Kumar & Byrne 2004).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest_characters import (
    CHARACTER_ORDER,
    characters,
    hypothesis_offsets,
    ngram_totals,
    statistics_rows,
)
from xlate.candidates.nbest_columns import NbestArrays
from xlate.errors import InputError
from xlate.kernels.counting.list_overlap import list_overlap
from xlate.metrics.bleu import ORDER, bleu_scores
from xlate.metrics.character_fscore import chrf_scores

UTILITIES = ("bleu", "chrf")
Floats = NDArray[np.float64]


def utilities(arrays: NbestArrays, measure: str, scale: float = 0.0) -> Floats:
    """The expected BLEU+1 or chrF of every hypothesis against those of its list, itself among them, 0 to 1; (C,).

    Args:
        arrays: the lists.
        measure: one of `UTILITIES`.
        scale: hypotheses have probabilities proportional to exp(scale · total); 0 for equal ones.

    Raises:
        InputError: another measure, or a scale and no totals.
    """
    if measure not in UTILITIES:
        raise InputError("no such utility", seen=measure, expected=", ".join(UTILITIES))
    p_C = probabilities(arrays, scale)
    text = arrays.text if measure == "bleu" else characters(arrays.text, arrays.numbers)
    utility_C = np.empty(len(p_C))
    for row, (first, last) in enumerate(
        zip(arrays.candidate_offsets_I1, arrays.candidate_offsets_I1[1:], strict=False)
    ):
        given = hypothesis_offsets(arrays, text, row)
        gain_HH = _bleu(*given) if measure == "bleu" else _chrf(*given)
        utility_C[first:last] = gain_HH @ p_C[first:last] / 100.0
    return utility_C


def probabilities(arrays: NbestArrays, scale: float) -> Floats:
    """How probable each hypothesis is in its list, (C,): exp(scale · total), normalised.

    Raises:
        InputError: a scale and no totals.
    """
    if scale and not np.isfinite(arrays.total_C).all():
        raise InputError("hypotheses without totals", seen=f"scale {scale:g}", expected="a scale of 0")
    total_C = arrays.total_C if scale else np.zeros(len(arrays.total_C))
    starts_I, row_C = arrays.candidate_offsets_I1[:-1], row_numbers(arrays.candidate_offsets_I1)
    weight_C = np.exp(scale * (total_C - np.maximum.reduceat(total_C, starts_I)[row_C]))
    p_C: Floats = weight_C / np.add.reduceat(weight_C, starts_I)[row_C]
    return p_C


def _bleu(ids_T: NDArray[np.int32], offsets_H1: NDArray[np.int64]) -> Floats:
    """BLEU+1 of hypothesis h against hypothesis g, (H, H)."""
    match_HHN = list_overlap(ids_T, offsets_H1, ORDER)
    size, length_H = len(match_HHN), np.diff(offsets_H1)
    rows_HHK = np.empty((size, size, 2 + 2 * ORDER))
    rows_HHK[..., 0], rows_HHK[..., 1] = length_H[:, None], length_H[None]
    rows_HHK[..., 2 : 2 + ORDER] = match_HHN
    rows_HHK[..., 2 + ORDER :] = match_HHN[np.arange(size), np.arange(size)][:, None]
    return bleu_scores(rows_HHK.reshape(size * size, -1), smooth="add-1").reshape(size, size)


def _chrf(ids_T: NDArray[np.int32], offsets_H1: NDArray[np.int64]) -> Floats:
    """chrF of hypothesis h against hypothesis g, (H, H)."""
    match_HHN = list_overlap(ids_T, offsets_H1, CHARACTER_ORDER)
    size, total_HN = len(match_HHN), ngram_totals(np.diff(offsets_H1))
    ours, theirs = np.repeat(total_HN, size, axis=0), np.tile(total_HN, (size, 1))
    rows = statistics_rows(ours, theirs, match_HHN.reshape(size * size, -1).astype(np.int64))
    return chrf_scores(rows).reshape(size, size)
