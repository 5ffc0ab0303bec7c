"""One epoch of k-best MIRA over n-best lists (Cherry & Foster 2012, section 3.1), and steps that give margins.

The smallest step of the weights that gives the oracles of one list their margins over its hypotheses is, for M oracles
and K hypotheses, the solution of (Watanabe et al. 2007, Eq. 3 with the squared norm)::

    min_w  ½ |w - w_0|² + C ξ       w·Δ(o, e) + ξ ≥ L(o, e) for all o and e,  ξ ≥ 0,   Δ(o, e) = h(o) - h(e)

whose dual (Eq. 4) has an α ≥ 0 for each pair, Σ α ≤ C, and w = w_0 + Σ α(o, e) Δ(o, e) (Eq. 5). The bound on the sum of
all α corresponds to one ξ for all pairs; a ξ for each would bound each α. The difference between C and the sum is one
more α, for a pair without features and loss, so steps keep the sum constant: each moves the best amount from the pair
that lacks least to the one that lacks most (Platt 1998). Steps of single α, as in Eq. 6, would stop too early once the
sum is C. Only inner products of candidates are needed, so features are read once.

Shapes: C candidates, M oracles and K hypotheses among them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats, Ints
from xlate.compiled import inlined, inner, lent, loop
from xlate.kernels.learning.candidates import CandidateArrays, value_of
from xlate.kernels.learning.scores import largest, score_list_twice
from xlate.kernels.memory import bounds, places

Rows = Ints


@inlined
def margin_step(missing: float, norm: float, most: float) -> float:
    """The step for a pair that lacks `missing` score, at most `most`; its difference has a squared norm above 0."""
    return min(most, missing / norm) if missing > 0.0 else 0.0


@loop
def inner_products(lists: CandidateArrays, rate_D: Floats, rate: float, room_F: Floats) -> Floats:
    """Inner products of the features of the one list's candidates, (C, C), features weighted by their step sizes.

    Dense features count as differences from those of the first candidate, which does not change pairs and loses fewer
    digits. `room_F` has a 0 for every sparse feature, before and after.
    """
    lists, room_F = lent(lists), lent(room_F)
    size = len(lists.dense_CD)
    product_CC = np.zeros((size, size))
    for a in range(size):
        if len(lists.part_ids_N) > 0:
            _scatter(lists, a, 1.0, room_F)
        for b in range(a, size):
            total = 0.0
            for d in range(len(rate_D)):
                first = np.float64(lists.dense_CD[0, d])
                total += rate_D[d] * (lists.dense_CD[a, d] - first) * (lists.dense_CD[b, d] - first)
            if len(lists.part_ids_N) > 0:
                total += rate * _gathered(lists, b, room_F)
            product_CC[a, b] = product_CC[b, a] = total
        if len(lists.part_ids_N) > 0:
            _scatter(lists, a, 0.0, room_F)
    return product_CC


@inner
def _scatter(lists: CandidateArrays, c: int, keep: float, room_F: Floats) -> None:
    """Adds the sparse features of a candidate to the room, or sets them to 0 when `keep` is 0."""
    for k in places(lists.candidate_part_offsets_C1, c):
        part = lists.candidate_parts_K[k]
        for n in places(lists.part_id_offsets_P1, part):
            feature = lists.part_ids_N[n]
            room_F[feature] = keep * (room_F[feature] + value_of(n, lists))


@loop
def _gathered(lists: CandidateArrays, c: int, room_F: Floats) -> float:
    """The inner product of a candidate's sparse features with what is in the room."""
    total = 0.0
    for k in places(lists.candidate_part_offsets_C1, c):
        part = lists.candidate_parts_K[k]
        for n in places(lists.part_id_offsets_P1, part):
            total += value_of(n, lists) * room_F[lists.part_ids_N[n]]
    return total


