"""Passes over a search graph, and paths drawn from it."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from tests.kernels.search.lattices import all_paths
from xlate.kernels.search.best_paths import GraphArcs, Paths, Texts, k_best_paths, path_scores, sample_paths
from xlate.kernels.search.lattice_passes import ArcGraph

Arcs = list[tuple[int, int, int, float]]


def graph_of(arcs: Arcs, goal: int, nodes: int) -> GraphArcs:
    """A graph of arcs (source, target, label, score)."""
    source, target, label, score = zip(*arcs, strict=True)
    return GraphArcs(*(np.array(column, np.int32) for column in (source, target, label)), np.array(score), goal, nodes)


def small_graph(seed: int, goal: int = 5) -> GraphArcs:
    """A graph whose node 5 is the last, with an arc to a node that leads nowhere."""
    generator = np.random.default_rng(seed)
    arcs: Arcs = []
    for source in range(5):
        for target in range(source + 1, 6):
            # One way to end, as in a search graph: the last label is left out of a path.
            for _ in range(1 if target == 5 else int(generator.integers(1, 3))):
                arcs.append((source, target, len(arcs), float(generator.normal())))
        if source == 2:
            arcs.append((source, 6, len(arcs), 3.0))
    return graph_of(arcs, goal, 7)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_paths_are_drawn_as_often_as_their_share(scale: float) -> None:
    graph, draws = small_graph(3), 40_000
    weights = {
        tuple(graph.label_A[path[:-1]].tolist()): math.exp(scale * graph.score_A[path].sum())
        for path in all_paths(ArcGraph(graph.source_A, graph.target_A, graph.goal + 1))
    }
    shares = {path: weight / sum(weights.values()) for path, weight in weights.items()}
    found, again = (sample_paths(graph, scale, draws, np.random.default_rng(7)) for _ in range(2))
    assert all(map(np.array_equal, found, again))
    offsets, labels, count_N = found
    drawn = [tuple(labels[a:b].tolist()) for a, b in pairwise(offsets.tolist())]
    assert count_N.sum() == draws
    assert len(set(drawn)) == len(drawn)
    assert shares[drawn[0]] == max(shares[path] for path in drawn)
    times = Counter(dict(zip(drawn, count_N.tolist(), strict=True)))
    assert times.keys() <= shares.keys()
    for path, share in shares.items():
        assert times[path] / draws == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / draws) + 5 / draws)


def test_the_steps_of_given_paths_score_as_their_arcs() -> None:
    graph = small_graph(3)
    paths = all_paths(ArcGraph(graph.source_A, graph.target_A, graph.goal + 1))
    arc_L = np.concatenate(paths)
    offsets_N1 = np.cumsum([0, *map(len, paths)])
    np.testing.assert_array_equal(path_scores(graph, Paths(offsets_N1, graph.label_A[arc_L])), graph.score_A[arc_L])


def test_the_steps_of_a_path_that_a_graph_lacks_have_no_scores() -> None:
    graph = graph_of([(0, 1, 7, -1.0), (1, 2, 8, -2.0), (2, 3, 7, -4.0)], 3, 4)
    paths = Paths(np.array([0, 3, 6]), np.array([7, 7, 8, 7, 8, 7], np.int32))
    np.testing.assert_array_equal(path_scores(graph, paths), [-1, np.nan, np.nan, -1, -2, -4])


def test_a_graph_without_a_goal_has_no_paths() -> None:
    found = sample_paths(small_graph(4, goal=-1), 1.0, 10, np.random.default_rng(1))
    assert [part.tolist() for part in found] == [[0], [], []]


@pytest.mark.parametrize(("newest_first", "expected"), [(False, [1, 0, 2, 2]), (True, [0, 2, 2, 1])])
def test_of_equal_paths_the_oldest_or_the_newest_goes_on(newest_first: bool, expected: list[int]) -> None:
    arcs = [(0, 1, 0, 0.0), (0, 3, 1, 0.0), (1, 2, 2, 0.0), (2, 3, 2, 0.0), (3, 4, -1, 0.0)]
    texts = Texts(np.arange(4), np.arange(3, dtype=np.int32), distinct=True, newest_first=newest_first)
    assert k_best_paths(graph_of(arcs, 4, 5), texts, 9)[1].tolist() == expected
