"""The hash table finds what a dictionary finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.kernels.memory.hashing import EMPTY, build_table, find, find_all, pack

KEYS = st.lists(st.integers(0, 2**64 - 2), unique=True, max_size=40)


@settings(deadline=None)
@given(KEYS, KEYS)
def test_equal_to_a_dictionary(keys: list[int], others: list[int]) -> None:
    table = build_table(np.array(keys, dtype=np.uint64))
    rows = {key: row for row, key in enumerate(keys)}
    asked = [*keys, *others, 2**64 - 1]
    expected = [rows.get(key, -1) for key in asked]
    assert find_all(table, np.array(asked, dtype=np.uint64)).tolist() == expected
    assert [find(table, np.uint64(key)) for key in asked[:3]] == expected[:3]
    assert len(keys) * 3 <= len(table.keys_H) * 2


def test_many_keys_in_rows(rng: np.random.Generator) -> None:
    keys_K = (np.arange(30_000, dtype=np.uint64) << np.uint64(32)) | np.uint64(7)
    table = build_table(rng.permutation(keys_K))
    rows_K = find_all(table, keys_K)
    np.testing.assert_array_equal(np.sort(rows_K), np.arange(30_000))
    assert (find_all(table, keys_K + np.uint64(1)) == -1).all()


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_pack(high: int, low: int) -> None:
    assert int(pack.py_func(high, low)) == high << 32 | low


@pytest.mark.parametrize("keys", [[5, 9, 5], [1, int(EMPTY)]])
def test_keys_that_do_not_fit(keys: list[int]) -> None:
    with pytest.raises(ValueError, match="stands twice or is the empty mark"):
        build_table(np.array(keys, dtype=np.uint64))
