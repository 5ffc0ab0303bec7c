"""A pass over lists whose parts are predicted: a part is a candidate of an instance, and scores the log of its chance.

A phrase in its sentence is one of the translations that a classifier chooses among there. ln p of it changes with the
weights of the classifier, and its slope runs over all translations of the phrase, those that are in no hypothesis too:
the slope g of a part's ln p is g · (1[c = chosen] - p_c) for the score of translation c (`losses/` says g, the slope of
each hypothesis). Scores of parts are computed anew for each list; a step moves each weight once, by its whole gradient.
`tests/scoring/predicted_scorer.py` is the reference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, Bools, Floats, Ints
from xlate.compiled import lent, loop
from xlate.kernels.learning.candidates import CandidateArrays, plain_score
from xlate.kernels.learning.instances import Room, add_gradient, move_touched, step_room
from xlate.kernels.learning.lists import ListRoom, ListSteps, list_room, list_slopes, spread_slopes
from xlate.kernels.learning.scores import add_parts, best_of_list
from xlate.kernels.learning.slopes import log_chances
from xlate.kernels.learning.updates import Learned, Rule, begin_step

# Slopes of all translations of a phrase together below which nothing moves: steps by AdaGrad are of a size that
# roundings should not decide, and where every hypothesis has the same translation there is nothing else.
SMALLEST = 1e-10


class PredictedParts(NamedTuple):
    """What the P parts of lists are among the candidates of S spans.

    Attributes:
        spans: instances with contexts; `base_C` holds scores that weights are added to.
        span_offsets_I1: the spans of each list.
        choice_P: the candidate that each part is, -1 where nothing is predicted of it.
        start_P: ln p of each part that counts already in the scores of the lists; anything where there is no choice.
        weight: of ln p in the score of a part.
        alone: each candidate is judged by itself, by a logistic function; else all of a span together, by softmax.
    """

    spans: CandidateArrays
    span_offsets_I1: Ints
    choice_P: Ints
    start_P: Floats
    weight: float
    alone: bool


class PredictedRoom(NamedTuple):
    """Room for a list, for ln p of the candidates of its spans, and for the gradient of a step, which is zero between.

    `span_slope_X` are slopes of ln p and then of scores, `moved_S` says which spans a step moves.
    """

    lists: ListRoom
    log_X: Floats
    span_slope_X: Floats
    members: Room
    gradient_F: Floats
    moved_S: Bools


@loop
def predicted_room(lists: CandidateArrays, parts: PredictedParts, size: int) -> PredictedRoom:
    """Room enough for every list, with a gradient of `size` weights."""
    most = 0
    offsets_S1 = parts.spans.candidate_offsets_I1
    for i in range(len(parts.span_offsets_I1) - 1):
        most = max(most, offsets_S1[parts.span_offsets_I1[i + 1]] - offsets_S1[parts.span_offsets_I1[i]])
    spans = len(offsets_S1) - 1
    members, moved_S = step_room(np.arange(spans), offsets_S1), np.zeros(spans, np.bool_)
    return PredictedRoom(list_room(lists, 1), np.empty(most), np.empty(most), members, np.zeros(size), moved_S)


@loop
def predicted_pass(
    order_I: Ints,
    lists: CandidateArrays,
    parts: PredictedParts,
    learned: Learned,
    steps: ListSteps,
    room: PredictedRoom,
    slope: Any,
) -> float:
    """Steps through lists in a given order, `batch` lists per step; returns the sum of the losses met on the way."""
    order_I, lists, parts, learned = lent(order_I), lent(lists), lent(parts), lent(learned)
    steps, room = lent(steps), lent(room)
    loss = 0.0
    for start in range(0, len(order_I), steps.batch):
        end = min(start + steps.batch, len(order_I))
        begin_step(learned, steps.rule)
        for at in range(start, end):
            i = order_I[at]
            _score(i, lists, parts, learned, room)
            loss += list_slopes(lists, steps.numbers, room.lists, slope, i)
            spread_slopes(lists, room.lists, i, 0)
            _add_list(i, lists, parts, room, 1.0 / (end - start))
        for at in range(start, end):
            _move_list(order_I[at], parts, learned, steps.rule, room)
    return loss


@loop
def predicted_losses(
    order_I: Ints,
    lists: CandidateArrays,
    parts: PredictedParts,
    learned: Learned,
    numbers: Floats,
    room: PredictedRoom,
    slope: Any,
    best_I: Ints,
) -> float:
    """The sum of the losses of some lists as weights stand; writes the candidate of the highest score, or -1."""
    lists, parts, learned, room, best_I = lent(lists), lent(parts), lent(learned), lent(room), lent(best_I)
    loss = 0.0
    for at in range(len(order_I)):
        _score(order_I[at], lists, parts, learned, room)
        loss += list_slopes(lists, numbers, room.lists, slope, order_I[at])
        best_I[at] = best_of_list(lists, room.lists.score_X, order_I[at])
    return loss


@loop
def span_logs(spans: CandidateArrays, dense_D: Floats, alone: bool) -> Floats:
    """ln p of the candidates of all spans as long as no weight counts, (C,)."""
    log_C, sparse_F = np.empty(len(spans.dense_CD)), np.zeros(1)
    for s in range(len(spans.candidate_offsets_I1) - 1):
        _span_logs(s, spans, dense_D, sparse_F, False, alone, log_C, 0)
    return log_C


@loop
def _span_logs(
    s: int,
    spans: CandidateArrays,
    dense_D: Floats,
    sparse_F: AnyFloats,
    use_sparse: bool,
    alone: bool,
    log_X: Floats,
    begin: int,
) -> None:
    """Writes ln p of the candidates of a span; that of candidate c to place c - `begin`."""
    first, last = spans.candidate_offsets_I1[s], spans.candidate_offsets_I1[s + 1]
    for c in range(first, last):
        log_X[c - begin] = plain_score(s, c, spans, dense_D, sparse_F, use_sparse)
    if last > first:
        log_chances(log_X, first - begin, last - begin, alone)


@loop
def _score(i: int, lists: CandidateArrays, parts: PredictedParts, learned: Learned, room: PredictedRoom) -> None:
    """Predicts the spans of list i, and scores its parts and candidates."""
    spans, first_s, last_s = parts.spans, parts.span_offsets_I1[i], parts.span_offsets_I1[i + 1]
    begin = spans.candidate_offsets_I1[first_s]
    for s in range(first_s, last_s):
        _span_logs(s, spans, learned.dense_D, learned.sparse_F, True, parts.alone, room.log_X, begin)
    first = lists.part_offsets_I1[i]
    for part in range(first, lists.part_offsets_I1[i + 1]):
        c = parts.choice_P[part]
        change = room.log_X[c - begin] - parts.start_P[part] if c >= 0 else 0.0
        room.lists.part_score[part - first] = parts.weight * change
    add_parts(i, lists, learned.dense_D, room.lists.part_score, True, room.lists.score_X)


@loop
def _add_list(i: int, lists: CandidateArrays, parts: PredictedParts, room: PredictedRoom, share: float) -> None:
    """Adds a share of the slopes of list i, which are spread over its parts, to the gradient."""
    spans, first_s, last_s = parts.spans, parts.span_offsets_I1[i], parts.span_offsets_I1[i + 1]
    begin, end = spans.candidate_offsets_I1[first_s], spans.candidate_offsets_I1[last_s]
    room.span_slope_X[: end - begin] = 0.0
    first = lists.part_offsets_I1[i]
    for part in range(first, lists.part_offsets_I1[i + 1]):
        if parts.choice_P[part] >= 0:
            slope = room.lists.part_slope[part - first] * parts.weight * share
            room.span_slope_X[parts.choice_P[part] - begin] += slope
    for s in range(first_s, last_s):
        from_c, to_c = spans.candidate_offsets_I1[s], spans.candidate_offsets_I1[s + 1]
        total, size = 0.0, 0.0
        for c in range(from_c, to_c):
            total += room.span_slope_X[c - begin]
            size += abs(room.span_slope_X[c - begin])
        room.moved_S[s] = size > SMALLEST
        if room.moved_S[s]:
            for c in range(from_c, to_c):
                slope = room.span_slope_X[c - begin]
                less = slope if parts.alone else total
                room.members.member_X[c - from_c] = c
                room.members.slope_X[c - from_c] = slope - np.exp(room.log_X[c - begin]) * less
            add_gradient(s, room.members, to_c - from_c, spans, room.gradient_F)


@loop
def _move_list(i: int, parts: PredictedParts, learned: Learned, rule: Rule, room: PredictedRoom) -> None:
    """Moves the weights that list i looks at by their gradient, and sets it to 0."""
    for s in range(parts.span_offsets_I1[i], parts.span_offsets_I1[i + 1]):
        if room.moved_S[s]:
            from_c, to_c = parts.spans.candidate_offsets_I1[s], parts.spans.candidate_offsets_I1[s + 1]
            for c in range(from_c, to_c):
                room.members.member_X[c - from_c] = c
            move_touched(s, room.members, to_c - from_c, parts.spans, learned, rule, room.gradient_F)
