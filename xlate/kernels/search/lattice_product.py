"""The product of a lattice with an automaton over the labels of its arcs: paths stay, nodes learn of their past."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Ints, Ints32
from xlate.compiled import inlined, loop
from xlate.kernels.search.lattice_passes import ArcGraph

DEAD = -1


class ArcProduct(NamedTuple):
    """The B arcs of a product: `arc_B` is the arc of the lattice, `state_B` the automaton's state before it."""

    graph: ArcGraph
    arc_B: Ints32
    state_B: Ints32


@loop
def product(graph: ArcGraph, label_A: Ints32, next_SL: Ints32, accepting_S: Bools) -> ArcProduct:
    """Pairs every node with the states that an automaton, in state 0 at the start, may be in there.

    Args:
        graph: the lattice.
        label_A: what the automaton reads of each arc.
        next_SL: its next state by state and label, `DEAD` where it ends.
        accepting_S: states in which the goal may be reached; there they become one.

    Nodes without a way to the goal may remain.
    """
    offsets_N1 = np.searchsorted(graph.source_A, np.arange(graph.nodes + 1))
    number_NS = _number_pairs(graph, offsets_N1, label_A, next_SL)
    size = 0
    for node in range(graph.nodes - 1):
        for state in range(len(next_SL)):
            if number_NS[node, state] >= 0:
                size += offsets_N1[node + 1] - offsets_N1[node]
    source_B, target_B = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    arc_B, state_B = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    at = 0
    for node in range(graph.nodes - 1):
        for state in range(len(next_SL)):
            if number_NS[node, state] < 0:
                continue
            for arc in range(offsets_N1[node], offsets_N1[node + 1]):
                target = _target(graph, arc, next_SL[state, label_A[arc]], accepting_S, number_NS)
                if target >= 0:
                    source_B[at], target_B[at] = number_NS[node, state], target
                    arc_B[at], state_B[at] = arc, state
                    at += 1
    nodes = number_NS[graph.nodes - 1, 0] + 1
    return ArcProduct(ArcGraph(source_B[:at], target_B[:at], nodes), arc_B[:at], state_B[:at])


@loop
def _number_pairs(graph: ArcGraph, offsets_N1: Ints, label_A: Ints32, next_SL: Ints32) -> Ints32:
    """Numbers of the pairs that can be reached, node by node, so in topological order; -1 for the others."""
    number_NS = np.full((graph.nodes, len(next_SL)), -1, dtype=np.int32)
    number_NS[0, 0] = 0
    number_NS[graph.nodes - 1, 0] = 0
    size = 0
    for node in range(graph.nodes):
        for state in range(len(next_SL)):
            if number_NS[node, state] < 0:
                continue
            number_NS[node, state] = size
            size += 1
            for arc in range(offsets_N1[node], offsets_N1[node + 1]):
                behind = next_SL[state, label_A[arc]]
                if behind != DEAD and graph.target_A[arc] < graph.nodes - 1:
                    number_NS[graph.target_A[arc], behind] = 0
    return number_NS


@inlined
def _target(graph: ArcGraph, arc: int, behind: int, accepting_S: Bools, number_NS: Ints32) -> int:
    """The pair that an arc leads to, -1 when there is none."""
    target = graph.target_A[arc]
    if behind == DEAD:
        return -1
    if target == graph.nodes - 1:
        return int(number_NS[target, 0]) if accepting_S[behind] else -1
    return int(number_NS[target, behind])
