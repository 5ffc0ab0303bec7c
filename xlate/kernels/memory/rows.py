"""Rows of numbers: equal ones numbered alike, the best values of each, and arrays that grow."""

from __future__ import annotations

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32, Uints
from xlate.compiled import loop
from xlate.kernels.memory.hashing import equal_rows, first_slot, row_key

FREE = -1


@loop
def distinct_rows(bits_OK: Uints) -> tuple[Ints32, Ints]:
    """A number for each of O rows: 0 for a row of zeros, the others in the order in which they are first seen.

    Returns:
        The numbers, (O,), and the first row of each number from 1 on.
    """
    rows = len(bits_OK)
    size = 8
    while size < 2 * rows:
        size *= 2
    slots_H = np.full(size, FREE, dtype=np.int64)
    number_O, first_F = np.zeros(rows, dtype=np.int32), np.empty(rows, dtype=np.int64)
    count = 0
    for o in range(rows):
        key = row_key(bits_OK, o)
        if key == 0 and not bits_OK[o].any():
            continue
        slot = first_slot(key, np.uint64(size - 1))
        while slots_H[slot] != FREE and not equal_rows(bits_OK, first_F[slots_H[slot]], o):
            slot = (slot + np.uint64(1)) & np.uint64(size - 1)
        if slots_H[slot] == FREE:
            slots_H[slot] = count
            first_F[count] = o
            count += 1
        number_O[o] = slots_H[slot] + 1
    return number_O, first_F[:count].copy()


@loop
def best_of_rows(score_B: Floats, offsets_S1: Ints, most: int) -> Ints:
    """The places of the `most` highest scores of each of S rows, best first, of equals the first."""
    places, size = np.empty(len(score_B), np.int64), 0
    for s in range(len(offsets_S1) - 1):
        first, last = offsets_S1[s], offsets_S1[s + 1]
        order = np.argsort(-score_B[first:last], kind="mergesort")
        for rank in range(min(most, last - first)):
            places[size] = first + order[rank]
            size += 1
    return places[:size].copy()


@loop
def grown(items: AnyArray, used: int, more: int) -> AnyArray:
    """An array that begins with the first `used` items and can take `more` behind them: the same one if it can."""
    if used + more <= len(items):
        return items
    larger = np.empty((2 * len(items) + more, *items.shape[1:]), items.dtype)
    larger[:used] = items[:used]
    return larger
