"""Steps on lists of candidates that share parts: a part is scored once, and its gradient spread over its ids once.

`xlate.train.list_learner` describes the losses. A part's ids come once for all candidates that hold it, so a list of
100 candidates of 9 parts each costs as many weights as its 100 to 200 different parts have ids, not 900 times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.memory.lent import lent

EXPECTED_GAIN, CONDITIONAL, SOFTMAX_MARGIN, HINGE, PAIRWISE = 0, 1, 2, 3, 4


class PartLists(NamedTuple):
    """The arrays of a two-level `RaggedBatch`, gains in one column, fixed scores in `base_C`.

    `dense_CD` are float features whose weights are learned too; without columns when they are not.
    """

    candidate_offsets_I1: NDArray[np.int64]
    base_C: NDArray[np.float32]
    gain_C: NDArray[np.float32]
    part_offsets_I1: NDArray[np.int64]
    candidate_part_offsets_C1: NDArray[np.int64]
    candidate_parts_K: NDArray[np.int32]
    part_id_offsets_P1: NDArray[np.int64]
    part_ids_N: NDArray[np.int32]
    dense_CD: NDArray[np.float32]


class SparseWeights(NamedTuple):
    """F sparse and D float weights, and the sums of squared gradients that AdaGrad divides by.

    `squares_F` is empty for plain steps.
    """

    weight_F: NDArray[np.float32]
    squares_F: NDArray[np.float32]
    dense_D: NDArray[np.float64]
    dense_squares_D: NDArray[np.float64]


class ListSteps(NamedTuple):
    """Which loss, and how steps are made; see `xlate.train.list_learner.ListSettings`."""

    loss: int
    gamma: float
    margin: float
    rate: float
    dense_rate: float
    l1: float
    l2: float
    batch: int
    pairs: int
    least_difference: float


class ListSpace(NamedTuple):
    """Room for scores and slopes of one list's parts and candidates, float gradients, and the random numbers' state."""

    part_score: NDArray[np.float64]
    part_slope: NDArray[np.float64]
    score: NDArray[np.float64]
    slope: NDArray[np.float64]
    dense_slope_D: NDArray[np.float64]
    state: NDArray[np.uint64]


@njit(cache=True, nogil=True)
def list_space(lists: PartLists, batch: int) -> ListSpace:
    """Enough room for the `batch` largest lists."""
    parts, candidates = 0, 0
    for i in range(len(lists.candidate_offsets_I1) - 1):
        parts = max(parts, lists.part_offsets_I1[i + 1] - lists.part_offsets_I1[i])
        candidates = max(candidates, lists.candidate_offsets_I1[i + 1] - lists.candidate_offsets_I1[i])
    return ListSpace(
        np.empty(parts),
        np.empty(parts * batch),
        np.empty(candidates),
        np.empty(candidates),
        np.zeros(lists.dense_CD.shape[1]),
        np.zeros(1, dtype=np.uint64),
    )


@njit(cache=True, nogil=True)
def list_epoch(
    order_I: NDArray[np.int64],
    lists: PartLists,
    weights: SparseWeights,
    steps: ListSteps,
    space: ListSpace,
    seed: int,
) -> float:
    """Steps through lists in a given order, `batch` lists a step; returns the sum of the losses met on the way."""
    lists, weights, space = lent(lists), lent(weights), lent(space)
    space.state[0] = np.uint64(seed)
    loss, size = 0.0, len(space.part_score)
    for start in range(0, len(order_I), steps.batch):
        end = min(start + steps.batch, len(order_I))
        space.dense_slope_D[:] = 0.0
        for at in range(start, end):
            i = order_I[at]
            _score(lists, weights, space, i)
            loss += _slopes(lists, steps, space, i)
            _spread(lists, space, i, (at - start) * size)
        _step_dense(weights, steps, space, 1.0 / (end - start))
        for at in range(start, end):
            _step(lists, weights, steps, space, order_I[at], (at - start) * size, 1.0 / (end - start))
    return loss


@njit(cache=True, nogil=True)
def list_losses(
    order_I: NDArray[np.int64],
    lists: PartLists,
    weights: SparseWeights,
    steps: ListSteps,
    space: ListSpace,
    seed: int,
    best_I: NDArray[np.int64],
) -> float:
    """The sum of the losses of some lists as weights stand; writes the candidate of the highest score, or -1."""
    lists, weights, space, best_I = lent(lists), lent(weights), lent(space), lent(best_I)
    space.state[0] = np.uint64(seed)
    loss = 0.0
    for at in range(len(order_I)):
        i = order_I[at]
        _score(lists, weights, space, i)
        loss += _slopes(lists, steps, space, i)
        first, best_I[at] = lists.candidate_offsets_I1[i], -1
        for c in range(first, lists.candidate_offsets_I1[i + 1]):
            if best_I[at] < 0 or space.score[c - first] > space.score[best_I[at] - first]:
                best_I[at] = c
    return loss


@njit(cache=True, nogil=True)
def list_gradient(
    lists: PartLists,
    weights: SparseWeights,
    steps: ListSteps,
    space: ListSpace,
    i: int,
    gradient_F: NDArray[np.float64],
) -> float:
    """Adds the gradient of one list's loss to `gradient_F`; returns the loss."""
    _score(lists, weights, space, i)
    loss = _slopes(lists, steps, space, i)
    _spread(lists, space, i, 0)
    first = lists.part_offsets_I1[i]
    for part in range(first, lists.part_offsets_I1[i + 1]):
        for n in range(lists.part_id_offsets_P1[part], lists.part_id_offsets_P1[part + 1]):
            gradient_F[lists.part_ids_N[n]] -= space.part_slope[part - first]
    return loss


