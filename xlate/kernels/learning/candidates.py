"""The arrays of a `CandidateBatch` as passed to compiled loops, and the score of a candidate.

A feature may be a pair: one of an instance's context with one of a candidate. Pairs are computed, not stored: with X
context features in the instance and T ids in the candidate, there are X · T of them. Their ids are hashes, so several
pairs may share a weight, as in Vowpal Wabbit; the more weights there are, the rarer this is.

Candidates of an instance share ids, such as target words. So its distinct ids are found first, then the weight of each
of their pairs with the context features, which is prefetched because instances spend nearly all their time waiting for
memory. The score of an id in the context is summed once, and its weights move once per step, for all candidates that
have it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, Floats, Floats32, Ints, Ints32
from xlate.compiled import inlined, inner, lent, loop, prefetch
from xlate.kernels.memory import bounds, places

# Odd numbers without a pattern, below 2^63: products wrap around alike in numpy, torch and compiled code.
CONTEXT, PART, BOTH = 0x1E3779B97F4A7C15, 0x42B2AE3D27D4EB4F, 0x5851F42D4C957F2D


def crossed_ids(context: Any, part: Any, size: int) -> Any:
    """The ids of pairs among `size` weights, a power of two; arrays or tensors of 64-bit integers, element by element.

    `crossed` is the same, compiled, for one pair.
    """
    return ((((context * CONTEXT) ^ (part * PART)) * BOTH) >> 32) & (size - 1)


crossed = inlined(crossed_ids)


class CandidateArrays(NamedTuple):
    """I instances of C candidates with D dense features; P parts with N sparse ids (see `CandidateBatch`).

    `gain_C` is one gain per candidate. Arrays that a batch does not have are empty: the three of parts when every
    candidate is one part, `part_values_N` when all values are 1, `base_C` when there are no fixed scores, the two of
    contexts when ids are feature numbers; otherwise ids are crossed with those of their instance's context (`crossed`).
    Values are in single precision, except in lists that are only rescored, whose totals are written with all digits.
    """

    candidate_offsets_I1: Ints
    dense_CD: Floats32
    gain_C: Floats32
    base_C: Floats32
    part_offsets_I1: Ints
    candidate_part_offsets_C1: Ints
    candidate_parts_K: Ints32
    part_id_offsets_P1: Ints
    part_ids_N: Ints32
    part_values_N: AnyFloats
    context_offsets_I1: Ints = np.zeros(0, np.int64)
    contexts_X: Ints32 = np.zeros(0, np.int32)


@inlined
def context_of(i: int, candidates: CandidateArrays) -> tuple[int, int]:
    """Where the context of an instance begins and ends; without contexts, one place that has no meaning."""
    if len(candidates.context_offsets_I1) == 0:
        return 0, 1
    return bounds(candidates.context_offsets_I1, i)


@inlined
def feature_of(n: int, x: int, candidates: CandidateArrays, size: int) -> int:
    """The feature of id n in place x of the context, among `size` weights; without contexts, the id itself."""
    if len(candidates.context_offsets_I1) == 0:
        return int(candidates.part_ids_N[n])
    return int(crossed(candidates.contexts_X[x], candidates.part_ids_N[n], size))


@inlined
def value_of(n: int, candidates: CandidateArrays) -> float:
    """The value of id n, in double precision."""
    return np.float64(candidates.part_values_N[n]) if len(candidates.part_values_N) > 0 else 1.0


@inlined
def plain_score(
    i: int, c: int, candidates: CandidateArrays, dense_D: Floats, sparse_F: AnyFloats, use_sparse: bool
) -> float:
    """The score of candidate c of instance i, which is one part."""
    total = 0.0
    for d in range(len(dense_D)):
        total += dense_D[d] * candidates.dense_CD[c, d]
    if use_sparse:
        first, last = bounds(candidates.part_id_offsets_P1, c)
        if len(candidates.part_values_N) > 0:
            for n in range(first, last):
                total += sparse_F[candidates.part_ids_N[n]] * candidates.part_values_N[n]
        elif len(candidates.context_offsets_I1) > 0:
            begin, end = bounds(candidates.context_offsets_I1, i)
            for n in range(first, last):
                for x in range(begin, end):
                    total += sparse_F[crossed(candidates.contexts_X[x], candidates.part_ids_N[n], len(sparse_F))]
        else:
            for n in range(first, last):
                total += sparse_F[candidates.part_ids_N[n]]
    if len(candidates.base_C) > 0:
        total += candidates.base_C[c]
    return total


@inlined
def part_score(part: int, candidates: CandidateArrays, sparse_F: AnyFloats) -> float:
    """The sum of the sparse weights of one part."""
    total = 0.0
    first, last = bounds(candidates.part_id_offsets_P1, part)
    if len(candidates.part_values_N) > 0:
        for n in range(first, last):
            total += sparse_F[candidates.part_ids_N[n]] * candidates.part_values_N[n]
    else:
        for n in range(first, last):
            total += sparse_F[candidates.part_ids_N[n]]
    return total


# The current instance, and the one whose weights are being prefetched.
TURNS = 2


class Crossed(NamedTuple):
    """The K distinct ids of an instance with N ids in X context features, for each of two instances (turns).

    Attributes:
        slot_H: a hash table of the ids, three places each: the id, the clock when it was inserted, and its number.
        number_RN: the number of each of the ids, 0 to K - 1.
        feature_RY: the weight of each pair, number · X + place in the context.
        size_R2: K and X.
        mixed_X: the features of the context as `crossed` mixes them.
        value_K: the score of each id, or how far its weights move.
        clock_1: counts the instances looked up.
    """

    slot_H: Ints
    number_RN: Ints32
    feature_RY: Ints32
    size_R2: Ints
    mixed_X: Ints
    value_K: Floats
    clock_1: Ints


@inner
def crossed_room(rows_I: Ints, candidates: CandidateArrays) -> Crossed:
    """Arrays large enough for each of some instances."""
    most, pairs, slots = 0, 0, 16
    for i in rows_I:
        first, last = bounds(candidates.candidate_offsets_I1, i)
        ids = candidates.part_id_offsets_P1[last] - candidates.part_id_offsets_P1[first]
        most = max(most, ids)
        pairs = max(pairs, ids * (candidates.context_offsets_I1[i + 1] - candidates.context_offsets_I1[i]))
    while slots < 2 * most:
        slots *= 2
    return Crossed(
        np.full(3 * slots, -1, np.int64),
        np.empty((TURNS, most), np.int32),
        np.empty((TURNS, pairs), np.int32),
        np.zeros((TURNS, 2), np.int64),
        np.empty(pairs, np.int64),
        np.empty(most),
        np.zeros(1, np.int64),
    )


@inner
def look_up(here: tuple[Crossed, int], i: int, candidates: CandidateArrays, sparse_F: AnyFloats) -> None:
    """Finds the weights of the pairs of instance i and prefetches them; `here` is room, and the turn to write."""
    room, turn = here
    first = candidates.part_id_offsets_P1[candidates.candidate_offsets_I1[i]]
    last = candidates.part_id_offsets_P1[candidates.candidate_offsets_I1[i + 1]]
    begin, end = bounds(candidates.context_offsets_I1, i)
    room.clock_1[0] += 1
    clock, slots = room.clock_1[0], len(room.slot_H) // 3
    mask, width, known = len(sparse_F) - 1, end - begin, 0
    number_N, feature_Y = room.number_RN[turn], room.feature_RY[turn]
    for x in range(width if last > first else 0):
        room.mixed_X[x] = np.int64(candidates.contexts_X[begin + x]) * CONTEXT
    for n in range(first, last):
        part = np.int64(candidates.part_ids_N[n])
        mixed = part * PART
        slot = int(3 * ((mixed >> 32) & (slots - 1)))
        while room.slot_H[slot + 1] == clock and room.slot_H[slot] != part:
            slot += 3
            if slot == 3 * slots:
                slot -= 3 * slots
        if room.slot_H[slot + 1] != clock:
            room.slot_H[slot], room.slot_H[slot + 1], room.slot_H[slot + 2] = part, clock, known
            # As in `crossed`, for all contexts at once.
            for x in range(width):
                feature_Y[known * width + x] = (((room.mixed_X[x] ^ mixed) * BOTH) >> 32) & mask
            for y in range(known * width, (known + 1) * width):
                prefetch(sparse_F, feature_Y[y])
            known += 1
        number_N[n - first] = room.slot_H[slot + 2]
    room.size_R2[turn, 0], room.size_R2[turn, 1] = known, width


@inner
def score_ids(here: tuple[Crossed, int], sparse_F: AnyFloats) -> None:
    """Sums the score of each id in the context of the instance."""
    room, turn = here
    ids, width, feature_Y = room.size_R2[turn, 0], room.size_R2[turn, 1], room.feature_RY[turn]
    for k in range(ids):
        total = 0.0
        for y in range(k * width, (k + 1) * width):
            total += sparse_F[feature_Y[y]]
        room.value_K[k] = total


@inlined
def crossed_score(here: tuple[Crossed, int], i: int, c: int, candidates: CandidateArrays, dense_D: Floats) -> float:
    """The score of candidate c of instance i, whose ids have been scored."""
    (room, turn), total = here, 0.0
    for d in range(len(dense_D)):
        total += dense_D[d] * candidates.dense_CD[c, d]
    first = candidates.part_id_offsets_P1[candidates.candidate_offsets_I1[i]]
    for n in range(candidates.part_id_offsets_P1[c] - first, candidates.part_id_offsets_P1[c + 1] - first):
        total += room.value_K[room.number_RN[turn, n]]
    if len(candidates.base_C) > 0:
        total += candidates.base_C[c]
    return total


@inner
def move_ids(
    here: tuple[Crossed, int],
    i: int,
    members: tuple[Ints, Floats, int],
    candidates: CandidateArrays,
    sparse_F: AnyFloats,
    eta: float,
) -> None:
    """Moves the weights of every id along the slopes of the candidates that have it, by plain steps.

    `members` are candidates, their slopes, and how many there are.
    """
    (room, turn), (member_X, slope_X, size) = here, members
    ids, width, feature_Y = room.size_R2[turn, 0], room.size_R2[turn, 1], room.feature_RY[turn]
    first = candidates.part_id_offsets_P1[candidates.candidate_offsets_I1[i]]
    room.value_K[:ids] = 0.0
    for x in range(size):
        c, slope = member_X[x], slope_X[x]
        for n in range(candidates.part_id_offsets_P1[c] - first, candidates.part_id_offsets_P1[c + 1] - first):
            room.value_K[room.number_RN[turn, n]] += slope
    for k in range(ids):
        step = eta * room.value_K[k]
        if step != 0.0:
            for y in range(k * width, (k + 1) * width):
                sparse_F[feature_Y[y]] += step


@loop
def crossed_scores(candidates: CandidateArrays, dense_D: Floats, sparse_F: AnyFloats) -> Floats:
    """The scores of all candidates, each one part, in the contexts of their instances; (C,)."""
    candidates, dense_D, sparse_F = lent(candidates), lent(dense_D), lent(sparse_F)
    score_C, instances = np.empty(len(candidates.dense_CD)), len(candidates.candidate_offsets_I1) - 1
    owned = crossed_room(np.arange(instances), candidates)
    room = lent(owned)
    for i in range(-1, instances):
        if i + 1 < instances:
            look_up((room, (i + 1) % 2), i + 1, candidates, sparse_F)
        if i >= 0:
            score_ids((room, i % 2), sparse_F)
            for c in places(candidates.candidate_offsets_I1, i):
                score_C[c] = crossed_score((room, i % 2), i, c, candidates, dense_D)
    # Keeps what was lent alive until here.
    owned.clock_1[0] = 0
    return score_C
