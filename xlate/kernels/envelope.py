"""Exact line search of MERT: which hypothesis of each list is best where along a line, and the statistics there.

Along a line a hypothesis scores intercept + x · slope, so over all x the best of a list is its upper envelope (Och
2003; Macherey et al. 2008, Algorithm 1). With the hypotheses of a list in the order of their slopes it is found in one
walk.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def slope_orders(values_C: Floats, offsets_I1: NDArray[np.int64]) -> NDArray[np.int32]:
    """The hypotheses of each list in ascending order of their values, (C,)."""
    order_C = np.empty(len(values_C), dtype=np.int32)
    for i in range(len(offsets_I1) - 1):
        first, last = offsets_I1[i], offsets_I1[i + 1]
        order_C[first:last] = first + np.argsort(values_C[first:last], kind="mergesort")
    return order_C


@njit(cache=True, nogil=True)
def envelopes(
    score_C: Floats, slope_C: Floats, order_C: NDArray[np.int32], offsets_I1: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """The upper envelope of score + x · slope in each list.

    Returns:
        Where the best hypothesis changes, (E,), from which to which, both (E,), and the best at x = -inf, one a list
        (-1 for an empty one). Of hypotheses with equal scores everywhere the first in the order is taken.
    """
    at_E = np.empty(len(score_C))
    before_E, after_E = np.empty(len(score_C), np.int32), np.empty(len(score_C), np.int32)
    leftmost_I = np.full(len(offsets_I1) - 1, -1, dtype=np.int32)
    widest = 0
    for i in range(len(offsets_I1) - 1):
        widest = max(widest, offsets_I1[i + 1] - offsets_I1[i])
    line, start = np.empty(widest, np.int32), np.empty(widest)
    size = 0
    for i in range(len(offsets_I1) - 1):
        top = -1
        for k in range(offsets_I1[i], offsets_I1[i + 1]):
            c = order_C[k]
            score, slope = score_C[c], slope_C[c]
            # How far the one before is above, and how much slower it rises: they meet at fall / rise.
            fall, rise = 0.0, 0.0
            while top >= 0:
                fall, rise = score_C[line[top]] - score, slope - slope_C[line[top]]
                if fall > start[top] * rise if rise > 0.0 else fall >= 0.0:
                    break
                top -= 1
            if top < 0:
                top = 0
                line[0], start[0] = c, -np.inf
            elif rise > 0.0:
                top += 1
                line[top], start[top] = c, max(fall / rise, start[top - 1])
        if top >= 0:
            leftmost_I[i] = line[0]
        for k in range(1, top + 1):
            at_E[size], before_E[size], after_E[size] = start[k], line[k - 1], line[k]
            size += 1
    return at_E[:size], before_E[:size], after_E[:size], leftmost_I


@njit(cache=True, nogil=True)
def swept_statistics(
    order_E: NDArray[np.int64],
    at_E: Floats,
    before_E: NDArray[np.int32],
    after_E: NDArray[np.int32],
    leftmost_I: NDArray[np.int32],
    statistics_CK: NDArray[np.float32],
) -> tuple[Floats, Floats]:
    """Summed statistics in each of the B intervals between different changes, and the B - 1 places between them."""
    size, columns = len(order_E), statistics_CK.shape[1]
    sums_BK, edge_B = np.zeros((size + 1, columns)), np.empty(size)
    for i in range(len(leftmost_I)):
        if leftmost_I[i] >= 0:
            sums_BK[0] += statistics_CK[leftmost_I[i]]
    b = 0
    for k in range(size):
        e = order_E[k]
        if k == 0 or at_E[e] != edge_B[b - 1]:
            edge_B[b] = at_E[e]
            b += 1
            for n in range(columns):
                sums_BK[b, n] = sums_BK[b - 1, n]
        for n in range(columns):
            sums_BK[b, n] += statistics_CK[after_E[e], n] - statistics_CK[before_E[e], n]
    return sums_BK[: b + 1], edge_B[:b]


@njit(cache=True, nogil=True)
def corpus_bleu(sums_BK: Floats) -> Floats:
    """BLEU, 0 to 100, of B rows of summed statistics without smoothing: 0 where an order has no match."""
    order = (sums_BK.shape[1] - 2) // 2
    scores_B = np.zeros(len(sums_BK))
    for b in range(len(sums_BK)):
        product = 1.0
        for n in range(order):
            product *= sums_BK[b, 2 + n] / max(sums_BK[b, 2 + order + n], 1.0)
        if product > 0.0:
            length, reference = sums_BK[b, 0], sums_BK[b, 1]
            brevity = min(0.0, 1.0 - reference / max(length, 1e-300))
            scores_B[b] = 100.0 * np.exp(np.log(product) / order + brevity)
    return scores_B
