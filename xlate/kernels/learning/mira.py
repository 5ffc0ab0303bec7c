"""One epoch of k-best MIRA over n-best lists (Cherry & Foster 2012, section 3.1), and choosing each list's best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.memory.lent import lent


class MiraLists(NamedTuple):
    """I lists of C hypotheses with D floats, sparse ids with values, and statistics, BLEU's 2 + 2·order in front.

    A hypothesis gains `bleu_share` times its BLEU and `beside_C`, what other measures make of it (0 to 1, weighted).
    """

    candidate_offsets_I1: NDArray[np.int64]
    dense_CD: NDArray[np.float64]
    id_offsets_C1: NDArray[np.int64]
    ids_N: NDArray[np.int32]
    values_N: NDArray[np.float32]
    statistics_CK: NDArray[np.float64]
    beside_C: NDArray[np.float64]
    bleu_share: float
    order: int


class MiraWeights(NamedTuple):
    """Weights, what the average lacks of them times the number of steps, the background corpus, and the step count.

    With step t adding Δ_t, `lag` is Σ (t - 1) Δ_t; the average of the weights after steps 1 to T is weight - lag / T.
    """

    dense_D: NDArray[np.float64]
    sparse_F: NDArray[np.float64]
    dense_lag_D: NDArray[np.float64]
    sparse_lag_F: NDArray[np.float64]
    background_K: NDArray[np.float64]
    clock_1: NDArray[np.int64]


class JudgedWeights(NamedTuple):
    """Weights that are looked at on the way."""

    dense_D: NDArray[np.float64]
    sparse_F: NDArray[np.float64]


@njit(cache=True, nogil=True)
def ascending_bags(
    offsets_C1: NDArray[np.int64], ids_N: NDArray[np.int32], values_N: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """The sparse features of each hypothesis with ascending ids, each once, with the sum of its values."""
    ends_C1 = np.zeros(len(offsets_C1), dtype=np.int64)
    sorted_N, summed_N = np.empty(len(ids_N), dtype=np.int32), np.empty(len(ids_N), dtype=np.float32)
    size = 0
    for c in range(len(offsets_C1) - 1):
        begin = size
        for n in range(offsets_C1[c], offsets_C1[c + 1]):
            at = size
            while at > begin and sorted_N[at - 1] > ids_N[n]:
                at -= 1
            if at > begin and sorted_N[at - 1] == ids_N[n]:
                summed_N[at - 1] += values_N[n]
                continue
            for k in range(size, at, -1):
                sorted_N[k], summed_N[k] = sorted_N[k - 1], summed_N[k - 1]
            sorted_N[at], summed_N[at] = ids_N[n], values_N[n]
            size += 1
        ends_C1[c + 1] = size
    return ends_C1, sorted_N[:size].copy(), summed_N[:size].copy()


@njit(cache=True, nogil=True)
def mira_epoch(
    lists: MiraLists,
    weights: MiraWeights,
    order_I: NDArray[np.int64],
    trained_D: NDArray[np.bool_],
    most: float,
    decay: float,
    sparse_rate: float,
    judged: JudgedWeights,
) -> NDArray[np.float64]:
    """Goes through the lists once, changing the weights.

    Returns the summed statistics of each list's best hypothesis under the weights that are `judged`, (K,): reading the
    lists takes longer than scoring them twice.
    """
    lists, weights, judged = lent(lists), lent(weights), lent(judged)
    sums_K = np.zeros(lists.statistics_CK.shape[1])
    for i in order_I:
        first, last = lists.candidate_offsets_I1[i], lists.candidate_offsets_I1[i + 1]
        if first == last:
            continue
        hope, fear, margin, cost, best = _hope_and_fear(lists, weights, judged, first, last)
        for k in range(len(sums_K)):
            sums_K[k] += lists.statistics_CK[best, k]
        if cost > margin:
            norm = _difference(lists, weights, hope, fear, trained_D, 0.0, sparse_rate)
            if norm > 0.0:
                step = min(most, (cost - margin) / norm)
                _difference(lists, weights, hope, fear, trained_D, step, sparse_rate)
        weights.clock_1[0] += 1
        for k in range(len(weights.background_K)):
            weights.background_K[k] = decay * (weights.background_K[k] + lists.statistics_CK[hope, k])
    return sums_K


@njit(cache=True, nogil=True)
def _hope_and_fear(
    lists: MiraLists, weights: MiraWeights, judged: JudgedWeights, first: int, last: int
) -> tuple[int, int, float, float, int]:
    """Hope and fear, how much higher hope scores, how much more it gains, the best of `judged`; of equals the first."""
    hope, fear, best, highest = first, first, first, -np.inf
    hope_score = hope_gain = fear_score = fear_gain = 0.0
    for c in range(first, last):
        score, other = _two_scores(lists, weights, judged, c)
        if other > highest:
            best, highest = c, other
        gain = lists.bleu_share * background_gain(lists.statistics_CK[c], weights.background_K, lists.order)
        gain += lists.beside_C[c] * (lists.statistics_CK[c, 1] + weights.background_K[1])
        if c == first or score + gain > hope_score + hope_gain:
            hope, hope_score, hope_gain = c, score, gain
        if c == first or score - gain > fear_score - fear_gain:
            fear, fear_score, fear_gain = c, score, gain
    return hope, fear, hope_score - fear_score, hope_gain - fear_gain, best


@njit(cache=True, nogil=True)
def background_gain(statistics_K: NDArray[np.float64], background_K: NDArray[np.float64], order: int) -> float:
    """BLEU (0 to 1) of a hypothesis beside the background corpus, times their reference length (Chiang et al. 2008)."""
    product = 1.0
    for n in range(order):
        total = statistics_K[2 + order + n] + background_K[2 + order + n]
        product *= (statistics_K[2 + n] + background_K[2 + n]) / max(total, 1e-300)
    length, reference = statistics_K[0] + background_K[0], statistics_K[1] + background_K[1]
    # Two square roots take a fraction of the time of a power.
    bleu = np.sqrt(np.sqrt(product)) if order == 4 else product ** (1.0 / order)
    if length < reference:
        bleu *= np.exp(1.0 - reference / max(length, 1e-300))
    return float(bleu * reference)


@njit(cache=True, inline="always")
def _two_scores(lists: MiraLists, weights: MiraWeights, judged: JudgedWeights, c: int) -> tuple[float, float]:
    score, other = 0.0, 0.0
    for d in range(len(weights.dense_D)):
        score += weights.dense_D[d] * lists.dense_CD[c, d]
        other += judged.dense_D[d] * lists.dense_CD[c, d]
    for n in range(lists.id_offsets_C1[c], lists.id_offsets_C1[c + 1]):
        score += weights.sparse_F[lists.ids_N[n]] * lists.values_N[n]
        other += judged.sparse_F[lists.ids_N[n]] * lists.values_N[n]
    return score, other


@njit(cache=True, inline="always")
def _score(lists: MiraLists, dense_D: NDArray[np.float64], sparse_F: NDArray[np.float64], c: int) -> float:
    score = 0.0
    for d in range(len(dense_D)):
        score += dense_D[d] * lists.dense_CD[c, d]
    for n in range(lists.id_offsets_C1[c], lists.id_offsets_C1[c + 1]):
        score += sparse_F[lists.ids_N[n]] * lists.values_N[n]
    return score


@njit(cache=True, nogil=True)
def _difference(
    lists: MiraLists,
    weights: MiraWeights,
    hope: int,
    fear: int,
    trained_D: NDArray[np.bool_],
    step: float,
    sparse_rate: float,
) -> float:
    """Adds `step` times the features of hope less those of fear to the weights; at step 0 only returns their norm.

    The norm is squared, and weighs sparse features by their rate.
    """
    norm, clock = 0.0, float(weights.clock_1[0])
    for d in range(len(weights.dense_D)):
        if trained_D[d]:
            difference = lists.dense_CD[hope, d] - lists.dense_CD[fear, d]
            norm += difference * difference
            weights.dense_D[d] += step * difference
            weights.dense_lag_D[d] += clock * step * difference
    for sign, c in ((1.0, hope), (-1.0, fear)):
        for n in range(lists.id_offsets_C1[c], lists.id_offsets_C1[c + 1]):
            move = sign * sparse_rate * step * lists.values_N[n]
            weights.sparse_F[lists.ids_N[n]] += move
            weights.sparse_lag_F[lists.ids_N[n]] += clock * move
    if step == 0.0:
        norm += sparse_rate * _sparse_norm(lists, hope, fear)
    return norm


@njit(cache=True, nogil=True)
def _sparse_norm(lists: MiraLists, hope: int, fear: int) -> float:
    """The squared norm of the difference of two hypotheses' sparse features, whose ids ascend within each."""
    a, a_end = lists.id_offsets_C1[hope], lists.id_offsets_C1[hope + 1]
    b, b_end = lists.id_offsets_C1[fear], lists.id_offsets_C1[fear + 1]
    norm = 0.0
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and lists.ids_N[a] < lists.ids_N[b]):
            difference = lists.values_N[a]
            a += 1
        elif a == a_end or lists.ids_N[b] < lists.ids_N[a]:
            difference = lists.values_N[b]
            b += 1
        else:
            difference = lists.values_N[a] - lists.values_N[b]
            a += 1
            b += 1
        norm += difference * difference
    return norm


@njit(cache=True, nogil=True)
def best_statistics(
    lists: MiraLists, dense_D: NDArray[np.float64], sparse_F: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The summed statistics of each list's best hypothesis under some weights, (K,); of equals the first."""
    lists = lent(lists)
    sums_K = np.zeros(lists.statistics_CK.shape[1])
    for i in range(len(lists.candidate_offsets_I1) - 1):
        best, highest = -1, 0.0
        for c in range(lists.candidate_offsets_I1[i], lists.candidate_offsets_I1[i + 1]):
            score = _score(lists, dense_D, sparse_F, c)
            if best < 0 or score > highest:
                best, highest = c, score
        if best >= 0:
            sums_K += lists.statistics_CK[best]
    return sums_K
