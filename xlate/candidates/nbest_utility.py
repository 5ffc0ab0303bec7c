"""Minimum Bayes risk in n-best lists: how much each hypothesis gains, in the mean, if another one were the reference.

The hypotheses of a list are taken as equally probable, or as probable as their totals say (Kumar & Byrne 2004).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
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
from xlate.metrics.scores import chrf_scores

UTILITIES = ("bleu", "chrf")
# Pairs of hypotheses whose gains are computed at once.
MOST_PAIRS = 1 << 17


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
    order, gains = (ORDER, _bleu) if measure == "bleu" else (CHARACTER_ORDER, _chrf)
    bounds = arrays.candidate_offsets_I1.tolist()
    for row, (first, last) in enumerate(pairwise(bounds)):
        ids_T, offsets_H1 = hypothesis_offsets(arrays, text, row)
        match_HHN, length_H = list_overlap(ids_T, offsets_H1, order), np.diff(offsets_H1)
        # Long lists are gone through in parts, so that memory stays small.
        step = max(1, MOST_PAIRS // max(1, last - first))
        for begin in range(0, last - first, step):
            part = slice(begin, min(begin + step, last - first))
            gain_BH = gains(match_HHN[part], length_H[part], length_H)
            utility_C[first + part.start : first + part.stop] = gain_BH @ p_C[first:last] / 100.0
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


def _bleu(match_BHN: Ints32, length_B: Ints, length_H: Ints) -> Floats:
    """BLEU+1 of some hypotheses against all of their list, (B, H)."""
    some, size, _ = match_BHN.shape
    rows_BHK = np.empty((some, size, 2 + 2 * ORDER))
    rows_BHK[..., 0], rows_BHK[..., 1] = length_B[:, None], length_H[None]
    rows_BHK[..., 2 : 2 + ORDER] = match_BHN
    rows_BHK[..., 2 + ORDER :] = np.maximum(0, length_B[:, None, None] - np.arange(ORDER))
    return bleu_scores(rows_BHK.reshape(some * size, -1), smooth="add-1").reshape(some, size)


def _chrf(match_BHN: Ints32, length_B: Ints, length_H: Ints) -> Floats:
    """chrF of some hypotheses against all of their list, (B, H)."""
    some, size, _ = match_BHN.shape
    ours, theirs = np.repeat(ngram_totals(length_B), size, axis=0), np.tile(ngram_totals(length_H), (some, 1))
    rows = statistics_rows(ours, theirs, match_BHN.reshape(some * size, -1).astype(np.int64))
    return chrf_scores(rows).reshape(some, size)
