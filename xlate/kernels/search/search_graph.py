"""Passes over the arcs of a search graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.compiled import loop


class GraphArcs(NamedTuple):
    """A arcs between so many nodes, each before those that leave its target; node 0 is the start, goal -1 is none."""

    source_A: Ints32
    target_A: Ints32
    label_A: Ints32
    score_A: Floats
    goal: int
    nodes: int


@loop
def leaving(source_A: Ints32, target_A: Ints32, reached_N: Floats) -> tuple[Ints, Ints32]:
    """The arcs that leave each node for one whose number in `reached_N` is not minus infinity: offsets (N+1), arcs."""
    offsets_N1 = np.zeros(len(reached_N) + 1, dtype=np.int64)
    for arc in range(len(source_A)):
        if reached_N[target_A[arc]] > -np.inf:
            offsets_N1[source_A[arc] + 1] += 1
    for node in range(len(reached_N)):
        offsets_N1[node + 1] += offsets_N1[node]
    place_N, order_A = offsets_N1[:-1].copy(), np.empty(offsets_N1[-1], dtype=np.int32)
    for arc in range(len(source_A)):
        if reached_N[target_A[arc]] > -np.inf:
            at = place_N[source_A[arc]]
            place_N[source_A[arc]] = at + 1
            order_A[at] = arc
    return offsets_N1, order_A


@loop
def completion_scores(source_A: Ints32, target_A: Ints32, score_A: Floats, goal: int, nodes: int) -> Floats:
    """The best score from each node to the goal, minus infinity where it cannot be reached; shape (nodes,).

    Arcs must be in an order where every arc stands before the arcs that leave its target.
    """
    best_N = np.full(nodes, -np.inf)
    if goal >= 0:
        best_N[goal] = 0.0
    for arc in range(len(source_A) - 1, -1, -1):
        through = score_A[arc] + best_N[target_A[arc]]
        if through > best_N[source_A[arc]]:
            best_N[source_A[arc]] = through
    return best_N
