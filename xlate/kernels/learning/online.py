"""One list, one step: its scores under the weights of the moment, then a step when the slopes of these are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from xlate.array_types import Floats, Floats32, Uints
from xlate.compiled import lent, loop
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.lists import ListRoom, move_parts, settle_list, spread_slopes
from xlate.kernels.learning.scores import score_list
from xlate.kernels.learning.updates import Learned, Rule, begin_step, move_dense


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
def list_slopes(score_C: Floats, gain_C: Floats32, numbers: Floats, state: Uints, slope: Any) -> tuple[float, Floats]:
    """The loss of a list, and minus its derivative by each score."""
    slope_C = np.zeros(len(score_C))
    return float(slope(score_C, gain_C, slope_C, len(score_C), numbers, state)), slope_C
