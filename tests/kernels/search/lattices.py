"""Small random lattices, and every path of them by recursion."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from xlate.kernels.search.lattice_passes import ArcGraph, SubLattice, trimmed
from xlate.search.lattice import LatticeExample


@st.composite
def arc_graphs(draw: st.DrawFn, max_nodes: int = 7, max_arcs: int = 14) -> ArcGraph:
    """Lattices with parallel arcs, dead ends, and sometimes no path at all."""
    nodes = draw(st.integers(1, max_nodes))
    pairs = [(s, t) for t in range(nodes) for s in range(t)]
    arcs = sorted(draw(st.lists(st.sampled_from(pairs), max_size=max_arcs)), key=lambda arc: arc[0]) if pairs else []
    columns_A2 = np.array(arcs, np.int32).reshape(-1, 2)
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


def marked_paths(graph: ArcGraph, marked_A: np.ndarray) -> SubLattice:
    """The paths all of whose arcs are marked."""
    marked = np.flatnonzero(marked_A)
    small, kept = trimmed(ArcGraph(graph.source_A[marked], graph.target_A[marked], graph.nodes))
    return SubLattice(small, marked[kept].astype(np.int32))


def validated(example: LatticeExample) -> LatticeExample:
    """The same example, whose arcs are in topological order and whose wanted paths are in the lattice."""
    example.arcs.validate()
    for graph, arcs in (
        (example.graph, example.arcs.candidates),
        (example.target.graph, len(example.target.arc_B)),
    ):
        source_A, target_A = graph.source_A, graph.target_A
        assert len(source_A) == len(target_A) == arcs
        assert (np.diff(source_A) >= 0).all()
        assert (source_A >= 0).all()
        assert (source_A < target_A).all()
        assert (target_A < graph.nodes).all()
    arc_B = example.target.arc_B
    assert not is_empty(example.target)
    assert not len(arc_B) or 0 <= arc_B.min() <= arc_B.max() < example.arcs.candidates
    return example


def is_empty(paths: SubLattice) -> bool:
    """Whether there is no path at all; a path without arcs counts as one."""
    return paths.graph.nodes > 1 and not len(trimmed(paths.graph)[1])