@loop
def largest_margins(
    product_CC: Floats, score_C: Floats, oracle_M: Rows, hypothesis_K: Rows, loss_MK: Floats, most: float, steps: int
) -> Floats:
    """The α of every pair that maximise the dual, (M, K), to within 1e-6 of the largest loss, or those after `steps`.

    Args:
        product_CC: inner products of candidates.
        score_C: their scores under the weights before the step.
        oracle_M, hypothesis_K: which candidates they are.
        loss_MK: how far the score of an oracle should exceed that of a hypothesis; pairs at 0 or below are left out.
        most: the upper limit of the sum of all α, C.
        steps: the maximum number of steps.
    """
    product_CC, score_C, loss_MK = lent(product_CC), lent(score_C), lent(loss_MK)
    hypotheses, pairs = len(hypothesis_K), loss_MK.size
    # The last α is that of the pair without features and loss.
    alpha_P1, now_C, moved_C = np.zeros(pairs + 1), score_C.copy(), np.zeros(len(score_C))
    alpha_P1[pairs] = most
    # The dual is then within 1e-6 of its maximum, in units of the largest loss: no α can gain more than the gap.
    tolerance = 1e-6 * np.max(np.append(loss_MK, 0.0)) / max(most, 1.0)
    for _ in range(steps):
        up, down, gap = _extremes(now_C, oracle_M, hypothesis_K, loss_MK, alpha_P1)
        if gap <= tolerance:
            break
        for pair, sign in ((up, 1.0), (down, -1.0)):
            if pair < pairs:
                moved_C[oracle_M[pair // hypotheses]] += sign
                moved_C[hypothesis_K[pair % hypotheses]] -= sign
        norm = _squared(product_CC, moved_C)
        # If features do not distinguish two pairs, everything goes to the one with the larger loss.
        step = margin_step(gap, norm, alpha_P1[down]) if norm > 0.0 else alpha_P1[down]
        alpha_P1[up] += step
        alpha_P1[down] -= step
        _shift(now_C, product_CC, moved_C, step)
        moved_C[:] = 0.0
    return alpha_P1[:pairs].copy().reshape(loss_MK.shape)


@inner
def _extremes(
    now_C: Floats, oracle_M: Rows, hypothesis_K: Rows, loss_MK: Floats, alpha_P1: Floats
) -> tuple[int, int, float]:
    """The pair that lacks most, the one with an α above 0 that lacks least, and the difference."""
    pairs = loss_MK.size
    up, most = pairs, 0.0
    down, least = pairs, 0.0 if alpha_P1[pairs] > 0.0 else np.inf
    for m in range(len(oracle_M)):
        for k in range(len(hypothesis_K)):
            if loss_MK[m, k] <= 0.0:
                continue
            pair = m * len(hypothesis_K) + k
            lacking = loss_MK[m, k] - (now_C[oracle_M[m]] - now_C[hypothesis_K[k]])
            if lacking > most:
                up, most = pair, lacking
            if alpha_P1[pair] > 0.0 and lacking < least:
                down, least = pair, lacking
    return up, down, most - least


@inner
def _squared(product_CC: Floats, moved_C: Floats) -> float:
    """The squared norm of a sum of candidates' features; most candidates are not part of it."""
    total = 0.0
    for a in range(len(moved_C)):
        if moved_C[a] != 0.0:
            for b in range(len(moved_C)):
                if moved_C[b] != 0.0:
                    total += moved_C[a] * moved_C[b] * product_CC[a, b]
    return total


@inner
def _shift(now_C: Floats, product_CC: Floats, moved_C: Floats, step: float) -> None:
    """The scores after a step along a sum of candidates' features."""
    for b in range(len(moved_C)):
        if moved_C[b] != 0.0:
            for c in range(len(now_C)):
                now_C[c] += step * moved_C[b] * product_CC[b, c]


class MiraSteps(NamedTuple):
    """What C hypotheses gain, and how weights move.

    A hypothesis gains `bleu_share` times its BLEU plus `beside_C`, from other measures (0 to 1, weighted).

    Attributes:
        statistics_CK: of each hypothesis, beginning with BLEU's 2 + 2·order.
        trained_D: which dense weights move; most: the longest step.
        decay: of the background corpus; sparse_rate: the rate of sparse weights.
    """

    statistics_CK: Floats
    beside_C: Floats
    bleu_share: float
    order: int
    trained_D: Bools
    most: float
    decay: float
    sparse_rate: float


class MiraWeights(NamedTuple):
    """Weights, what the average lacks of them times the number of steps, the background corpus, and the step count.

    With step t adding Δ_t, `lag` is Σ (t - 1) Δ_t; the average of the weights after steps 1 to T is weight - lag / T.
    """

    dense_D: Floats
    sparse_F: Floats
    dense_lag_D: Floats
    sparse_lag_F: Floats
    background_K: Floats
    clock_1: Ints


@loop
def mira_pass(
    lists: CandidateArrays, weights: MiraWeights, judged: tuple[Floats, Floats], order_I: Ints, steps: MiraSteps
) -> Floats:
    """Makes one pass through lists whose parts are written out, changing the weights.

    Returns the summed statistics of each list's best hypothesis under the dense and sparse weights `judged`, (K,): both
    are scored in one pass because reading the lists takes longer than scoring them twice.
    """
    lists, weights, judged, steps = lent(lists), lent(weights), lent(judged), lent(steps)
    sums_K = np.zeros(steps.statistics_CK.shape[1])
    parts, most = largest(lists)
    part_2, score_2 = (np.empty(parts), np.empty(parts)), (np.empty(most), np.empty(most))
    # How much more often hope has each part of its list than fear; 0 between steps.
    count_P = np.zeros(parts, np.int64)
    difference_F = np.zeros(len(weights.sparse_F))
    for i in order_I:
        first, last = bounds(lists.candidate_offsets_I1, i)
        if first == last:
            continue
        dense_2, sparse_2 = (weights.dense_D, judged[0]), (weights.sparse_F, judged[1])
        score_list_twice(i, lists, dense_2, sparse_2, part_2, score_2)
        hope, fear, margin, cost, best = _hope_and_fear(steps, weights.background_K, score_2, first, last)
        for k in range(len(sums_K)):
            sums_K[k] += steps.statistics_CK[best, k]
        if cost > margin:
            _count_parts(lists, count_P, hope, fear)
            norm = _norm(lists, steps, (count_P, difference_F), i, hope, fear)
            if norm > 0.0:
                _move(lists, weights, steps, count_P, i, hope, fear, margin_step(cost - margin, norm, steps.most))
            _count_parts(lists, count_P, fear, hope)
        weights.clock_1[0] += 1
        for k in range(len(weights.background_K)):
            weights.background_K[k] = steps.decay * (weights.background_K[k] + steps.statistics_CK[hope, k])
    return sums_K


@inner
def _hope_and_fear(
    steps: MiraSteps, background_K: Floats, score_2: tuple[Floats, Floats], first: int, last: int
) -> tuple[int, int, float, float, int]:
    """Hope, fear, how much higher hope scores, how much more it gains, the best of `judged`; ties go to the first."""
    score_X, judged_X = score_2
    hope, fear, best, highest = first, first, first, -np.inf
    hope_score = hope_gain = fear_score = fear_gain = 0.0
    for c in range(first, last):
        score, other = score_X[c - first], judged_X[c - first]
        if other > highest:
            best, highest = c, other
        gain = steps.bleu_share * background_gain(steps.statistics_CK[c], background_K, steps.order)
        # The gain in background BLEU is likewise in words of the hypothesis's own sentence.
        gain += steps.beside_C[c] * steps.statistics_CK[c, 1]
        if c == first or score + gain > hope_score + hope_gain:
            hope, hope_score, hope_gain = c, score, gain
        if c == first or score - gain > fear_score - fear_gain:
            fear, fear_score, fear_gain = c, score, gain
    return hope, fear, hope_score - fear_score, hope_gain - fear_gain, best


@inner
def background_gain(statistics_K: Floats, background_K: Floats, order: int) -> float:
    """BLEU (0 to 1) of a hypothesis added to the background, times their reference length (Chiang et al. 2008)."""
    product = 1.0
    for n in range(order):
        total = statistics_K[2 + order + n] + background_K[2 + order + n]
        product *= (statistics_K[2 + n] + background_K[2 + n]) / max(total, 1e-300)
    length, reference = statistics_K[0] + background_K[0], statistics_K[1] + background_K[1]
    # Two square roots are much faster than a power.
    bleu = np.sqrt(np.sqrt(product)) if order == 4 else product ** (1.0 / order)
    if length < reference:
        bleu *= np.exp(1.0 - reference / max(length, 1e-300))
    return float(bleu * reference)


@inlined
def _count_parts(lists: CandidateArrays, count_P: Ints, one: int, other: int) -> None:
    """Adds how much more often one hypothesis has each part of its list than the other; swap them to undo it."""
    for k in places(lists.candidate_part_offsets_C1, one):
        count_P[lists.candidate_parts_K[k]] += 1
    for k in places(lists.candidate_part_offsets_C1, other):
        count_P[lists.candidate_parts_K[k]] -= 1


@inner
def _norm(lists: CandidateArrays, steps: MiraSteps, room: tuple[Ints, Floats], i: int, hope: int, fear: int) -> float:
    """The squared norm of hope's features minus those of fear, sparse ones weighted by their rate.

    Parts that both have cancel out. The values of the others are summed by id, then each sum is squared once. `room`
    counts the parts, and has a 0 for every sparse feature.
    """
    norm, sparse = 0.0, 0.0
    count_P, own = room
    for d in range(len(steps.trained_D)):
        if steps.trained_D[d]:
            difference = np.float64(lists.dense_CD[hope, d]) - np.float64(lists.dense_CD[fear, d])
            norm += difference * difference
    if len(lists.part_ids_N) == 0:
        return norm
    begin = lists.part_offsets_I1[i]
    for squaring in (False, True):
        for c in (hope, fear):
            for k in places(lists.candidate_part_offsets_C1, c):
                local = lists.candidate_parts_K[k]
                # Every occurrence of a part adds to the same side, so a part counts as often as it occurs.
                if count_P[local] == 0:
                    continue
                part, sign = begin + local, 1.0 if c == hope else -1.0
                for n in places(lists.part_id_offsets_P1, part):
                    f = lists.part_ids_N[n]
                    if squaring:
                        sparse += own[f] * own[f]
                        own[f] = 0.0
                    else:
                        own[f] += sign * value_of(n, lists)
    return norm + steps.sparse_rate * sparse


@inner
def _move(
    lists: CandidateArrays,
    weights: MiraWeights,
    steps: MiraSteps,
    count_P: Ints,
    i: int,
    hope: int,
    fear: int,
    step: float,
) -> None:
    """Adds `step` times hope's features minus those of fear to the weights; parts that both have cancel out."""
    clock = float(weights.clock_1[0])
    for d in range(len(weights.dense_D)):
        if steps.trained_D[d]:
            difference = np.float64(lists.dense_CD[hope, d]) - np.float64(lists.dense_CD[fear, d])
            weights.dense_D[d] += step * difference
            weights.dense_lag_D[d] += clock * step * difference
    if len(lists.part_ids_N) == 0:
        return
    begin = lists.part_offsets_I1[i]
    for c in (hope, fear):
        sign = 1.0 if c == hope else -1.0
        for k in places(lists.candidate_part_offsets_C1, c):
            local = lists.candidate_parts_K[k]
            if count_P[local] == 0:
                continue
            part = begin + local
            for n in places(lists.part_id_offsets_P1, part):
                move = sign * steps.sparse_rate * step * value_of(n, lists)
                weights.sparse_F[lists.part_ids_N[n]] += move
                weights.sparse_lag_F[lists.part_ids_N[n]] += clock * move
