"""Numbers for rows, equal ones for equal rows."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.hashing import first_slot

FREE = -1


@njit(cache=True, nogil=True)
def distinct_rows(bits_OK: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """A number for each of O rows, 0 for one of zeros, the others in the order they are first seen in.

    Returns:
        The numbers, shape (O,), and the first row of each number from 1.
    """
    rows, width = bits_OK.shape
    size = 8
    while size < 2 * rows:
        size *= 2
    slots_H = np.full(size, FREE, dtype=np.int64)
    number_O, first_F = np.zeros(rows, dtype=np.int32), np.empty(rows, dtype=np.int64)
    count = 0
    for o in range(rows):
        key = np.uint64(0)
        for k in range(width):
            key = (key ^ bits_OK[o, k]) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        # The key of zeros is 0; that of other rows hardly ever, and then they are told apart below.
        if key == 0 and not bits_OK[o].any():
            continue
        slot = first_slot(key, np.uint64(size - 1))
        while slots_H[slot] != FREE and not _equal(bits_OK, first_F[slots_H[slot]], o):
            slot = (slot + np.uint64(1)) & np.uint64(size - 1)
        if slots_H[slot] == FREE:
            slots_H[slot] = count
            first_F[count] = o
            count += 1
        number_O[o] = slots_H[slot] + 1
    return number_O, first_F[:count].copy()


@njit(cache=True, inline="always")
def _equal(bits_OK: NDArray[np.uint64], one: int, other: int) -> bool:
    equal = True
    for k in range(bits_OK.shape[1]):
        equal = equal and bits_OK[one, k] == bits_OK[other, k]
    return equal
