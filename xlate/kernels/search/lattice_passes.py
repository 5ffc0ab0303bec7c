"""Lattices as arrays: passes over them, their product with an automaton, and what their arcs cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.compiled import inlined, loop
from xlate.kernels.features.block_features import BigramFamilies, put_bigrams
from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.search.best_paths import completion_scores
from xlate.kernels.search.spans import phrase_costs


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
    source_A, target_A = graph.source_A, graph.target_A
    ahead_N = np.full(graph.nodes, -np.inf)
    ahead_N[0] = 0.0
    for arc in range(len(score_A)):
        ahead_N[target_A[arc]] = max(ahead_N[target_A[arc]], ahead_N[source_A[arc]] + score_A[arc])
    behind_N = completion_scores(source_A, target_A, score_A, graph.nodes - 1, graph.nodes)
    through_A: Floats = ahead_N[source_A] + score_A + behind_N[target_A]
    return through_A


def trimmed(graph: ArcGraph) -> tuple[ArcGraph, Ints]:
    """The graph without arcs and nodes that lie on no path, renumbered in the same order, and the arcs that stayed.

    Start and goal always stay.
    """
    kept = np.flatnonzero(best_through(graph, np.zeros(len(graph.source_A))) > -np.inf)
    source_K, target_K = graph.source_A[kept], graph.target_A[kept]
    used_N = np.zeros(graph.nodes, dtype=bool)
    used_N[[0, graph.nodes - 1]] = used_N[source_K] = used_N[target_K] = True
    number_N = (np.cumsum(used_N) - 1).astype(np.int32)
    return ArcGraph(number_N[source_K], number_N[target_K], int(used_N.sum())), kept


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


@loop
def arc_language_costs(
    lm: NgramArrays,
    begin_state: int,
    end_word: int,
    graph: ArcGraph,
    option_A: Ints32,
    words_W: Ints32,
    offsets_O1: Ints,
) -> Floats:
    """Costs (natural logs) of the first word and of the rest of each arc's phrase after its history; shape (A, 2).

    All ways to a node must have one language model state, as the decoder's recombination sees to. Option -1 is the end
    of the sentence, one first word; it costs nothing when `end_word` is negative.
    """
    state_N = np.zeros(graph.nodes, dtype=np.int32)
    state_N[0] = begin_state
    cost_A2 = np.zeros((len(option_A), 2))
    for arc in range(len(option_A)):
        state = state_N[graph.source_A[arc]]
        if option_A[arc] >= 0:
            first, rest, behind = phrase_costs(lm, words_W, offsets_O1, option_A[arc], state)
            cost_A2[arc, 0], cost_A2[arc, 1] = first, rest
            state_N[graph.target_A[arc]] = behind
        elif end_word >= 0:
            cost_A2[arc, 0] = -step(lm, state, end_word)[0]
    return cost_A2


@loop
def arc_bigrams(families: BigramFamilies, predecessor_A: Ints32, block_A: Ints32) -> tuple[Ints, Ints32]:
    """The rows of all features of (b', b) on each arc, none where either is negative: offsets (A+1) and rows."""
    offsets_A1 = np.zeros(len(block_A) + 1, dtype=np.int64)
    ids_M = np.empty(len(block_A) * len(families.tag_A), dtype=np.int32)
    n = 0
    for arc in range(len(block_A)):
        if predecessor_A[arc] >= 0 and block_A[arc] >= 0:
            n = put_bigrams(families, predecessor_A[arc], block_A[arc], ids_M, n)
        offsets_A1[arc + 1] = n
    return offsets_A1, ids_M[:n].copy()


@loop
def live_contexts(
    graph: ArcGraph, block_A: Ints32, families: BigramFamilies, node_P: Ints32, context_P: Ints32
) -> Bools:
    """Whether any arc from a node has a feature with a given predecessor, for P pairs of node and predecessor.

    Arcs that take no feature, and predecessors that are none, are negative.
    """
    offsets_N1 = np.searchsorted(graph.source_A, np.arange(graph.nodes + 1))
    live_P = np.zeros(len(node_P), dtype=np.bool_)
    ids_N = np.empty(len(families.tag_A), dtype=np.int32)
    for pair in range(len(node_P)):
        if context_P[pair] < 0:
            continue
        for arc in range(offsets_N1[node_P[pair]], offsets_N1[node_P[pair] + 1]):
            if block_A[arc] >= 0 and put_bigrams(families, context_P[pair], block_A[arc], ids_N, 0) > 0:
                live_P[pair] = True
                break
    return live_P


@loop
def arc_prefixes(graph: ArcGraph, score_A: Floats, label_A: Ints32) -> tuple[Ints, Ints32]:
    """The labels of the best way to the source of each arc and of the arc itself: offsets (A+1) and labels.

    Labels below 0, of the end of the sentence, are left out.
    """
    score_N, length_N = np.full(graph.nodes, -np.inf), np.zeros(graph.nodes, dtype=np.int64)
    before_N = np.full(graph.nodes, -1, dtype=np.int64)
    score_N[0] = 0.0
    offsets_A1 = np.zeros(len(label_A) + 1, dtype=np.int64)
    for arc in range(len(label_A)):
        source, target = graph.source_A[arc], graph.target_A[arc]
        length = length_N[source] + (1 if label_A[arc] >= 0 else 0)
        offsets_A1[arc + 1] = offsets_A1[arc] + length
        if score_N[source] + score_A[arc] > score_N[target]:
            score_N[target] = score_N[source] + score_A[arc]
            before_N[target], length_N[target] = arc, length
    labels_L = np.empty(offsets_A1[-1], dtype=np.int32)
    for arc in range(len(label_A)):
        at, last = offsets_A1[arc + 1], arc
        while last >= 0:
            if label_A[last] >= 0:
                at -= 1
                labels_L[at] = label_A[last]
            last = before_N[graph.source_A[last]]
    return offsets_A1, labels_L
