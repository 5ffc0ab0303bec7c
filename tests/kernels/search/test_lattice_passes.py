"""Passes over lattices against all their paths, and products with automata."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.search.lattices import all_paths, arc_graphs, scores_of
from xlate.kernels.search.best_paths import log_sums
from xlate.kernels.search.lattice_passes import ArcGraph, arc_posteriors, best_path, best_through, product, trimmed

SEEDS = st.integers(0, 2**32 - 1)


@settings(deadline=None)
@given(arc_graphs(), SEEDS)
def test_posteriors_equal_the_enumeration(graph, seed):
    score_A = scores_of(graph, seed)
    paths = all_paths(graph)
    shares = [math.exp(score_A[path].sum()) for path in paths]
    expected_A = np.zeros(len(score_A))
    for path, share in zip(paths, shares, strict=True):
        expected_A[path] += share / sum(shares)
    total, posterior_A = arc_posteriors(graph, score_A)
    assert total == (pytest.approx(math.log(sum(shares)), abs=1e-12) if paths else -math.inf)
    np.testing.assert_allclose(posterior_A, expected_A, atol=1e-12)
    backward_N = log_sums(graph.source_A, graph.target_A, score_A, graph.nodes - 1, graph.nodes)
    assert backward_N[0] == pytest.approx(total, abs=1e-12)


@settings(deadline=None)
@given(arc_graphs(), SEEDS)
def test_the_best_path_of_all_and_through_each_arc(graph, seed):
    score_A = scores_of(graph, seed)
    paths = all_paths(graph)
    assert best_path(graph, score_A).tolist() == max(paths, key=lambda path: score_A[path].sum(), default=[])
    expected_A = np.full(len(score_A), -np.inf)
    for path in paths:
        expected_A[path] = np.maximum(expected_A[path], score_A[path].sum())
    np.testing.assert_allclose(best_through(graph, score_A), expected_A, atol=1e-12)


@settings(deadline=None)
@given(arc_graphs())
def test_trimming_keeps_the_paths_and_nothing_else(graph):
    small, kept = trimmed(graph)
    paths = all_paths(graph)
    assert sorted(kept[path].tolist() for path in all_paths(small)) == sorted(paths)
    assert set(kept.tolist()) == {arc for path in paths for arc in path}
    touched = {0, small.nodes - 1, *small.source_A.tolist(), *small.target_A.tolist()}
    assert touched == set(range(small.nodes))
    assert (small.source_A < small.target_A).all()
    assert (np.diff(small.source_A) >= 0).all()


def test_scores_far_apart_and_minus_infinity():
    graph = ArcGraph(np.zeros(3, np.int32), np.ones(3, np.int32), 2)
    for scores, expected, shares in (
        ([-1e4, -np.inf, -1e4], -1e4 + math.log(2), [0.5, 0, 0.5]),
        ([1e4, -1e4, 0], 1e4, [1, 0, 0]),
        ([-np.inf] * 3, -np.inf, [0, 0, 0]),
    ):
        total, posterior_A = arc_posteriors(graph, np.array(scores, np.float64))
        assert total == pytest.approx(expected, abs=1e-10)
        np.testing.assert_allclose(posterior_A, shares)


@settings(deadline=None)
@given(arc_graphs(), SEEDS)
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
    made, arc_B, state_B = product(graph, label_A, next_SL, accepting_S)
    assert (made.source_A < made.target_A).all()
    assert (np.diff(made.source_A) >= 0).all()
    found = [(arc_B[path].tolist(), state_B[path].tolist()) for path in all_paths(made)]
    assert sorted(found) == sorted(expected)
