"""What a search left of its graph: the arcs on complete paths, in an order that lattices have, and their features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, row_numbers
from xlate.kernels.search.lattice_passes import ArcGraph, trimmed
from xlate.search.graph import SearchGraph


class LatticeArcs(NamedTuple):
    """A graph whose A arcs have labels, scores and features: score = dense · w_D + Σ w_F[sparse ids] + base.

    The ids of arc a are `sparse_ids_M[sparse_offsets_A1[a]:sparse_offsets_A1[a + 1]]`. `base_A` is what the weights do
    not explain: minus the normaliser where a decoder has one, else 0.
    """

    graph: ArcGraph
    label_A: Ints32
    score_A: Floats
    dense_AD: Floats
    sparse_offsets_A1: Ints
    sparse_ids_M: Ints32
    base_A: Floats


def useful_arcs(found: SearchGraph) -> LatticeArcs:
    """The arcs on complete paths, without features; nodes are numbered in the order in which they were expanded."""
    expanded, first = np.unique(found.source_A, return_index=True)
    number_N = np.full(len(found.score_N), -1, dtype=np.int32)
    number_N[expanded[np.argsort(first)]] = np.arange(len(expanded))
    number_N[found.goal] = len(expanded)
    arcs = np.flatnonzero(number_N[found.target_A] >= 0)
    # Cube pruning goes from hypothesis to hypothesis; a lattice has the arcs of each node together.
    arcs = arcs[np.argsort(number_N[found.source_A[arcs]], kind="stable")]
    source_A, target_A = number_N[found.source_A[arcs]], number_N[found.target_A[arcs]]
    graph, kept = trimmed(ArcGraph(source_A, target_A, len(expanded) + 1))
    arcs = arcs[kept]
    size = len(arcs)
    nothing = np.zeros((size, 0)), np.zeros(size + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(size)
    return LatticeArcs(graph, found.label_A[arcs], found.score_A[arcs], *nothing)


def chosen_arcs(arcs: LatticeArcs, rows: AnyInts, graph: ArcGraph) -> LatticeArcs:
    """Arcs of a lattice, perhaps some several times, hung together in another way."""
    places_M, offsets_A1 = gathered(arcs.sparse_offsets_A1, rows)
    return LatticeArcs(
        graph,
        arcs.label_A[rows],
        arcs.score_A[rows],
        arcs.dense_AD[rows],
        offsets_A1,
        arcs.sparse_ids_M[places_M],
        arcs.base_A[rows],
    )


def linear_scores(arcs: LatticeArcs, dense_D: AnyFloats, sparse_F: AnyFloats) -> Floats:
    """dense · w_D + Σ w_F[sparse ids] of each arc, shape (A,)."""
    score_A = arcs.dense_AD @ dense_D
    if len(arcs.sparse_ids_M):
        weights_M = np.asarray(sparse_F, dtype=np.float64)[arcs.sparse_ids_M]
        score_A += np.bincount(row_numbers(arcs.sparse_offsets_A1), weights_M, minlength=len(score_A))
    return np.asarray(score_A, dtype=np.float64)
