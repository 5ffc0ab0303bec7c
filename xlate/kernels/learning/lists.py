"""Passes over lists of candidates that share parts: a part is scored once, and its slope spread over its ids once.

A part's ids come once for all candidates that hold it, so a list of 100 candidates of 9 parts each costs as many
weights as its 100 to 200 different parts have ids, not 900 times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import Floats, Floats32, Ints, Uints
from xlate.compiled import embedded, lent, loop
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.scores import best_of_list, largest, score_list
from xlate.kernels.learning.updates import Learned, Rule, begin_step, move_dense, move_sparse, settle


class ListSteps(NamedTuple):
    """Which loss a pass steps down, and how.

    Attributes:
        numbers: the settings of the loss, as its slope takes them.
        rule: how a step is made of slopes.
        batch: lists per step; their gradients are averaged.
    """

    numbers: Floats
    rule: Rule
    batch: int


class ListRoom(NamedTuple):
    """Room for one list's parts and candidates, for the slopes of a batch's parts, and the random numbers' state."""

    part_score: Floats
    part_slope: Floats
    score_X: Floats
    gain_X: Floats32
    slope_X: Floats
    dense_slope_D: Floats
    state: Uints


@loop
def list_room(lists: CandidateArrays, batch: int) -> ListRoom:
    """Enough room for the `batch` largest lists."""
    parts, size = largest(lists)
    return ListRoom(
        np.empty(parts),
        np.empty(parts * batch),
        np.empty(size),
        np.empty(size, np.float32),
        np.empty(size),
        np.zeros(lists.dense_CD.shape[1]),
        np.zeros(1, dtype=np.uint64),
    )


@loop
def list_pass(
    order_I: Ints, lists: CandidateArrays, learned: Learned, steps: ListSteps, room: ListRoom, slope: Any
) -> float:
    """Steps through lists in a given order, `batch` lists per step; returns the sum of the losses met on the way."""
    lists, learned, steps, room = lent(lists), lent(learned), lent(steps), lent(room)
    loss, size = 0.0, len(room.part_score)
    for start in range(0, len(order_I), steps.batch):
        end = min(start + steps.batch, len(order_I))
        begin_step(learned, steps.rule)
        room.dense_slope_D[:] = 0.0
        for at in range(start, end):
            i = order_I[at]
            if steps.rule.settles:
                settle_list(lists, learned, steps.rule, i)
            score_list(i, lists, learned.dense_D, learned.sparse_F, room.part_score, room.score_X)
            loss += list_slopes(lists, steps.numbers, room, slope, i)
            spread_slopes(lists, room, i, (at - start) * size)
        for d in range(len(learned.dense_D)):
            move_dense(learned, steps.rule, d, room.dense_slope_D[d] * (1.0 / (end - start)), 1.0)
        for at in range(start, end):
            move_parts(lists, learned, steps.rule, room, order_I[at], (at - start) * size, 1.0 / (end - start))
    return loss


@loop
def list_losses(
    order_I: Ints, lists: CandidateArrays, learned: Learned, numbers: Floats, room: ListRoom, slope: Any, best_I: Ints
) -> float:
    """The sum of the losses of some lists as weights stand; writes the candidate of the highest score, or -1."""
    lists, learned, room, best_I = lent(lists), lent(learned), lent(room), lent(best_I)
    loss = 0.0
    for at in range(len(order_I)):
        i = order_I[at]
        score_list(i, lists, learned.dense_D, learned.sparse_F, room.part_score, room.score_X)
        loss += list_slopes(lists, numbers, room, slope, i)
        best_I[at] = best_of_list(lists, room.score_X, i)
    return loss


