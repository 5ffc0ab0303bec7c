"""Exact line search of MERT: the best hypothesis of each list at every point of a line, and the statistics there.

Along a line a hypothesis scores intercept + x · slope, so over all x the best of a list is its upper envelope (Och
2003; Macherey et al. 2008, Algorithm 1). If the hypotheses of a list are sorted by slope, one pass finds it. Nine in
ten hypotheses of a list are below the few best ones everywhere; they are dropped without a branch.
"""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats, Floats32, Ints, Ints32
from xlate.compiled import inlined, inner, loop
from xlate.kernels.memory import bounds, places


@loop
def slope_orders(values_C: Floats, offsets_I1: Ints) -> Ints32:
    """The hypotheses of each list in ascending order of their values, (C,)."""
    order_C = np.empty(len(values_C), np.int32)
    for i in range(len(offsets_I1) - 1):
        first, last = bounds(offsets_I1, i)
        order_C[first:last] = first + np.argsort(values_C[first:last], kind="mergesort")
    return order_C


@inner
def promising(score_C: Floats, slope_C: Floats, order_C: Ints32, offsets_I1: Ints) -> tuple[Ints32, Ints]:
    """The hypotheses that may be on an upper envelope, list by list in the given order of slopes, and their offsets.

    The hypotheses that are best at both ends, in the middle, and where those cross form a chain of lines. The chain is
    convex, so a hypothesis that is below it at each bend is below it everywhere.
    """
    kept_C, kept_I1 = np.empty(len(score_C) + 1, np.int32), np.zeros(len(offsets_I1), np.int64)
    above_C = np.empty(len(score_C), np.uint8)
    size = 0
    for i in range(len(offsets_I1) - 1):
        first, last = bounds(offsets_I1, i)
        if first < last:
            bends = _bends(
                score_C, slope_C, first, last, int(np.int64(order_C[first])), int(np.int64(order_C[last - 1]))
            )
            x0, y0, x1, y1, x2, y2, x3, y3 = bends
            for c in range(first, last):
                score, slope = score_C[c], slope_C[c]
                above_C[c] = (
                    (score + x0 * slope >= y0)
                    | (score + x1 * slope >= y1)
                    | (score + x2 * slope >= y2)
                    | (score + x3 * slope >= y3)
                )
            for k in range(first, last):
                kept_C[size] = order_C[k]
                size += above_C[order_C[k]]
        kept_I1[i + 1] = size
    return kept_C[:size], kept_I1


@inner
def _bends(
    score_C: Floats, slope_C: Floats, first: int, last: int, flattest: int, steepest: int
) -> tuple[float, float, float, float, float, float, float, float]:
    """Four bends of a chain under a list's envelope, as x and slightly less than y; missing bends repeat another."""
    middle = _best_at(score_C, slope_C, first, last, 0.0)
    left, right = _crossing(score_C, slope_C, flattest, middle), _crossing(score_C, slope_C, middle, steepest)
    before = _best_at(score_C, slope_C, first, last, left) if left == left else middle
    behind = _best_at(score_C, slope_C, first, last, right) if right == right else middle
    # Without any bend the middle one is best everywhere, at its own place.
    x, y = 0.0, score_C[middle]
    x0, x1 = _crossing(score_C, slope_C, flattest, before), _crossing(score_C, slope_C, before, middle)
    x2, x3 = _crossing(score_C, slope_C, middle, behind), _crossing(score_C, slope_C, behind, steepest)
    for bend, line in ((x0, flattest), (x1, before), (x2, middle), (x3, behind)):
        if bend == bend:
            x, y = bend, score_C[line] + bend * slope_C[line]
    return (
        *_under(score_C, slope_C, flattest, x0, x, y),
        *_under(score_C, slope_C, before, x1, x, y),
        *_under(score_C, slope_C, middle, x2, x, y),
        *_under(score_C, slope_C, behind, x3, x, y),
    )


@inlined
def _under(score_C: Floats, slope_C: Floats, line: int, at: float, x: float, y: float) -> tuple[float, float]:
    """A place slightly below a line, or below (x, y) when there is none; rounding must not raise it."""
    if at == at:
        x, y = at, score_C[line] + at * slope_C[line]
    return x, y - 1e-9 * (1.0 + abs(y))


@inlined
def _crossing(score_C: Floats, slope_C: Floats, one: int, steeper: int) -> float:
    """Where two lines meet; NaN when neither is steeper."""
    rise = slope_C[steeper] - slope_C[one]
    return float((score_C[one] - score_C[steeper]) / rise) if rise > 0.0 else np.nan


@inner
def _best_at(score_C: Floats, slope_C: Floats, first: int, last: int, x: float) -> int:
    best, top = first, -np.inf
    for c in range(first, last):
        value = score_C[c] + x * slope_C[c]
        if value > top:
            best, top = c, value
    return int(best)


@loop
def envelopes(
    score_C: Floats, slope_C: Floats, order_C: Ints32, offsets_I1: Ints
) -> tuple[Floats, Ints32, Ints32, Ints32]:
    """The upper envelope of score + x · slope in each list.

    Returns:
        Where the best hypothesis changes, (E,), from which to which, both (E,), and the best at x = -inf, one per list
            (-1 for an empty one). Among hypotheses with equal scores everywhere, the first in the order wins.
    """
    order_C, offsets_I1 = promising(score_C, slope_C, order_C, offsets_I1)
    at_E = np.empty(len(order_C))
    before_E, after_E = np.empty(len(order_C), np.int32), np.empty(len(order_C), np.int32)
    leftmost_I = np.full(len(offsets_I1) - 1, -1, np.int32)
    widest = 0
    for i in range(len(offsets_I1) - 1):
        widest = max(widest, offsets_I1[i + 1] - offsets_I1[i])
    line, start = np.empty(widest, np.int32), np.empty(widest)
    size = 0
    for i in range(len(offsets_I1) - 1):
        top = -1
        for k in places(offsets_I1, i):
            c = order_C[k]
            score, slope = score_C[c], slope_C[c]
            # How far the previous one is above, and how much slower it rises: they meet at fall / rise.
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


@inlined
def same_place(one: float, other: float) -> bool:
    """Whether two places differ by no more than rounding: hypotheses that are equal at one place meet there."""
    return abs(one - other) <= 1e-9 * max(abs(other), 1e-3)


@loop
def swept_statistics(
    order_E: Ints, at_E: Floats, before_E: Ints32, after_E: Ints32, leftmost_I: Ints32, statistics_CK: Floats32
) -> tuple[Floats, Floats]:
    """Summed statistics in each of the B intervals between different changes, and the B - 1 places between them.

    Changes that differ only by rounding count as one, or a tie broken by chance would pass for an interval.
    """
    size, columns = len(order_E), statistics_CK.shape[1]
    sums_BK, edge_B = np.zeros((size + 1, columns)), np.empty(size)
    for i in range(len(leftmost_I)):
        if leftmost_I[i] >= 0:
            sums_BK[0] += statistics_CK[leftmost_I[i]]
    b = 0
    for k in range(size):
        e = order_E[k]
        if k == 0 or not same_place(at_E[e], edge_B[b - 1]):
            edge_B[b] = at_E[e]
            b += 1
            for n in range(columns):
                sums_BK[b, n] = sums_BK[b - 1, n]
        for n in range(columns):
            sums_BK[b, n] += statistics_CK[after_E[e], n] - statistics_CK[before_E[e], n]
    return sums_BK[: b + 1], edge_B[:b]


@loop
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
