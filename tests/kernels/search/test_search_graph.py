"""Passes over random graphs against recursion."""

from __future__ import annotations

import numpy as np

from xlate.kernels.search.search_graph import completion_scores


def best_from(node, goal, source, target, score) -> float:
    """The best score from a node to the goal, by trying everything."""
    if node == goal:
        return 0.0
    ways = [score[a] + best_from(target[a], goal, source, target, score) for a in np.flatnonzero(source == node)]
    return max(ways, default=-np.inf)


def test_completions_are_the_best_paths_to_the_goal(rng):
    nodes, arcs, unreachable = 7, 12, 0
    for _ in range(20):
        source = np.sort(rng.integers(0, nodes - 1, size=arcs)).astype(np.int32)
        target = np.array([rng.integers(s + 1, nodes) for s in source], dtype=np.int32)
        score = rng.normal(size=arcs)
        expected = [best_from(node, nodes - 1, source, target, score) for node in range(nodes)]
        np.testing.assert_allclose(completion_scores(source, target, score, nodes - 1, nodes), expected)
        assert (completion_scores(source, target, score, -1, nodes) == -np.inf).all()
        unreachable += np.isinf(expected).sum()
    assert 0 < unreachable < 20 * nodes
