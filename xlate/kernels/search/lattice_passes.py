"""Lattices as arrays: passes over them, their product with an automaton, and the costs of their arcs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.compiled import loop
from xlate.kernels.features.blocks import BigramFamilies, put_bigrams
from xlate.kernels.lm import NgramArrays, step
from xlate.kernels.memory import grown, spell
from xlate.kernels.search.best_paths import completion_scores, log_add, log_sums
from xlate.kernels.search.spans import phrase_costs


class ArcGraph(NamedTuple):
    """N nodes in topological order and A arcs between them, sorted by source, each from a lower to a higher node.

    Node 0 is the start, node N - 1 the goal; a path is a sequence of arcs from start to goal.
    """

    source_A: Ints32
    target_A: Ints32
    nodes: int


class SubLattice(NamedTuple):
    """Some of the paths of a lattice as a separate graph; its arc b is arc `arc_B[b]` of the lattice.

    An arc of the lattice may occur in it several times, so it can represent any set of paths.
    """

    graph: ArcGraph
    arc_B: Ints32


@loop
def arc_posteriors(graph: ArcGraph, score_A: Floats) -> tuple[float, Floats]:
    """ln Σ exp score over all paths, and the share of the paths through each arc (Baum 1972); shape (A,).

    Without any path, the former is minus infinity, and all shares are 0.
    """
    source_A, target_A, nodes = graph
    forward_N, backward_N = np.full(nodes, -np.inf), log_sums(source_A, target_A, score_A, nodes - 1, nodes)
    forward_N[0] = 0.0
    for arc in range(len(score_A)):
        target = target_A[arc]
        forward_N[target] = log_add(forward_N[target], forward_N[source_A[arc]] + score_A[arc])
    total = forward_N[nodes - 1]
    posterior_A = np.zeros(len(score_A))
    if total > -np.inf:
        posterior_A[:] = np.exp(forward_N[source_A] + score_A + backward_N[target_A] - total)
    return total, posterior_A


@loop
def best_path(graph: ArcGraph, score_A: Floats) -> Ints:
    """The arcs of the highest-scoring path, first to last; ties go to the one with the earlier last arcs.

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
    return ahead_N[source_A] + score_A + behind_N[target_A]


def trimmed(graph: ArcGraph) -> tuple[ArcGraph, Ints]:
    """The graph without arcs and nodes that lie on no path, renumbered in the same order, and the remaining arcs.

    Start and goal always stay.
    """
    kept = np.flatnonzero(best_through(graph, np.zeros(len(graph.source_A))) > -np.inf)
    source_K, target_K = graph.source_A[kept], graph.target_A[kept]
    used_N = np.zeros(graph.nodes, dtype=bool)
    used_N[[0, graph.nodes - 1]] = used_N[source_K] = used_N[target_K] = True
    number_N = (np.cumsum(used_N) - 1).astype(np.int32)
    return ArcGraph(number_N[source_K], number_N[target_K], int(used_N.sum())), kept


DEAD = -1


@loop
def product(graph: ArcGraph, label_A: Ints32, next_SL: Ints32, accepting_S: Bools) -> tuple[ArcGraph, Ints32, Ints32]:
    """Pairs every node with the states that an automaton, in state 0 at the start, may be in there.

    Returns the graph of the B arcs of the product, the lattice's arc of each, and the automaton's state before it.

    Args:
        graph: the lattice.
        label_A: what the automaton reads on each arc.
        next_SL: its next state by state and label, `DEAD` where it ends.
        accepting_S: states in which the goal may be reached; there they are merged into one.

    Nodes without a way to the goal may remain.
    """
    offsets_N1 = np.searchsorted(graph.source_A, np.arange(graph.nodes + 1))
    goal, states, pairs, size = graph.nodes - 1, len(next_SL), 0, 0
    # Pairs are numbered node by node, so in topological order; -1 for those that cannot be reached.
    number_P = np.full(graph.nodes * states, -1, dtype=np.int32)
    number_P[0] = number_P[goal * states] = 0
    # Number of the first pair, second pair, arc and state.
    found_B4 = np.empty((1024, 4), dtype=np.int64)
    for pair in range(len(number_P)):
        if number_P[pair] < 0:
            continue
        node, state = pair // states, pair % states
        number_P[pair] = pairs
        found_B4 = grown(found_B4, size, offsets_N1[node + 1] - offsets_N1[node])
        for arc in range(offsets_N1[node], offsets_N1[node + 1]):
            target, behind = graph.target_A[arc], next_SL[state, label_A[arc]]
            if behind != DEAD and (target < goal or accepting_S[behind]):
                after = target * states + (behind if target < goal else 0)
                number_P[after] = 0
                line = found_B4[size]
                line[0], line[1], line[2], line[3] = pairs, after, arc, state
                size += 1
        pairs += 1
    made_B4 = found_B4[:size].astype(np.int32)
    made = ArcGraph(made_B4[:, 0].copy(), number_P[found_B4[:size, 1]], pairs)
    return made, made_B4[:, 2].copy(), made_B4[:, 3].copy()


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

    All paths to a node must have the same language model state, as the decoder's recombination ensures. Option -1 is
    the end of the sentence, a single first word; it costs nothing when `end_word` is negative.
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

    Arcs that take no feature are negative, and so are missing predecessors.
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
    """The labels of the best path to the source of each arc and of the arc itself: offsets (A+1) and labels.

    Labels below 0, of the end of the sentence, are omitted.
    """
    score_N, before_N = np.full(graph.nodes, -np.inf), np.zeros(graph.nodes, dtype=np.int32)
    score_N[0] = 0.0
    # Paths form a trie: path 0 has no label, and arc a ends path a + 1.
    parent_W, label_W = np.zeros(len(label_A) + 1, dtype=np.int32), np.zeros(len(label_A) + 1, dtype=np.int32)
    way_A = np.empty(len(label_A), dtype=np.int32)
    for arc in range(len(label_A)):
        source, target = graph.source_A[arc], graph.target_A[arc]
        parent_W[arc + 1], label_W[arc + 1] = before_N[source], label_A[arc]
        way_A[arc] = arc + 1 if label_A[arc] >= 0 else before_N[source]
        if score_N[source] + score_A[arc] > score_N[target]:
            score_N[target], before_N[target] = score_N[source] + score_A[arc], way_A[arc]
    labels_L, offsets_A1 = spell(parent_W, label_W, way_A)
    return offsets_A1, labels_L
