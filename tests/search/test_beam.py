"""The shared beam steps on a search space small enough to see through."""

from __future__ import annotations

import numpy as np
import pytest

from xlate.search.beam import BeamLimits, Move, SearchSpace, search_graph


class Space(SearchSpace):
    """Moves and estimates given as functions."""

    start, levels = None, 0

    def __init__(self, start, levels, expand, future=lambda _: 0.0):
        self.start, self.levels, self._expand, self._future = start, levels, expand, future

    def expand(self, state):
        return self._expand(state)

    def future(self, state):
        return self._future(state)

    def words_of(self, label):
        raise NotImplementedError


def grid_moves(score_of):
    """From (covered, parity) by one or two, to (3, 0) in the end."""

    def expand(state):
        covered, parity = state
        for length in (1, 2):
            if covered + length < 3:
                yield Move((covered + length, (parity + length) % 2), covered + length, score_of(state, length), length)
            elif covered + length == 3:
                yield Move((3, 0), 3, score_of(state, length), length)

    return expand


def test_all_arcs_are_kept_and_the_best_path_is_found():
    score_of = {((0, 0), 1): -1.0, ((0, 0), 2): -5.0, ((1, 1), 1): -1.0, ((1, 1), 2): -1.5, ((2, 0), 1): -1.0}
    graph = search_graph(Space((0, 0), 3, grid_moves(lambda s, n: score_of[s, n])), BeamLimits(None, -np.inf))
    arcs = sorted(zip(graph.source_A.tolist(), graph.target_A.tolist(), graph.label_A.tolist(), strict=True))
    assert arcs == [(0, 1, 1), (0, 2, 2), (1, 2, 1), (1, 3, 2), (2, 3, 1)]
    assert graph.best_labels() == [1, 2]
    assert graph.score_N.tolist() == [0.0, -1.0, -2.0, -2.5]


def test_recombination_keeps_the_first_of_equals():
    def expand(_):
        return [Move("same", 1, score, label) for label, score in enumerate((-2.0, -1.0, -1.0, -3.0))]

    graph = search_graph(Space("start", 1, expand), BeamLimits(None, -np.inf))
    assert graph.best_labels() == [1]
    assert graph.label_A.tolist() == [0, 1, 2, 3]
    assert graph.target_A.tolist() == [1] * 4


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (BeamLimits(None, -np.inf), [1, 2, 3, 0]),
        (BeamLimits(2, -np.inf), [1, 2]),
        (BeamLimits(None, -1.0), [1, 2, 3]),
        (BeamLimits(None, -0.5), [1]),
        (BeamLimits(None, -np.inf, 1), [1, 2]),
    ],
)
def test_pruning_by_number_by_threshold_and_by_coverage(limits, expected):
    """Estimates are -3, -1, -2, -2; states of one parity are one coverage. The order is that of expansion."""
    scores, futures = (-3.0, -9.0, -2.0, -2.0), (0.0, 8.0, 0.0, 0.0)

    def expand(state):
        if state == "start":
            return [Move(i, 1, score, i) for i, score in enumerate(scores)]
        return [Move("end", 2, 0.0, state)]

    space = Space("start", 2, expand, lambda state: futures[state] if isinstance(state, int) else 0.0)
    space.coverage = lambda state: state % 2 if isinstance(state, int) else None
    assert search_graph(space, limits).label_A[4:].tolist() == expected


def test_a_dead_end_has_no_goal():
    graph = search_graph(Space(0, 2, lambda s: [Move(s + 1, s + 1, -1.0, 0)] if s == 0 else []), BeamLimits(5, -np.inf))
    assert graph.goal == -1
    assert graph.best_labels() == []


@pytest.mark.parametrize("use_future", [False, True])
def test_the_future_decides_what_survives(use_future):
    """Two states of equal coverage: the cheap one leads to a dear end; only the estimate can tell."""
    ends = {"cheap": -10.0, "dear": -1.0}

    def expand(state):
        if state == "start":
            return [Move("cheap", 1, -1.0, 0), Move("dear", 1, -2.0, 1)]
        return [Move("end", 2, ends[state], 2)]

    def future(state):
        return ends.get(state, 0.0) if use_future else 0.0

    graph = search_graph(Space("start", 2, expand, future), BeamLimits(1, -np.inf))
    assert graph.best_labels() == [1 if use_future else 0, 2]
