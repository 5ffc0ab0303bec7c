"""What the arcs of a translation graph cost by the language model, and which of them begin a block bigram."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.features.bigram_features import feature_key
from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.kernels.search.spans import phrase_costs


@njit(cache=True, nogil=True)
def arc_language_costs(
    lm: NgramArrays,
    begin_state: int,
    end_word: int,
    graph: ArcGraph,
    option_A: NDArray[np.int32],
    words_W: NDArray[np.int32],
    offsets_O1: NDArray[np.int64],
) -> NDArray[np.float64]:
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


@njit(cache=True, nogil=True)
def bigram_ids(
    keys_U: NDArray[np.uint64], predecessor_A: NDArray[np.int32], block_A: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The place of block bigram (b', b) among sorted keys, -1 where it is none or either is negative."""
    id_A = np.full(len(block_A), -1, dtype=np.int32)
    for arc in range(len(block_A)):
        if predecessor_A[arc] >= 0 and block_A[arc] >= 0:
            id_A[arc] = _place(keys_U, predecessor_A[arc], block_A[arc])
    return id_A


@njit(cache=True, nogil=True)
def live_contexts(
    graph: ArcGraph,
    block_A: NDArray[np.int32],
    keys_U: NDArray[np.uint64],
    node_P: NDArray[np.int32],
    context_P: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Whether any arc from a node is a block bigram with a given predecessor, for P pairs of node and predecessor.

    Arcs that take no bigram, and predecessors that are none, are negative.
    """
    offsets_N1 = np.searchsorted(graph.source_A, np.arange(graph.nodes + 1))
    live_P = np.zeros(len(node_P), dtype=np.bool_)
    for pair in range(len(node_P)):
        if context_P[pair] < 0:
            continue
        for arc in range(offsets_N1[node_P[pair]], offsets_N1[node_P[pair] + 1]):
            if block_A[arc] >= 0 and _place(keys_U, context_P[pair], block_A[arc]) >= 0:
                live_P[pair] = True
                break
    return live_P


@njit(cache=True, nogil=True)
def _place(keys_U: NDArray[np.uint64], predecessor: int, block: int) -> int:
    key = feature_key(0, predecessor, block)
    low, high = 0, len(keys_U)
    while low < high:
        middle = (low + high) // 2
        if keys_U[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys_U) and keys_U[low] == key else -1
