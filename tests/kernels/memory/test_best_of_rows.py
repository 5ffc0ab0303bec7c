"""The best of rows against sorting each."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.arrays.ragged import offsets_of
from xlate.kernels.memory.best_of_rows import best_of_rows

ROWS = st.lists(st.lists(st.sampled_from([0.0, -1.5, 2.0, 2.5, -np.inf]), max_size=30), max_size=6)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(0, 5))
def test_the_best_come_first_and_of_equals_the_first(rows: list[list[float]], most: int) -> None:
    offsets = offsets_of([len(row) for row in rows])
    scores = np.array([score for row in rows for score in row], dtype=np.float64)
    expected = [
        int(offsets[r]) + at
        for r, row in enumerate(rows)
        for at in sorted(range(len(row)), key=lambda at: -row[at])[:most]
    ]
    assert best_of_rows(scores, offsets, most).tolist() == expected
