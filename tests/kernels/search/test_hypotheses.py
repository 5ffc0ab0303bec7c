"""The store of compiled searches against the readable beam; cells of cube pruning in the order of their estimates."""

from __future__ import annotations

import numpy as np
import pytest

from tests.parts import from_python
from tests.search.test_beam import Space
from xlate.kernels.lm import SAID
from xlate.kernels.search import cube_heap, hypotheses
from xlate.kernels.search.cube_heap import no_cubes
from xlate.kernels.search.hypotheses import Limits, join, key_of, no_hypotheses, survivors, with_room
from xlate.search.beam import Move, SearchGraph, search_graph

LEVELS, WIDTH = 6, 40
add_move = from_python(hypotheses.add_move)
push_cell, follow_top = from_python(cube_heap.push_cell), from_python(cube_heap.follow_top)
drop_top, finished = from_python(cube_heap.drop_top), from_python(hypotheses.finished)
NO_MEMO = np.zeros(0, SAID)


def moves_of(state: tuple[int, int, int], seed: int) -> list[Move]:
    """Moves that are the same whenever a state is asked: few scores, so that many are equal; some skip a level."""
    rng = np.random.default_rng([seed, *(number % 1000 for number in state)])
    level = state[2]
    if level == LEVELS - 1:
        return [Move((0, 0, LEVELS), LEVELS, 0.25 * int(rng.integers(-8, 0)), -1)]
    found = []
    for label in range(int(rng.integers(2, 7))):
        covered = min(level + int(rng.integers(1, 3)), LEVELS - 1)
        after = (int(rng.integers(0, 4)), int(rng.integers(-WIDTH, WIDTH)), covered)
        found.append(Move(after, covered, 0.25 * int(rng.integers(-8, 0)), label))
    return found


def future(state: tuple[int, int, int]) -> float:
    """Any estimate."""
    return 0.5 * (state[1] % 3)


def random_space(seed: int) -> Space:
    """The random moves as a search space."""
    space = Space((0, 0, 0), LEVELS, lambda state: moves_of(state, seed), future)
    space.coverage = lambda state: state[0]
    return space


def compiled(seed: int, limits: Limits) -> SearchGraph:
    """The same search with the store."""
    search = no_hypotheses(LEVELS + 1, NO_MEMO)
    state_of: dict[tuple[int, int, int], tuple[int, int, int]] = {}

    def packed(state: tuple[int, int, int]):
        key = key_of(state[0], join(-1, state[2]), state[1])
        state_of[key] = state
        return key

    start = (0, 0, 0)
    add_move(search, limits, -1, packed(start), 0, future(start), 0.0, -1)
    for level in range(LEVELS):
        for node in survivors(search, limits, level).tolist():
            search = with_room(search, 8)
            row = search.nodes[node]
            state = state_of[int(row["first"]), int(row["second"]), int(row["third"])]
            for move in moves_of(state, seed):
                add_move(
                    search,
                    limits,
                    node,
                    packed(move.state),
                    move.covered,
                    future(move.state),
                    move.score,
                    move.label,
                )
    return SearchGraph.of_hypotheses(*finished(search))


@pytest.mark.parametrize("beam", [0, 3, 20])
@pytest.mark.parametrize("group_beam", [0, 2])
@pytest.mark.parametrize("log_threshold", [-np.inf, -1.0])
def test_the_store_equals_the_readable_beam(beam, group_beam, log_threshold):
    sizes = []
    for seed in range(2):
        expected = search_graph(random_space(seed), Limits(beam, group_beam, log_threshold, True))
        found = compiled(seed, Limits(beam, group_beam, log_threshold, True))
        for name in ("source_A", "target_A", "label_A", "score_A", "score_N", "best_arc_N"):
            assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
        assert found.goal == expected.goal
        best = compiled(seed, Limits(beam, group_beam, log_threshold, False))
        assert best.best_labels() == expected.best_labels()
        assert len(best.source_A) <= len(expected.source_A)
        sizes.append(len(expected.source_A))
    assert max(sizes) > (300 if beam == group_beam == 0 and log_threshold < -1 else 5)


@pytest.mark.parametrize("word", [0, 1, 2])
def test_growing_loses_nothing_and_every_word_counts(word):
    limits = Limits(0, 0, -np.inf, True)
    search = no_hypotheses(3, NO_MEMO)
    add_move(search, limits, -1, key_of(0, 0, 0), 0, 0.0, 0.0, -1)
    for number in range(10_000):
        search = with_room(search, 1)
        words = [number % 5_000 if place == word else -1 for place in range(3)]
        add_move(search, limits, 0, key_of(*words), 1, 0.0, -float(number), number)
    nodes, arcs, goal = finished(search)
    assert (len(nodes), len(arcs), goal) == (5_001, 10_000, -1)
    assert nodes["score"][1:].tolist() == [-float(number) for number in range(5_000)]
    assert arcs["target"].tolist() == [1 + number % 5_000 for number in range(10_000)]
    assert survivors(search, limits, 1).tolist() == list(range(1, 5_001))


@pytest.mark.parametrize("size", [1, 4, 30])
def test_cells_come_out_best_first(size: int, rng: np.random.Generator) -> None:
    for _ in range(10):
        cubes, waiting = no_cubes(1), []
        for estimate in rng.normal(size=size):
            assert push_cell(cubes, estimate, -np.inf)
            waiting.append(estimate)
        assert not push_cell(cubes, 1.0, 2.0)
        for estimate in rng.normal(size=5):
            assert follow_top(cubes, estimate, -np.inf)
            waiting = [*sorted(waiting)[:-1], estimate]
            assert cubes.estimates[0] == max(waiting)
        found = []
        while cubes.sizes[3]:
            found.append(float(cubes.estimates[0]))
            drop_top(cubes)
        assert found == sorted(waiting, reverse=True)
