"""Small random lattices, and every path of them by recursion."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from xlate.kernels.search.lattice_passes import ArcGraph


@st.composite
def arc_graphs(draw: st.DrawFn, max_nodes: int = 7, max_arcs: int = 14) -> ArcGraph:
    """Lattices with parallel arcs, dead ends, and sometimes no path at all."""
    nodes = draw(st.integers(1, max_nodes))
    pairs = [(s, t) for t in range(nodes) for s in range(t)]
    arcs = sorted(draw(st.lists(st.sampled_from(pairs), max_size=max_arcs)), key=lambda arc: arc[0]) if pairs else []
    columns_A2 = np.array(arcs, dtype=np.int32).reshape(-1, 2)
    return ArcGraph(np.ascontiguousarray(columns_A2[:, 0]), np.ascontiguousarray(columns_A2[:, 1]), nodes)


def scores_of(graph: ArcGraph, seed: int) -> np.ndarray:
    """One normal number an arc."""
    return np.random.default_rng(seed).normal(size=len(graph.source_A))


def all_paths(graph: ArcGraph, node: int = 0) -> list[list[int]]:
    """The arcs of every path from a node to the goal."""
    if node == graph.nodes - 1:
        return [[]]
    return [
        [arc, *rest]
        for arc in np.flatnonzero(graph.source_A == node).tolist()
        for rest in all_paths(graph, int(graph.target_A[arc]))
    ]