@embedded
def list_slopes(lists: CandidateArrays, numbers: Floats, room: ListRoom, slope: Any, i: int) -> float:
    """The loss of a list, 0 of an empty one; the slopes of its candidates are in the room."""
    begin, size = lists.candidate_offsets_I1[i], lists.candidate_offsets_I1[i + 1] - lists.candidate_offsets_I1[i]
    if size == 0:
        return 0.0
    for x in range(size):
        room.gain_X[x] = lists.gain_C[begin + x]
    return float(slope(room.score_X, room.gain_X, room.slope_X, size, numbers, room.state))


@embedded
def spread_slopes(lists: CandidateArrays, room: ListRoom, i: int, offset: int) -> None:
    """The slope of a part is the sum of those of the candidates that hold it, as often as they hold it."""
    for part in range(lists.part_offsets_I1[i + 1] - lists.part_offsets_I1[i]):
        room.part_slope[offset + part] = 0.0
    begin = lists.candidate_offsets_I1[i]
    for c in range(begin, lists.candidate_offsets_I1[i + 1]):
        slope = room.slope_X[c - begin]
        if slope != 0.0:
            for k in range(lists.candidate_part_offsets_C1[c], lists.candidate_part_offsets_C1[c + 1]):
                room.part_slope[offset + lists.candidate_parts_K[k]] += slope
            for d in range(len(room.dense_slope_D)):
                room.dense_slope_D[d] += slope * lists.dense_CD[c, d]


@embedded
def move_parts(
    lists: CandidateArrays, learned: Learned, rule: Rule, room: ListRoom, i: int, offset: int, share: float
) -> None:
    """Moves the weights of every part uphill."""
    first, valued = lists.part_offsets_I1[i], len(lists.part_values_N) > 0
    for part in range(first, lists.part_offsets_I1[i + 1]):
        slope = room.part_slope[offset + part - first] * share
        if slope == 0.0:
            continue
        begin, end = lists.part_id_offsets_P1[part], lists.part_id_offsets_P1[part + 1]
        # Two loops, so that there is no choice at every id.
        if valued:
            for n in range(begin, end):
                move_sparse(learned, rule, lists.part_ids_N[n], slope * np.float64(lists.part_values_N[n]))
        else:
            for n in range(begin, end):
                move_sparse(learned, rule, lists.part_ids_N[n], slope)


@loop
def settle_list(lists: CandidateArrays, learned: Learned, rule: Rule, i: int) -> None:
    """Settles all weights that a list looks at."""
    for part in range(lists.part_offsets_I1[i], lists.part_offsets_I1[i + 1]):
        for n in range(lists.part_id_offsets_P1[part], lists.part_id_offsets_P1[part + 1]):
            settle(learned, rule, lists.part_ids_N[n])


@loop
def begin_list(lists: CandidateArrays, learned: Learned, rule: Rule, room: ListRoom) -> None:
    """Counts a step, and writes the scores of the candidates of the one list into the room."""
    lists, learned, room = lent(lists), lent(learned), lent(room)
    begin_step(learned, rule)
    if rule.settles:
        settle_list(lists, learned, rule, 0)
    score_list(0, lists, learned.dense_D, learned.sparse_F, room.part_score, room.score_X)


@loop
def step_list(lists: CandidateArrays, learned: Learned, rule: Rule, room: ListRoom) -> None:
    """Moves the weights along the slopes of the candidates' scores that are in the room."""
    lists, learned, room = lent(lists), lent(learned), lent(room)
    room.dense_slope_D[:] = 0.0
    spread_slopes(lists, room, 0, 0)
    for d in range(len(learned.dense_D)):
        move_dense(learned, rule, d, room.dense_slope_D[d], 1.0)
    move_parts(lists, learned, rule, room, 0, 0, 1.0)


@loop
def slopes_of_list(
    score_C: Floats, gain_C: Floats32, numbers: Floats, state: Uints, slope: Any
) -> tuple[float, Floats]:
    """The loss of a list, and minus its derivative by each score."""
    slope_C = np.zeros(len(score_C))
    return float(slope(score_C, gain_C, slope_C, len(score_C), numbers, state)), slope_C
