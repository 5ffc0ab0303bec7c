"""Columns of one value, in memory and in scratch files; joined ones are tested with the tables made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xlate.arrays.scratch import Scratch

PAIR = np.dtype([("key", np.uint64), ("value", np.float32)])


@pytest.mark.parametrize("memory_mb", [None, 0])
@pytest.mark.parametrize("rows", [0, 1, (1 << 20) + 1])
def test_a_column_of_one_value(tmp_path: Path, memory_mb: int | None, rows: int) -> None:
    with Scratch(memory_mb, tmp_path) as scratch:
        column = scratch.filled(rows, np.array((3, 0.5), PAIR))
        assert column.dtype == PAIR
        assert column.shape == (rows,)
        assert (column["value"] == 0.5).all()