@njit(cache=True, nogil=True, forceinline=True)
def _score(lists: PartLists, weights: SparseWeights, space: ListSpace, i: int) -> None:
    """Scores the parts of a list, then its candidates."""
    first, last = lists.part_offsets_I1[i], lists.part_offsets_I1[i + 1]
    for part in range(first, last):
        total = 0.0
        for n in range(lists.part_id_offsets_P1[part], lists.part_id_offsets_P1[part + 1]):
            total += weights.weight_F[lists.part_ids_N[n]]
        space.part_score[part - first] = total
    begin = lists.candidate_offsets_I1[i]
    for c in range(begin, lists.candidate_offsets_I1[i + 1]):
        score = np.float64(lists.base_C[c])
        for d in range(len(weights.dense_D)):
            score += weights.dense_D[d] * lists.dense_CD[c, d]
        for k in range(lists.candidate_part_offsets_C1[c], lists.candidate_part_offsets_C1[c + 1]):
            score += space.part_score[lists.candidate_parts_K[k]]
        space.score[c - begin] = score


@njit(cache=True, nogil=True, forceinline=True)
def _spread(lists: PartLists, space: ListSpace, i: int, offset: int) -> None:
    """The slope of a part is the sum of those of the candidates that hold it, as often as they hold it."""
    for part in range(lists.part_offsets_I1[i + 1] - lists.part_offsets_I1[i]):
        space.part_slope[offset + part] = 0.0
    begin = lists.candidate_offsets_I1[i]
    for c in range(begin, lists.candidate_offsets_I1[i + 1]):
        slope = space.slope[c - begin]
        if slope != 0.0:
            for k in range(lists.candidate_part_offsets_C1[c], lists.candidate_part_offsets_C1[c + 1]):
                space.part_slope[offset + lists.candidate_parts_K[k]] += slope
            for d in range(len(space.dense_slope_D)):
                space.dense_slope_D[d] += slope * lists.dense_CD[c, d]


@njit(cache=True, nogil=True, forceinline=True)
def _step(
    lists: PartLists, weights: SparseWeights, steps: ListSteps, space: ListSpace, i: int, offset: int, share: float
) -> None:
    """Moves the weights of every part uphill; the penalties touch only weights that move."""
    weight_F, squares_F, adaptive = weights.weight_F, weights.squares_F, len(weights.squares_F) > 0
    first = lists.part_offsets_I1[i]
    for part in range(first, lists.part_offsets_I1[i + 1]):
        slope = space.part_slope[offset + part - first] * share
        if slope == 0.0:
            continue
        for n in range(lists.part_id_offsets_P1[part], lists.part_id_offsets_P1[part + 1]):
            f = lists.part_ids_N[n]
            weight, rate = np.float64(weight_F[f]), steps.rate
            uphill = slope - steps.l2 * weight
            if adaptive:
                squares_F[f] += np.float32(uphill * uphill)
                rate /= np.sqrt(np.float64(squares_F[f])) + 1e-8
            weight += rate * uphill
            if steps.l1 > 0.0:
                weight = np.sign(weight) * max(abs(weight) - rate * steps.l1, 0.0)
            weight_F[f] = np.float32(weight)


@njit(cache=True, nogil=True, forceinline=True)
def _step_dense(weights: SparseWeights, steps: ListSteps, space: ListSpace, share: float) -> None:
    """Moves the float weights uphill."""
    for d in range(len(weights.dense_D)):
        uphill, rate = space.dense_slope_D[d] * share, steps.dense_rate
        if len(weights.squares_F) > 0:
            weights.dense_squares_D[d] += uphill * uphill
            rate /= np.sqrt(weights.dense_squares_D[d]) + 1e-8
        weights.dense_D[d] += rate * uphill


