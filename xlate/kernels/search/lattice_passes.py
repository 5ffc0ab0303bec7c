"""Passes over a lattice: log-sums forward and backward, arc posteriors, best paths, what is useful."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.compiled import inlined, loop


class ArcGraph(NamedTuple):
    """N nodes in topological order and A arcs between them, sorted by source, each from a lower to a higher node.

    Node 0 is the start, node N - 1 the goal; a path is a sequence of arcs from the one to the other.
    """

    source_A: Ints32
    target_A: Ints32
    nodes: int


@inlined
def _log_add(a: float, b: float) -> float:
    """ln(e^a + e^b); minus infinity is the logarithm of nothing."""
    high, low = max(a, b), min(a, b)
    if low == -np.inf:
        return high
    return float(high + np.log1p(np.exp(low - high)))


@loop
def forward_log_sums(graph: ArcGraph, score_A: Floats) -> Floats:
    """ln Σ exp score of all ways from the start to each node, minus infinity where there is none; shape (N,)."""
    sum_N = np.full(graph.nodes, -np.inf)
    sum_N[0] = 0.0
    for arc in range(len(score_A)):
        target = graph.target_A[arc]
        sum_N[target] = _log_add(sum_N[target], sum_N[graph.source_A[arc]] + score_A[arc])
    return sum_N


@loop
def backward_log_sums(graph: ArcGraph, score_A: Floats) -> Floats:
    """ln Σ exp score of all ways from each node to the goal, minus infinity where there is none; shape (N,)."""
    sum_N = np.full(graph.nodes, -np.inf)
    sum_N[graph.nodes - 1] = 0.0
    for arc in range(len(score_A) - 1, -1, -1):
        source = graph.source_A[arc]
        sum_N[source] = _log_add(sum_N[source], sum_N[graph.target_A[arc]] + score_A[arc])
    return sum_N


@loop
def arc_posteriors(graph: ArcGraph, score_A: Floats) -> tuple[float, Floats]:
    """ln Σ exp score over all paths, and the share of the paths through each arc (Baum 1972); shape (A,).

    Without any path that is minus infinity, and all shares are 0.
    """
    forward_N, backward_N = forward_log_sums(graph, score_A), backward_log_sums(graph, score_A)
    total = forward_N[graph.nodes - 1]
    posterior_A = np.zeros(len(score_A))
    if total > -np.inf:
        for arc in range(len(score_A)):
            through = forward_N[graph.source_A[arc]] + score_A[arc] + backward_N[graph.target_A[arc]]
            posterior_A[arc] = np.exp(through - total)
    return total, posterior_A


@loop
def best_path(graph: ArcGraph, score_A: Floats) -> Ints:
    """The arcs of the path of the highest score, first to last; of equal ones that of the earlier last arcs.

    Empty when there is no path, and when the start is the goal.
    """
    best_N = np.full(graph.nodes, -np.inf)
    arc_N = np.full(graph.nodes, -1, dtype=np.int64)
    best_N[0] = 0.0
    for arc in range(len(score_A)):
        target, score = graph.target_A[arc], best_N[graph.source_A[arc]] + score_A[arc]
        if score > best_N[target]:
            best_N[target], arc_N[target] = score, arc
    arcs = np.empty(graph.nodes, dtype=np.int64)
    at, node = graph.nodes, graph.nodes - 1
    while arc_N[node] >= 0:
        at -= 1
        arcs[at] = arc_N[node]
        node = graph.source_A[arc_N[node]]
    return arcs[at:] if node == 0 else arcs[:0]


@loop
def best_through(graph: ArcGraph, score_A: Floats) -> Floats:
    """The score of the best path through each arc, minus infinity where there is none; shape (A,)."""
    ahead_N, behind_N = np.full(graph.nodes, -np.inf), np.full(graph.nodes, -np.inf)
    ahead_N[0] = behind_N[graph.nodes - 1] = 0.0
    for arc in range(len(score_A)):
        source, target = graph.source_A[arc], graph.target_A[arc]
        ahead_N[target] = max(ahead_N[target], ahead_N[source] + score_A[arc])
    for arc in range(len(score_A) - 1, -1, -1):
        source, target = graph.source_A[arc], graph.target_A[arc]
        behind_N[source] = max(behind_N[source], score_A[arc] + behind_N[target])
    through_A: Floats = ahead_N[graph.source_A] + score_A + behind_N[graph.target_A]
    return through_A


@loop
def useful_arcs(graph: ArcGraph) -> Bools:
    """Which arcs lie on a path; shape (A,)."""
    ahead_N, behind_N = np.zeros(graph.nodes, dtype=np.bool_), np.zeros(graph.nodes, dtype=np.bool_)
    ahead_N[0] = behind_N[graph.nodes - 1] = True
    for arc in range(len(graph.source_A)):
        ahead_N[graph.target_A[arc]] |= ahead_N[graph.source_A[arc]]
    for arc in range(len(graph.source_A) - 1, -1, -1):
        behind_N[graph.source_A[arc]] |= behind_N[graph.target_A[arc]]
    return ahead_N[graph.source_A] & behind_N[graph.target_A]


def trimmed(graph: ArcGraph) -> tuple[ArcGraph, Ints]:
    """The graph without arcs and nodes that lie on no path, renumbered in the same order, and the arcs that stayed.

    Start and goal always stay.
    """
    kept = np.flatnonzero(useful_arcs(graph))
    source_K, target_K = graph.source_A[kept], graph.target_A[kept]
    used_N = np.zeros(graph.nodes, dtype=bool)
    used_N[[0, graph.nodes - 1]] = used_N[source_K] = used_N[target_K] = True
    number_N = (np.cumsum(used_N) - 1).astype(np.int32)
    return ArcGraph(number_N[source_K], number_N[target_K], int(used_N.sum())), kept
