"""Rows of different lengths against lists of lists."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xlate.arrays.ragged import (
    gathered,
    joined_offsets,
    marked_in_rows,
    offsets_of,
    places_of,
    places_of_keys,
    row_numbers,
)

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)


@given(ROWS, st.data())
def test_rows_are_gathered_as_from_lists(rows: list[list[int]], data: st.DataObject) -> None:
    flat = np.array([value for row in rows for value in row], np.int64)
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


KEYS = st.lists(st.integers(-5, 9), max_size=12)


@given(KEYS, KEYS)
def test_places_of_keys_are_those_of_looking_for_each(among: list[int], keys: list[int]) -> None:
    among.sort()
    found = places_of_keys(np.array(among, np.int64), np.array(keys, np.int64))
    assert found.tolist() == [among.index(key) if key in among else -1 for key in keys]
