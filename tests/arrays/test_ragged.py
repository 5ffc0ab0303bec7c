"""Rows of different lengths against lists of lists."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.arrays.ragged import (
    check_offsets,
    gathered,
    joined_offsets,
    marked_in_rows,
    offsets_of,
    places_of,
    row_numbers,
)

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)


@given(ROWS, st.data())
def test_rows_are_gathered_as_from_lists(rows: list[list[int]], data: st.DataObject) -> None:
    flat = np.array([value for row in rows for value in row], dtype=np.int64)
    offsets = offsets_of([len(row) for row in rows])
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5)) if rows else []
    places, new = gathered(offsets, chosen)
    assert [flat[places[a:b]].tolist() for a, b in itertools.pairwise(new)] == [rows[r] for r in chosen]
    assert places_of(offsets, chosen).tolist() == places.tolist()
    assert row_numbers(offsets).tolist() == [r for r, row in enumerate(rows) for _ in row]
    assert marked_in_rows(flat > 4, offsets).tolist() == [sum(value > 4 for value in row) for row in rows]


@given(st.lists(ROWS, max_size=3))
def test_offsets_of_several_arrays_are_joined(many: list[list[list[int]]]) -> None:
    joined = joined_offsets([offsets_of([len(row) for row in rows]) for rows in many])
    assert joined.tolist() == offsets_of([len(row) for rows in many for row in rows]).tolist()


@pytest.mark.parametrize(
    ("offsets", "end", "message"),
    [
        ([], 0, "does not begin with 0"),
        ([1, 2], 2, "does not begin with 0"),
        ([0, 2], 3, "ends with 2, expected 3"),
        ([0, 3, 2, 4], 4, "falls from 3 to 2 at 1"),
    ],
)
def test_offsets_that_cannot_be_are_named(offsets: list[int], end: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^name: {message}$"):
        check_offsets("name", np.array(offsets, dtype=np.int64), end)


def test_a_fall_behind_the_first_piece_is_found() -> None:
    offsets = np.arange(3 << 20)
    check_offsets("name", offsets, len(offsets) - 1)
    offsets[(2 << 20) + 5] = 0
    with pytest.raises(ValueError, match=f"at {(2 << 20) + 4}$"):
        check_offsets("name", offsets, len(offsets) - 1)


def test_a_fall_from_one_piece_to_a_last_number_alone_is_found() -> None:
    offsets = np.arange((1 << 20) + 2)
    offsets[-1] = 5
    with pytest.raises(ValueError, match=f"falls from {1 << 20} to 5 at {1 << 20}$"):
        check_offsets("name", offsets, 5)
