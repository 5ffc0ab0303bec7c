"""What the arcs of a translation graph cost by the language model, and which binary features they have."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.compiled import loop
from xlate.kernels.features.block_features import BigramFamilies, put_bigrams
from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.kernels.search.spans import phrase_costs


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
