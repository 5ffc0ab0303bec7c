"""Scores of candidates, for a list at a time or a whole batch, and the gradient of sparse weights from that of scores.

A part is scored once, however many candidates of its list have it. `scoring/linear.py` is the reference.
"""

from __future__ import annotations

import numpy as np

from xlate.array_types import AnyFloats, Floats
from xlate.compiled import embedded, lent, loop
from xlate.kernels.learning.candidates import CandidateArrays, part_score, value_of
from xlate.kernels.memory import bounds, places


@embedded
def score_list(
    i: int, lists: CandidateArrays, dense_D: Floats, sparse_F: AnyFloats, part_room: Floats, score_X: Floats
) -> None:
    """Writes the scores of the candidates of list i, whose parts are written out, to the front of `score_X`.

    `part_room` has room for the parts of the list.
    """
    first, last = bounds(lists.part_offsets_I1, i)
    sparse = len(lists.part_ids_N) > 0
    if sparse:
        for part in range(first, last):
            part_room[part - first] = part_score(part, lists, sparse_F)
    add_parts(i, lists, dense_D, part_room, sparse, score_X)


@embedded
def add_parts(
    i: int, lists: CandidateArrays, dense_D: Floats, part_room: Floats, sparse: bool, score_X: Floats
) -> None:
    """Like `score_list`, with known scores of parts; they count only if `sparse`."""
    begin, fixed = lists.candidate_offsets_I1[i], len(lists.base_C) > 0
    for c in range(begin, lists.candidate_offsets_I1[i + 1]):
        score = np.float64(lists.base_C[c]) if fixed else 0.0
        for d in range(len(dense_D)):
            score += dense_D[d] * lists.dense_CD[c, d]
        if sparse:
            for k in places(lists.candidate_part_offsets_C1, c):
                score += part_room[lists.candidate_parts_K[k]]
        score_X[c - begin] = score


@embedded
def score_list_twice(
    i: int,
    lists: CandidateArrays,
    dense_2: tuple[Floats, Floats],
    sparse_2: tuple[Floats, Floats],
    part_room_2: tuple[Floats, Floats],
    score_2: tuple[Floats, Floats],
) -> None:
    """`score_list` under two sets of weights, reading every feature once; without fixed scores."""
    (dense_D, other_D), (sparse_F, other_F) = dense_2, sparse_2
    (room, other_room), (score_X, other_X) = part_room_2, score_2
    first, last = bounds(lists.part_offsets_I1, i)
    sparse = len(lists.part_ids_N) > 0
    valued = len(lists.part_values_N) > 0
    if sparse:
        for part in range(first, last):
            total, other = 0.0, 0.0
            if valued:
                for n in places(lists.part_id_offsets_P1, part):
                    total += sparse_F[lists.part_ids_N[n]] * lists.part_values_N[n]
                    other += other_F[lists.part_ids_N[n]] * lists.part_values_N[n]
            else:
                for n in places(lists.part_id_offsets_P1, part):
                    total += sparse_F[lists.part_ids_N[n]]
                    other += other_F[lists.part_ids_N[n]]
            room[part - first], other_room[part - first] = total, other
    begin = lists.candidate_offsets_I1[i]
    for c in range(begin, lists.candidate_offsets_I1[i + 1]):
        total, other = 0.0, 0.0
        for d in range(len(dense_D)):
            total += dense_D[d] * lists.dense_CD[c, d]
            other += other_D[d] * lists.dense_CD[c, d]
        if sparse:
            for k in places(lists.candidate_part_offsets_C1, c):
                total += room[lists.candidate_parts_K[k]]
                other += other_room[lists.candidate_parts_K[k]]
        score_X[c - begin], other_X[c - begin] = total, other


@embedded
def best_of_list(lists: CandidateArrays, score_X: Floats, i: int) -> int:
    """The highest-scoring candidate of a list that was scored; ties go to the first, -1 if it is empty."""
    first, best = lists.candidate_offsets_I1[i], -1
    for c in range(first, lists.candidate_offsets_I1[i + 1]):
        if best < 0 or score_X[c - first] > score_X[best - first]:
            best = c
    return int(best)


@loop
def largest(lists: CandidateArrays) -> tuple[int, int]:
    """The largest numbers of parts and of candidates in any list whose parts are written out."""
    parts, size = 0, 0
    for i in range(len(lists.candidate_offsets_I1) - 1):
        parts = max(parts, lists.part_offsets_I1[i + 1] - lists.part_offsets_I1[i])
        size = max(size, lists.candidate_offsets_I1[i + 1] - lists.candidate_offsets_I1[i])
    return parts, size


@loop
def sparse_scores(lists: CandidateArrays, sparse_F: AnyFloats) -> Floats:
    """The sum of the sparse weights of each candidate, (C,); a candidate of one part need not have it written out."""
    lists, sparse_F = lent(lists), lent(sparse_F)
    score_P = np.empty(len(lists.part_id_offsets_P1) - 1)
    for part in range(len(score_P)):
        score_P[part] = part_score(part, lists, sparse_F)
    if len(lists.candidate_part_offsets_C1) == 0:
        return score_P
    score_C = np.zeros(len(lists.candidate_part_offsets_C1) - 1)
    for i in range(len(lists.candidate_offsets_I1) - 1):
        first = lists.part_offsets_I1[i]
        for c in places(lists.candidate_offsets_I1, i):
            for k in places(lists.candidate_part_offsets_C1, c):
                score_C[c] += score_P[first + lists.candidate_parts_K[k]]
    return score_C


@loop
def sparse_gradient(lists: CandidateArrays, slope_C: Floats, size: int) -> Floats:
    """The gradient of F = `size` sparse weights given that of the scores, (F,)."""
    lists, slope_C = lent(lists), lent(slope_C)
    gradient_F = np.zeros(size)
    slope_P = slope_C
    if len(lists.candidate_part_offsets_C1) > 0:
        slope_P = np.zeros(len(lists.part_id_offsets_P1) - 1)
        for i in range(len(lists.candidate_offsets_I1) - 1):
            first = lists.part_offsets_I1[i]
            for c in places(lists.candidate_offsets_I1, i):
                if slope_C[c] != 0.0:
                    for k in places(lists.candidate_part_offsets_C1, c):
                        slope_P[first + lists.candidate_parts_K[k]] += slope_C[c]
    for part in range(len(slope_P)):
        slope = slope_P[part]
        # With pairs and sharp softmaxes, few candidates have a slope.
        if slope != 0.0:
            for n in places(lists.part_id_offsets_P1, part):
                gradient_F[lists.part_ids_N[n]] += slope * value_of(n, lists)
    return gradient_F
