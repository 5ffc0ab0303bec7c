"""How much float features vary within lists: what steps and penalties on their weights are measured by."""

from __future__ import annotations

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints


def centred_in_lists(dense_CD: AnyArray, candidate_offsets_I1: Ints) -> Floats:
    """Floats less their mean in the list, (C, D): what ranks hypotheses, with all its digits."""
    sizes_I = np.diff(candidate_offsets_I1)
    rows_I = np.flatnonzero(sizes_I)
    values_CD = np.asarray(dense_CD, dtype=np.float64)
    sums_ID = np.add.reduceat(values_CD, candidate_offsets_I1[:-1][rows_I], axis=0)
    return np.asarray(values_CD - np.repeat(sums_ID / sizes_I[rows_I, None], sizes_I[rows_I], axis=0))


def spread_within_lists(dense_CD: AnyArray, candidate_offsets_I1: Ints) -> Floats:
    """The standard deviation of each float within lists, 1 where it never varies, (D,)."""
    centred_CD = centred_in_lists(dense_CD, candidate_offsets_I1)
    spread_D: Floats = np.sqrt((centred_CD**2).mean(axis=0))
    return np.where(spread_D > 1e-9, spread_D, 1.0)


def spread_of_scores(score_C: AnyArray, candidate_offsets_I1: Ints) -> float:
    """The standard deviation of scores (C,) within a list, the mean over lists of more than one; 0 without such lists.

    List i has the candidates from `candidate_offsets_I1[i]` to the next; the unit is that of the scores.
    """
    sizes_I = np.diff(candidate_offsets_I1)
    several_I = sizes_I > 1
    if not several_I.any():
        return 0.0
    squares_C = centred_in_lists(score_C[:, None], candidate_offsets_I1)[:, 0] ** 2
    rows_I = np.flatnonzero(sizes_I)
    mean_I = np.add.reduceat(squares_C, candidate_offsets_I1[:-1][rows_I]) / sizes_I[rows_I]
    return float(np.sqrt(mean_I[several_I[rows_I]]).mean())
