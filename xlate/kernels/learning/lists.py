"""Passes over lists of candidates that share parts: each part is scored once, and its slope spread over its ids once.

A part's ids are stored once for all candidates that contain it. A list of 100 candidates of 9 parts each thus needs as
many weights as its 100 to 200 different parts have ids, not those of 900 parts.

Parts may be predicted: a part is then a candidate of an instance, and its score is its log probability. For example, a
classifier chooses among the translations of a phrase in its sentence. ln p changes with the weights of the classifier,
and its slope involves all translations of the phrase, including those in no hypothesis: a slope g of a part's ln p
gives the score of translation c the slope g · (1[c = chosen] - p_c) (`losses/` defines g, the slope of each
hypothesis). Scores of parts are recomputed for each list; a step moves each weight once, by its whole gradient.
`tests/scoring/predicted_scorer.py` is the reference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats, Floats32, Ints, Uints
from xlate.compiled import embedded, inner, lent, loop
from xlate.kernels.learning.candidates import CandidateArrays, plain_score
from xlate.kernels.learning.instances import Room, add_gradient, move_touched, step_room
from xlate.kernels.learning.scores import add_parts, best_of_list, largest, score_list
from xlate.kernels.learning.slopes import Learned, Rule, Steps, begin_step, log_chances, move_dense, move_sparse, settle
from xlate.kernels.memory import bounds, places


class ListRoom(NamedTuple):
    """Room for one list's parts and candidates, for the slopes of a batch's parts, and for the random number state."""

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
        np.zeros(1, np.uint64),
    )


@loop
def list_pass(
    order_I: Ints,
    lists: CandidateArrays,
    learned: Learned,
    steps: Steps,
    room: ListRoom,
    slope: Any,
    predicted: Predicted | None,
) -> float:
    """Steps through lists in a given order, `batch` per step; returns the sum of their losses before each step."""
    # Whether parts are predicted is known when this is compiled, so nothing is asked at run time.
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
            _score(i, lists, learned, room, lent(predicted))
            loss += list_slopes(lists, steps.numbers, room, slope, i)
            spread_slopes(lists, room, i, (at - start) * size)
            if predicted is not None:
                _add_list(i, lists, room, (at - start) * size, 1.0 / (end - start), lent(predicted))
        for d in range(len(learned.dense_D)):
            move_dense(learned, steps.rule, d, room.dense_slope_D[d] * (1.0 / (end - start)), 1.0)
        for at in range(start, end):
            if predicted is None:
                move_parts(lists, learned, steps.rule, room, order_I[at], (at - start) * size, 1.0 / (end - start))
            else:
                _move_list(order_I[at], learned, steps.rule, lent(predicted))
    return loss


@loop
def list_losses(
    order_I: Ints,
    lists: CandidateArrays,
    learned: Learned,
    numbers: Floats,
    room: ListRoom,
    slope: Any,
    best_I: Ints,
    predicted: Predicted | None,
) -> float:
    """The sum of the losses of some lists under the current weights; writes the highest-scoring candidate, or -1."""
    lists, learned, room, best_I = lent(lists), lent(learned), lent(room), lent(best_I)
    loss = 0.0
    for at in range(len(order_I)):
        i = order_I[at]
        _score(i, lists, learned, room, lent(predicted))
        loss += list_slopes(lists, numbers, room, slope, i)
        best_I[at] = best_of_list(lists, room.score_X, i)
    return loss


@embedded
def _score(i: int, lists: CandidateArrays, learned: Learned, room: ListRoom, predicted: Predicted | None) -> None:
    """Scores the parts and candidates of list i."""
    if predicted is None:
        score_list(i, lists, learned.dense_D, learned.sparse_F, room.part_score, room.score_X)
    else:
        _predict(i, lists, learned, room, predicted)
        add_parts(i, lists, learned.dense_D, room.part_score, True, room.score_X)


@embedded
def list_slopes(lists: CandidateArrays, numbers: Floats, room: ListRoom, slope: Any, i: int) -> float:
    """The loss of a list, 0 if it is empty; leaves the slopes of its candidates in the room."""
    begin, end = bounds(lists.candidate_offsets_I1, i)
    size = end - begin
    if size == 0:
        return 0.0
    for x in range(size):
        room.gain_X[x] = lists.gain_C[begin + x]
    return float(slope(room.score_X, room.gain_X, room.slope_X, size, numbers, room.state))


@embedded
def spread_slopes(lists: CandidateArrays, room: ListRoom, i: int, offset: int) -> None:
    """Adds up the slope of each part: the sum over the candidates that contain it, as often as they contain it."""
    for part in range(lists.part_offsets_I1[i + 1] - lists.part_offsets_I1[i]):
        room.part_slope[offset + part] = 0.0
    begin = lists.candidate_offsets_I1[i]
    for c in range(begin, lists.candidate_offsets_I1[i + 1]):
        slope = room.slope_X[c - begin]
        if slope != 0.0:
            for k in places(lists.candidate_part_offsets_C1, c):
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
        begin, end = bounds(lists.part_id_offsets_P1, part)
        # Two loops avoid a branch at every id.
        if valued:
            for n in range(begin, end):
                move_sparse(learned, rule, lists.part_ids_N[n], slope * np.float64(lists.part_values_N[n]))
        else:
            for n in range(begin, end):
                move_sparse(learned, rule, lists.part_ids_N[n], slope)


@inner
def settle_list(lists: CandidateArrays, learned: Learned, rule: Rule, i: int) -> None:
    """Settles all weights that a list uses."""
    for part in places(lists.part_offsets_I1, i):
        for n in places(lists.part_id_offsets_P1, part):
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
    """The loss of a list, and minus its derivative with respect to each score."""
    slope_C = np.zeros(len(score_C))
    return float(slope(score_C, gain_C, slope_C, len(score_C), numbers, state)), slope_C


# If the slopes of all translations of a phrase together are below this, nothing moves: AdaGrad steps have a size that
# rounding errors should not decide, and where every hypothesis has the same translation there is nothing else.
SMALLEST = 1e-10


class PredictedParts(NamedTuple):
    """How the P parts of lists relate to the candidates of S spans.

    Attributes:
        spans: instances with contexts; `base_C` holds scores that weights are added to.
        span_offsets_I1: the spans of each list.
        choice_P: the candidate that each part is, -1 where it has no prediction.
        start_P: ln p of each part already included in the scores of the lists; arbitrary where there is no choice.
        weight: the weight of ln p in the score of a part.
        alone: judge each candidate on its own, by a logistic function; otherwise all of a span together, by softmax.
    """

    spans: CandidateArrays
    span_offsets_I1: Ints
    choice_P: Ints
    start_P: Floats
    weight: float
    alone: bool


class Predicted(NamedTuple):
    """Parts that are predicted, and room for a list of them: for ln p of its spans' candidates, and for the gradient of
    a step, which is zero between steps.

    `span_slope_X` are slopes of ln p and then of scores; `moved_S` says which spans a step moves.
    """

    parts: PredictedParts
    log_X: Floats
    span_slope_X: Floats
    members: Room
    gradient_F: Floats
    moved_S: Bools


@loop
def predicted_room(parts: PredictedParts, size: int) -> Predicted:
    """Room enough for every list, with a gradient of `size` weights."""
    most = 0
    offsets_S1 = parts.spans.candidate_offsets_I1
    for i in range(len(parts.span_offsets_I1) - 1):
        most = max(most, offsets_S1[parts.span_offsets_I1[i + 1]] - offsets_S1[parts.span_offsets_I1[i]])
    spans = len(offsets_S1) - 1
    members, moved_S = step_room(np.arange(spans), offsets_S1), np.zeros(spans, np.bool_)
    return Predicted(parts, np.empty(most), np.empty(most), members, np.zeros(size), moved_S)


@loop
def span_logs(spans: CandidateArrays, alone: bool) -> Floats:
    """ln p of the candidates of all spans when all weights are 0, by their fixed scores, (C,)."""
    log_C = spans.base_C.astype(np.float64)
    for s in range(len(spans.candidate_offsets_I1) - 1):
        first, last = bounds(spans.candidate_offsets_I1, s)
        log_chances(log_C, first, last, alone)
    return log_C


@inner
def _predict(i: int, lists: CandidateArrays, learned: Learned, room: ListRoom, predicted: Predicted) -> None:
    """Predicts the spans of list i, and scores its parts."""
    parts = predicted.parts
    spans = parts.spans
    first_s, last_s = bounds(parts.span_offsets_I1, i)
    begin = spans.candidate_offsets_I1[first_s]
    for s in range(first_s, last_s):
        from_c, to_c = bounds(spans.candidate_offsets_I1, s)
        for c in range(from_c, to_c):
            predicted.log_X[c - begin] = plain_score(s, c, spans, learned.dense_D, learned.sparse_F, True)
        log_chances(predicted.log_X, from_c - begin, to_c - begin, parts.alone)
    first = lists.part_offsets_I1[i]
    for part in range(first, lists.part_offsets_I1[i + 1]):
        c = parts.choice_P[part]
        change = predicted.log_X[c - begin] - parts.start_P[part] if c >= 0 else 0.0
        room.part_score[part - first] = parts.weight * change


@inner
def _add_list(i: int, lists: CandidateArrays, room: ListRoom, offset: int, share: float, predicted: Predicted) -> None:
    """Adds a share of the slopes of list i, spread over its parts, to the gradient."""
    parts, slope_X, members = predicted.parts, predicted.span_slope_X, predicted.members
    spans = parts.spans
    first_s, last_s = bounds(parts.span_offsets_I1, i)
    begin, end = spans.candidate_offsets_I1[first_s], spans.candidate_offsets_I1[last_s]
    slope_X[: end - begin] = 0.0
    first = lists.part_offsets_I1[i]
    for part in range(first, lists.part_offsets_I1[i + 1]):
        if parts.choice_P[part] >= 0:
            slope_X[parts.choice_P[part] - begin] += room.part_slope[offset + part - first] * parts.weight * share
    for s in range(first_s, last_s):
        from_c, to_c = bounds(spans.candidate_offsets_I1, s)
        total, size = 0.0, 0.0
        for c in range(from_c, to_c):
            total += slope_X[c - begin]
            size += abs(slope_X[c - begin])
        predicted.moved_S[s] = size > SMALLEST
        if predicted.moved_S[s]:
            for c in range(from_c, to_c):
                slope = slope_X[c - begin]
                less = slope if parts.alone else total
                members.member_X[c - from_c] = c
                members.slope_X[c - from_c] = slope - np.exp(predicted.log_X[c - begin]) * less
            add_gradient(s, members, to_c - from_c, spans, predicted.gradient_F)


@inner
def _move_list(i: int, learned: Learned, rule: Rule, predicted: Predicted) -> None:
    """Moves the weights that list i uses by their gradient, and sets it to 0."""
    parts, members = predicted.parts, predicted.members
    for s in places(parts.span_offsets_I1, i):
        if predicted.moved_S[s]:
            from_c, to_c = bounds(parts.spans.candidate_offsets_I1, s)
            for c in range(from_c, to_c):
                members.member_X[c - from_c] = c
            move_touched(s, members, to_c - from_c, parts.spans, learned, rule, predicted.gradient_F)
