"""The hash table finds what a dictionary finds.

The tally counts like a Counter and numbers keys in the order they are first seen.

Numbers that are no literals.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import int64, njit

from xlate.kernels.memory.hashing import EMPTY, build_table, count, find, find_all, new_tally, pack, room_for, whole

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


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_pack(high: int, low: int) -> None:
    assert int(pack.py_func(high, low)) == high << 32 | low


@pytest.mark.parametrize("keys", [[5, 9, 5], [1, int(EMPTY)]])
def test_keys_that_do_not_fit(keys: list[int]) -> None:
    with pytest.raises(ValueError, match="stands twice or is the empty mark"):
        build_table(np.array(keys, dtype=np.uint64))


@njit(cache=True)
def tally_all(keys_Q, capacity):
    tally = new_tally(capacity)
    rows_Q = np.empty(len(keys_Q), dtype=np.int64)
    for q in range(len(keys_Q)):
        tally = room_for(tally, 1)
        rows_Q[q] = count(tally, keys_Q[q])
    return tally, rows_Q


def test_counts_and_order(rng):
    keys_Q = rng.integers(0, 3000, size=20_000).astype(np.uint64) << np.uint64(31)
    tally, rows_Q = tally_all(keys_Q, 1)
    size = int(tally.size_1[0])
    expected = Counter(keys_Q.tolist())
    assert tally.keys_K[:size].tolist() == list(expected)
    assert tally.count_K[:size].tolist() == list(expected.values())
    np.testing.assert_array_equal(tally.keys_K[rows_Q], keys_Q)
    assert size > 2000


FIVE = 5


@njit
def doubled(number: int) -> int:
    return 2 * number


@njit
def in_many_ways(given_N: np.ndarray) -> int:  # type: ignore[type-arg]
    total, so_far = doubled(whole(FIVE)) + doubled(whole(0)), whole(0)
    while so_far < 8:
        so_far = doubled(so_far) + 1
    return total + so_far + doubled(whole(given_N[0]))


def test_a_function_is_compiled_once_whatever_it_is_called_with() -> None:
    assert whole(-3) == -3
    assert in_many_ways(np.array([4], dtype=np.int32)) == 10 + 15 + 8
    assert doubled.signatures == [(int64,)]
