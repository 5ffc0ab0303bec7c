"""Columns in scratch files are those that came in, and the files are gone at the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xlate.arrays.scratch import Scratch

PAIR = np.dtype([("key", np.uint64), ("value", np.float32)])
PARTS = [(np.arange(6, dtype=np.int32).reshape(3, 2), np.zeros(0)), (np.full((1, 2), 7, np.int32), np.zeros(0))]


@pytest.mark.parametrize("memory_mb", [None, 0])
def test_columns_are_joined(tmp_path: Path, memory_mb: int | None) -> None:
    with Scratch(memory_mb, tmp_path) as scratch:
        table, empty = scratch.stored(iter(PARTS))
        assert (table.dtype, table.tolist()) == (np.int32, [[0, 1], [2, 3], [4, 5], [7, 7]])
        assert (empty.dtype, empty.shape) == (np.float64, (0,))
        assert bool([*tmp_path.iterdir()]) == (memory_mb is not None)
        table[1] = 9
        assert table[1].tolist() == [9, 9]
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("memory_mb", [None, 0])
@pytest.mark.parametrize("rows", [0, 1, (1 << 20) + 1])
def test_a_column_of_one_value(tmp_path: Path, memory_mb: int | None, rows: int) -> None:
    with Scratch(memory_mb, tmp_path) as scratch:
        column = scratch.filled(rows, np.array((3, 0.5), PAIR))
        assert column.dtype == PAIR
        assert column.shape == (rows,)
        assert (column["value"] == 0.5).all()
