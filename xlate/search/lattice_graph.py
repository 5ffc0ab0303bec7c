"""What a search left of its graph: the arcs on complete paths, in an order that lattices have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from xlate.kernels.search.lattice_passes import ArcGraph, trimmed
from xlate.search.graph import SearchGraph


def useful_graph(found: SearchGraph) -> tuple[ArcGraph, NDArray[np.int32], NDArray[np.float64]]:
    """The arcs on complete paths with labels and scores, nodes numbered in the order in which they were expanded."""
    expanded, first = np.unique(found.source_A, return_index=True)
    number_N = np.full(len(found.score_N), -1, dtype=np.int32)
    number_N[expanded[np.argsort(first)]] = np.arange(len(expanded))
    number_N[found.goal] = len(expanded)
    arcs = np.flatnonzero(number_N[found.target_A] >= 0)
    source_A, target_A = number_N[found.source_A[arcs]], number_N[found.target_A[arcs]]
    graph, kept = trimmed(ArcGraph(source_A, target_A, len(expanded) + 1))
    arcs = arcs[kept]
    return graph, found.label_A[arcs], found.score_A[arcs]
