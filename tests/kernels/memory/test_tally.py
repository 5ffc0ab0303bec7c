"""The tally counts like a Counter and numbers keys in the order they are first seen."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numba import njit

from xlate.kernels.memory.tally import count, new_tally, room_for


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
