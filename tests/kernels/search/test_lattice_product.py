"""The product of a lattice and an automaton has the lattice's paths, those the automaton accepts."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.search.lattices import all_paths, arc_graphs
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.kernels.search.lattice_product import product


@settings(deadline=None)
@given(arc_graphs(), st.integers(0, 2**32 - 1))
def test_paths_are_those_the_automaton_accepts(graph, seed):
    rng = np.random.default_rng(seed)
    states, labels = int(rng.integers(1, 4)), 3
    next_SL = rng.integers(-1, states, size=(states, labels)).astype(np.int32)
    label_A = rng.integers(0, labels, size=len(graph.source_A)).astype(np.int32)
    accepting_S = rng.random(states) < 0.7
    expected = []
    for path in all_paths(graph):
        trace = [0]
        for arc in path:
            trace.append(int(next_SL[trace[-1], label_A[arc]]) if trace[-1] >= 0 else -1)
        if trace[-1] >= 0 and (accepting_S[trace[-1]] or not path):
            expected.append((path, trace[:-1]))
    made = product(graph, label_A, next_SL, accepting_S)
    assert (made.graph.source_A < made.graph.target_A).all()
    assert (np.diff(made.graph.source_A) >= 0).all()
    found = [(made.arc_B[path].tolist(), made.state_B[path].tolist()) for path in all_paths(made.graph)]
    assert sorted(found) == sorted(expected)


def test_nothing_is_accepted():
    graph = ArcGraph(np.arange(2, dtype=np.int32), np.arange(1, 3, dtype=np.int32), 3)
    made = product(graph, np.zeros(2, dtype=np.int32), np.full((1, 1), -1, dtype=np.int32), np.ones(1, dtype=bool))
    assert all_paths(made.graph) == []
