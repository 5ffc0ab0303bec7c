"""One pass over instances whose candidates are one part each: a step for each true candidate.

Gains above 0 mark true candidates. A step considers one of them and all others that are not true (Tillmann & Zhang
2007, Table II).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import Floats, Floats32, Ints, Uints
from xlate.compiled import inlined, inner, lent, loop, prefetch
from xlate.kernels.learning.candidates import (
    CandidateArrays,
    Crossed,
    context_of,
    crossed_room,
    crossed_score,
    feature_of,
    look_up,
    move_ids,
    plain_score,
    score_ids,
    value_of,
)
from xlate.kernels.learning.slopes import Learned, Rule, Steps, begin_step, draw, move_dense, move_sparse, settle
from xlate.kernels.memory import bounds, places


class Room(NamedTuple):
    """Room for the members of a step: their candidates, scores, gains and slopes."""

    member_X: Ints
    score_X: Floats
    gain_X: Floats32
    slope_X: Floats


@inner
def step_room(rows_I: Ints, offsets_I1: Ints) -> Room:
    """Room for a step on any of some instances: one true candidate, and as many others as there are."""
    size = 1
    for i in rows_I:
        size = max(size, 1 + offsets_I1[i + 1] - offsets_I1[i])
    return Room(np.empty(size, np.int64), np.empty(size), np.empty(size, np.float32), np.empty(size))


@loop
def instance_pass(
    order_I: Ints, candidates: CandidateArrays, learned: Learned, steps: Steps, slope: Any, state: Uints
) -> tuple[float, float]:
    """Trains on the instances in `order_I`, changing `learned`; the summed loss and curvature before each step."""
    # If a loop calls through a pointer, the compiler counts array references at every turn, unless the arrays are lent.
    order_I, candidates, state = lent(order_I), lent(candidates), lent(state)
    learned, steps = lent(learned), lent(steps)
    loss, curvature = 0.0, 0.0
    owned = step_room(order_I, candidates.candidate_offsets_I1)
    room = lent(owned)
    # Squares and penalties of a step need its whole gradient; plain steps can be made candidate by candidate.
    whole = steps.rule.adaptive or (not steps.rule.every and (steps.rule.l1 > 0.0 or steps.rule.l2 > 0.0))
    gradient_F = np.zeros(len(learned.sparse_F) if steps.curvature or whole else 0)
    # If members are sampled, nothing can be looked up in advance.
    crosses = len(candidates.context_offsets_I1) > 0 and steps.use_sparse and steps.negatives == 0
    owned_pairs = crossed_room(order_I if crosses else order_I[:0], candidates)
    pairs = lent(owned_pairs)
    for place in range(-1, len(order_I)):
        _fetch_ahead(order_I, place, candidates, learned, steps)
        if crosses and place + 1 < len(order_I):
            look_up((pairs, (place + 1) % 2), order_I[place + 1], candidates, learned.sparse_F)
        if place < 0:
            continue
        i, here = order_I[place], (pairs, place % 2)
        first, last = bounds(candidates.candidate_offsets_I1, i)
        size = _members(candidates, first, last, room)
        if 0 < steps.negatives < size - 1:
            size = _drawn(size, steps.negatives, room, state)
        for positive in range(first, last):
            if candidates.gain_C[positive] <= 0:
                continue
            room.member_X[0] = positive
            begin_step(learned, steps.rule)
            _score(i, size, room, here, candidates, learned, steps)
            loss += slope(room.score_X, room.gain_X, room.slope_X, size, steps.numbers, state)
            if steps.curvature:
                curvature += _curvature(i, room, size, candidates, steps.rule, gradient_F)
            if whole:
                _move_by_gradient(i, room, size, candidates, learned, steps.rule, gradient_F)
            else:
                _move(i, size, room, here, candidates, learned, steps.rule)
    # Keeps what was lent alive until here.
    return loss, curvature + 0.0 * (len(owned.member_X) + len(owned_pairs.slot_H))


@inlined
def _members(candidates: CandidateArrays, first: int, last: int, room: Room) -> int:
    """Writes the members: a place for one true candidate, then those that are not true."""
    size = 1
    room.gain_X[0] = 1.0
    for c in range(first, last):
        if candidates.gain_C[c] <= 0:
            room.member_X[size], room.gain_X[size] = c, 0.0
            size += 1
    return size


@loop
def _drawn(size: int, negatives: int, room: Room, state: Uints) -> int:
    """Keeps `negatives` of the members after the first, sampled without replacement; gains are what each represents.

    All are equally likely to be kept, so the mean of a sum over them, times their number, equals that over all.
    """
    others = size - 1
    for x in range(1, negatives + 1):
        taken = x + draw(state, size - x)
        room.member_X[x], room.member_X[taken] = room.member_X[taken], room.member_X[x]
        room.gain_X[x] = -others / negatives
    return negatives + 1


@inlined
def _score(
    i: int,
    size: int,
    room: Room,
    here: tuple[Crossed, int],
    candidates: CandidateArrays,
    learned: Learned,
    steps: Steps,
) -> None:
    """Writes the scores of the members of instance i, whose pairs are `here` if it has been looked up."""
    pairs, turn = here
    if len(pairs.value_K) > 0:
        if steps.rule.settles:
            for y in range(pairs.size_R2[turn, 0] * pairs.size_R2[turn, 1]):
                settle(learned, steps.rule, pairs.feature_RY[turn, y])
        score_ids(here, learned.sparse_F)
        for x in range(size):
            room.score_X[x] = crossed_score(here, i, room.member_X[x], candidates, learned.dense_D)
        return
    if steps.rule.settles:
        begin, end = context_of(i, candidates)
        for x in range(size):
            c = room.member_X[x]
            for n in places(candidates.part_id_offsets_P1, c):
                for y in range(begin, end):
                    settle(learned, steps.rule, feature_of(n, y, candidates, len(learned.sparse_F)))
    for x in range(size):
        c = room.member_X[x]
        room.score_X[x] = plain_score(i, c, candidates, learned.dense_D, learned.sparse_F, steps.use_sparse)


@inlined
def _move(
    i: int,
    size: int,
    room: Room,
    here: tuple[Crossed, int],
    candidates: CandidateArrays,
    learned: Learned,
    rule: Rule,
) -> None:
    """Moves the weights of the members of instance i by plain steps, one after another."""
    crosses, moves_dense = len(here[0].value_K) > 0, False
    # Not asked at every id, which makes a pass about a sixth slower.
    valued, (begin, end) = len(candidates.part_values_N) > 0, context_of(i, candidates)
    for d in range(len(rule.eta_D)):
        moves_dense = moves_dense or rule.eta_D[d] != 0.0
    for x in range(size):
        c, slope = room.member_X[x], room.slope_X[x]
        if slope == 0.0:
            continue
        if moves_dense:
            for d in range(len(rule.eta_D)):
                move_dense(learned, rule, d, slope, np.float64(candidates.dense_CD[c, d]))
        if rule.eta != 0.0 and not crosses:
            for n in places(candidates.part_id_offsets_P1, c):
                value = np.float64(candidates.part_values_N[n]) if valued else 1.0
                for y in range(begin, end):
                    move_sparse(learned, rule, feature_of(n, y, candidates, len(learned.sparse_F)), slope * value)
    if rule.eta != 0.0 and crosses:
        move_ids(here, i, (room.member_X, room.slope_X, size), candidates, learned.sparse_F, rule.eta)


@inner
def _move_by_gradient(
    i: int, room: Room, size: int, candidates: CandidateArrays, learned: Learned, rule: Rule, gradient_F: Floats
) -> None:
    """Moves each weight once, by the whole gradient of the step; `gradient_F` is zero before and after."""
    for d in range(len(rule.eta_D)):
        uphill = 0.0
        for x in range(size):
            uphill += room.slope_X[x] * candidates.dense_CD[room.member_X[x], d]
        if uphill != 0.0:
            move_dense(learned, rule, d, uphill, 1.0)
    if rule.eta == 0.0:
        return
    add_gradient(i, room, size, candidates, gradient_F)
    move_touched(i, room, size, candidates, learned, rule, gradient_F)


@inner
def move_touched(
    i: int, room: Room, size: int, candidates: CandidateArrays, learned: Learned, rule: Rule, gradient_F: Floats
) -> None:
    """Moves the sparse weights of the members of instance i whose gradient is not 0, and sets it to 0."""
    begin, end = context_of(i, candidates)
    for place in range(size):
        c = room.member_X[place]
        for n in places(candidates.part_id_offsets_P1, c):
            for x in range(begin, end):
                f = feature_of(n, x, candidates, len(gradient_F))
                if gradient_F[f] != 0.0:
                    move_sparse(learned, rule, f, gradient_F[f])
                    gradient_F[f] = 0.0


@inner
def add_gradient(i: int, room: Room, size: int, candidates: CandidateArrays, gradient_F: Floats) -> None:
    """Adds the slopes of the members of instance i to the weights of their ids."""
    begin, end = context_of(i, candidates)
    for place in range(size):
        c, slope = room.member_X[place], room.slope_X[place]
        for n in places(candidates.part_id_offsets_P1, c):
            value = value_of(n, candidates)
            for x in range(begin, end):
                gradient_F[feature_of(n, x, candidates, len(gradient_F))] += slope * value


@inner
def _curvature(i: int, room: Room, size: int, candidates: CandidateArrays, rule: Rule, gradient_F: Floats) -> float:
    """Σ_k η_k g_k² of one step; `gradient_F` is zero before and after."""
    total = 0.0
    for d in range(len(rule.eta_D)):
        gradient = 0.0
        for x in range(size):
            gradient += room.slope_X[x] * candidates.dense_CD[room.member_X[x], d]
        total += rule.eta_D[d] * gradient * gradient
    add_gradient(i, room, size, candidates, gradient_F)
    begin, end = context_of(i, candidates)
    for place in range(size):
        c = room.member_X[place]
        for n in places(candidates.part_id_offsets_P1, c):
            for x in range(begin, end):
                feature = feature_of(n, x, candidates, len(gradient_F))
                total += rule.eta * gradient_F[feature] * gradient_F[feature]
                gradient_F[feature] = 0.0
    return total


@inlined
def _fetch_ahead(order_I: Ints, place: int, candidates: CandidateArrays, learned: Learned, steps: Steps) -> None:
    """Prefetches later instances: they come in random order, so each would wait for memory several times."""
    size, crosses = len(order_I), len(candidates.context_offsets_I1) > 0
    if place + 16 < size:
        prefetch(candidates.candidate_offsets_I1, order_I[place + 16])
    if place + 8 < size:
        first = candidates.candidate_offsets_I1[order_I[place + 8]]
        last = candidates.candidate_offsets_I1[order_I[place + 8] + 1]
        prefetch(candidates.gain_C, first)
        prefetch(candidates.part_id_offsets_P1, first)
        prefetch(candidates.part_id_offsets_P1, last)
        width = candidates.dense_CD.shape[1]
        for at in range(first * width, last * width, 16):
            prefetch(candidates.dense_CD, at)
    if steps.use_sparse and place + 5 < size:
        i = order_I[place + 5]
        first = candidates.part_id_offsets_P1[candidates.candidate_offsets_I1[i]]
        last = candidates.part_id_offsets_P1[candidates.candidate_offsets_I1[i + 1]]
        for at in range(first, last, 16):
            prefetch(candidates.part_ids_N, at)
    if steps.use_sparse and crosses and place + 3 < size:
        prefetch(candidates.contexts_X, candidates.context_offsets_I1[order_I[place + 3]])
    if steps.use_sparse and not crosses and place + 2 < size:
        i = order_I[place + 2]
        first = candidates.part_id_offsets_P1[candidates.candidate_offsets_I1[i]]
        last = candidates.part_id_offsets_P1[candidates.candidate_offsets_I1[i + 1]]
        for n in range(first, last):
            feature = candidates.part_ids_N[n]
            prefetch(learned.sparse_F, feature)
            if steps.rule.settles:
                prefetch(learned.touched_F, feature)
                prefetch(learned.sparse_sum_F, feature)


@loop
def prediction_errors(
    order_I: Ints,
    candidates: CandidateArrays,
    dense_D: Floats,
    sparse_F: Floats,
    use_sparse: bool,
    numbers: Floats,
    slope: Any,
) -> tuple[int, float, int]:
    """How many instances have a negative at the top (ties are errors), the summed loss of true candidates, and these.

    An instance without candidates is no error; one with only negatives is. The loss is that of `slope` for each true
    candidate against all that are not true, as in training steps.
    """
    errors, loss, positives = 0, 0.0, 0
    state = np.ones(1, np.uint64)
    owned = step_room(order_I, candidates.candidate_offsets_I1)
    room = lent(owned)
    for i in order_I:
        first, last = bounds(candidates.candidate_offsets_I1, i)
        size, best_true, best_false = _members(candidates, first, last, room), -np.inf, -np.inf
        for x in range(1, size):
            room.score_X[x] = plain_score(i, room.member_X[x], candidates, dense_D, sparse_F, use_sparse)
            best_false = max(best_false, room.score_X[x])
        for c in range(first, last):
            if candidates.gain_C[c] > 0:
                room.score_X[0] = plain_score(i, c, candidates, dense_D, sparse_F, use_sparse)
                best_true = max(best_true, room.score_X[0])
                loss += slope(room.score_X, room.gain_X, room.slope_X, size, numbers, state)
                positives += 1
        if best_false > -np.inf and best_false >= best_true:
            errors += 1
    # Keeps what was lent alive until here.
    return errors, loss + 0.0 * len(owned.member_X), positives
