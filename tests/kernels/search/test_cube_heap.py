"""The heap of cube pruning takes out the cells in the order of their estimates."""

from __future__ import annotations

import numpy as np
import pytest

from xlate.kernels.search.cube_heap import drop_top, follow_top, no_cubes, push_cell


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 30])
def test_cells_come_out_best_first(size: int, rng: np.random.Generator) -> None:
    for _ in range(20):
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