@njit(cache=True, nogil=True, forceinline=True)
def _slopes(lists: PartLists, steps: ListSteps, space: ListSpace, i: int) -> float:
    """The loss of a list, and minus its derivatives by the scores of the candidates."""
    begin, size = lists.candidate_offsets_I1[i], lists.candidate_offsets_I1[i + 1] - lists.candidate_offsets_I1[i]
    if size == 0:
        return 0.0
    if steps.loss == EXPECTED_GAIN:
        return _expected_gain(lists, steps, space, begin, size)
    if steps.loss == PAIRWISE:
        return _pairwise(lists, steps, space, begin, size)
    if steps.loss == HINGE:
        return _hinge(lists, steps, space, begin, size)
    return _likelihood(lists, steps, space, begin, size)


@njit(cache=True, nogil=True, forceinline=True)
def _expected_gain(lists: PartLists, steps: ListSteps, space: ListSpace, begin: int, size: int) -> float:
    _softmax(lists, steps, space, begin, size, -1, 0.0)
    expected = 0.0
    for c in range(size):
        expected += space.slope[c] * lists.gain_C[begin + c]
    for c in range(size):
        space.slope[c] *= steps.gamma * (lists.gain_C[begin + c] - expected)
    return -expected


@njit(cache=True, nogil=True, forceinline=True)
def _likelihood(lists: PartLists, steps: ListSteps, space: ListSpace, begin: int, size: int) -> float:
    best = _best_gain(lists, begin, size)
    margin = steps.margin if steps.loss == SOFTMAX_MARGIN else 0.0
    total = _softmax(lists, steps, space, begin, size, best, margin)
    for c in range(size):
        space.slope[c] = steps.gamma * ((1.0 if c == best else 0.0) - space.slope[c])
    return total - steps.gamma * float(space.score[best])


@njit(cache=True, nogil=True, forceinline=True)
def _softmax(
    lists: PartLists, steps: ListSteps, space: ListSpace, begin: int, size: int, best: int, margin: float
) -> float:
    """Writes the probabilities into the slopes; with `best`, costs count; returns the log of the sum."""
    top = -np.inf
    for c in range(size):
        value = steps.gamma * space.score[c]
        if best >= 0:
            value += margin * (lists.gain_C[begin + best] - lists.gain_C[begin + c])
        space.slope[c] = value
        top = max(top, value)
    total = 0.0
    for c in range(size):
        space.slope[c] = np.exp(space.slope[c] - top)
        total += space.slope[c]
    for c in range(size):
        space.slope[c] /= total
    return float(top + np.log(total))


@njit(cache=True, nogil=True, forceinline=True)
def _best_gain(lists: PartLists, begin: int, size: int) -> int:
    best = 0
    for c in range(1, size):
        if lists.gain_C[begin + c] > lists.gain_C[begin + best]:
            best = c
    return best


@njit(cache=True, nogil=True, forceinline=True)
def _hinge(lists: PartLists, steps: ListSteps, space: ListSpace, begin: int, size: int) -> float:
    """The candidate of the highest score plus cost against the one of the highest gain."""
    best = _best_gain(lists, begin, size)
    worst, most = best, steps.gamma * space.score[best]
    for c in range(size):
        space.slope[c] = 0.0
        value = steps.gamma * space.score[c] + steps.margin * (lists.gain_C[begin + best] - lists.gain_C[begin + c])
        if value > most:
            worst, most = c, value
    if worst == best:
        return 0.0
    space.slope[best], space.slope[worst] = steps.gamma, -steps.gamma
    return float(most - steps.gamma * space.score[best])


@njit(cache=True, inline="always")
def _draw(state: NDArray[np.uint64], size: int) -> int:
    """A number below `size` by lot (SplitMix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((z ^ (z >> np.uint64(31))) % np.uint64(size))


@njit(cache=True, nogil=True, forceinline=True)
def _pairwise(lists: PartLists, steps: ListSteps, space: ListSpace, begin: int, size: int) -> float:
    """Logistic loss of `pairs` drawn pairs, of 20 times as many those of the largest differences of gain."""
    tries = 20 * steps.pairs
    drawn = np.empty((tries, 2), dtype=np.int64)
    difference = np.empty(tries)
    kept = 0
    for _ in range(tries):
        one, other = _draw(space.state, size), _draw(space.state, size)
        apart = lists.gain_C[begin + one] - lists.gain_C[begin + other]
        if abs(apart) >= steps.least_difference:
            drawn[kept, 0], drawn[kept, 1] = (one, other) if apart > 0 else (other, one)
            difference[kept] = -abs(apart)
            kept += 1
    space.slope[:size] = 0.0
    loss = 0.0
    order = np.argsort(difference[:kept], kind="mergesort")
    for at in order[: steps.pairs]:
        better, worse = drawn[at]
        distance = steps.gamma * (space.score[better] - space.score[worse])
        missing = 1.0 / (1.0 + np.exp(min(distance, 700.0)))
        loss += np.log1p(np.exp(-distance)) if distance > -30.0 else -distance
        space.slope[better] += steps.gamma * missing
        space.slope[worse] -= steps.gamma * missing
    return float(loss)
