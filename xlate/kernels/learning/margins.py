"""Margins between the oracles of a list and its hypotheses: the smallest step of the weights that gives them.

The step for M oracles and K hypotheses is the solution of (Watanabe et al. 2007, Eq. 3 with the squared norm)::

    min_w  ½ |w - w_0|² + C ξ       w·Δ(o, e) + ξ ≥ L(o, e) for all o and e,  ξ ≥ 0,   Δ(o, e) = h(o) - h(e)

whose dual (Eq. 4) has an α ≥ 0 for each pair, Σ α ≤ C, and w = w_0 + Σ α(o, e) Δ(o, e) (Eq. 5). One ξ for all pairs
is what the bound on the sum of all α means; a ξ for each would bound each α. What the sum lacks of C is one α more, of
a pair without features and loss, so that steps keep the sum: each moves as much as is best from the pair that lacks
least to the one that lacks most (Platt 1998). Steps of single α, as in Eq. 6, would stop short once the sum is C.
Inner products of candidates are all that is needed, so that features are looked at once.

Shapes: C candidates, M oracles and K hypotheses among them.
"""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.compiled import inlined, lent, loop
from xlate.kernels.learning.candidates import CandidateArrays

Rows = Ints


@inlined
def margin_step(missing: float, norm: float, most: float) -> float:
    """The step for a pair that lacks so much score and has a squared norm above 0 of its difference; at most `most`."""
    return min(most, missing / norm) if missing > 0.0 else 0.0


@loop
def inner_products(lists: CandidateArrays, rate_D: Floats, rate: float, room_F: Floats) -> Floats:
    """Inner products of the features of the candidates of the one list, (C, C), features weighed by their step sizes.

    Dense features count as differences from those of the first candidate, which leaves pairs as they are and loses
    fewer digits. `room_F` has a 0 for every sparse feature, and has so again.
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


@loop
def _scatter(lists: CandidateArrays, c: int, keep: float, room_F: Floats) -> None:
    """Adds the sparse features of a candidate to the room, or sets them to 0 when `keep` is 0."""
    valued = len(lists.part_values_N) > 0
    for k in range(lists.candidate_part_offsets_C1[c], lists.candidate_part_offsets_C1[c + 1]):
        part = lists.candidate_parts_K[k]
        for n in range(lists.part_id_offsets_P1[part], lists.part_id_offsets_P1[part + 1]):
            value = np.float64(lists.part_values_N[n]) if valued else 1.0
            feature = lists.part_ids_N[n]
            room_F[feature] = keep * (room_F[feature] + value)


@loop
def _gathered(lists: CandidateArrays, c: int, room_F: Floats) -> float:
    """The inner product of a candidate's sparse features with what is in the room."""
    total, valued = 0.0, len(lists.part_values_N) > 0
    for k in range(lists.candidate_part_offsets_C1[c], lists.candidate_part_offsets_C1[c + 1]):
        part = lists.candidate_parts_K[k]
        for n in range(lists.part_id_offsets_P1[part], lists.part_id_offsets_P1[part + 1]):
            value = np.float64(lists.part_values_N[n]) if valued else 1.0
            total += value * room_F[lists.part_ids_N[n]]
    return total


@loop
def largest_margins(
    product_CC: Floats, score_C: Floats, oracle_M: Rows, hypothesis_K: Rows, loss_MK: Floats, most: float, steps: int
) -> Floats:
    """The α of every pair that maximise the dual, (M, K), to 1e-6 of the largest loss, or those after `steps`.

    Args:
        product_CC: inner products of candidates.
        score_C: their scores under the weights before the step.
        oracle_M, hypothesis_K: which candidates they are.
        loss_MK: what the score of an oracle should lead that of a hypothesis by; pairs at 0 or below are left out.
        most: what all α sum to at most, C.
        steps: the most steps.
    """
    product_CC, score_C, loss_MK = lent(product_CC), lent(score_C), lent(loss_MK)
    hypotheses, pairs = len(hypothesis_K), loss_MK.size
    # The last one is of the pair without features and loss.
    alpha_P1, now_C, moved_C = np.zeros(pairs + 1), score_C.copy(), np.zeros(len(score_C))
    alpha_P1[pairs] = most
    # The dual is then within 1e-6 of its largest value, in units of the largest loss: no α can win more than the gap.
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
        # Where features do not tell two pairs apart, all goes to the one of more loss.
        step = margin_step(gap, norm, alpha_P1[down]) if norm > 0.0 else alpha_P1[down]
        alpha_P1[up] += step
        alpha_P1[down] -= step
        _shift(now_C, product_CC, moved_C, step)
        moved_C[:] = 0.0
    return alpha_P1[:pairs].copy().reshape(loss_MK.shape)


@loop
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


@loop
def _squared(product_CC: Floats, moved_C: Floats) -> float:
    """The squared norm of a sum of candidates' features; most candidates are not in it."""
    total = 0.0
    for a in range(len(moved_C)):
        if moved_C[a] != 0.0:
            for b in range(len(moved_C)):
                if moved_C[b] != 0.0:
                    total += moved_C[a] * moved_C[b] * product_CC[a, b]
    return total


@loop
def _shift(now_C: Floats, product_CC: Floats, moved_C: Floats, step: float) -> None:
    """The scores after a step along a sum of candidates' features."""
    for b in range(len(moved_C)):
        if moved_C[b] != 0.0:
            for c in range(len(now_C)):
                now_C[c] += step * moved_C[b] * product_CC[b, c]
