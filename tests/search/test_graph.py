"""The graph of a finished search."""

from __future__ import annotations

import numpy as np

from xlate.kernels.search.hypotheses import ARC, NODE
from xlate.search.graph import SearchGraph


def test_arcs_of_a_compiled_search_go_to_kernels_as_arrays_without_gaps() -> None:
    nodes, arcs = np.zeros(3, dtype=NODE), np.zeros(2, dtype=ARC)
    arcs["source"], arcs["target"], arcs["label"], arcs["score"] = [0, 1], [1, 2], [7, -1], [0.5, -2.0]
    nodes["arc"] = [-1, 0, 1]
    graph = SearchGraph.of_hypotheses(nodes, arcs, 2)
    assert graph.best_labels() == [7, -1]
    given = graph.arcs
    assert (given.goal, given.nodes) == (2, 3)
    for name in ("source_A", "target_A", "label_A", "score_A"):
        held = getattr(given, name)
        assert held.flags.c_contiguous, name
        np.testing.assert_array_equal(held, getattr(graph, name))
        assert held.dtype == getattr(graph, name).dtype
