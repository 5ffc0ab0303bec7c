"""A growing hash table that counts 64-bit keys and numbers them in the order in which they are first seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints, Ints32, Uints
from xlate.compiled import compiled
from xlate.kernels.memory.hashing import EMPTY, first_slot


class Tally(NamedTuple):
    """K = `size_1[0]` distinct keys; row k holds the k-th distinct key and how often it came."""

    slots_H: Ints32
    keys_K: Uints
    count_K: Ints32
    size_1: Ints


@compiled
def new_tally(capacity: int) -> Tally:
    """An empty tally with room for at least `capacity` distinct keys before it must grow."""
    slots = 16
    while slots < 2 * capacity:
        slots *= 2
    return Tally(
        np.full(slots, -1, dtype=np.int32),
        np.full(slots // 2, EMPTY, dtype=np.uint64),
        np.zeros(slots // 2, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@compiled
def room_for(tally: Tally, keys: int) -> Tally:
    """The tally, or a larger copy of it when it lacks room for `keys` new keys."""
    size = tally.size_1[0]
    if size + keys <= len(tally.keys_K):
        return tally
    larger = new_tally(max(size + keys, 2 * len(tally.keys_K)))
    larger.size_1[0] = size
    mask = np.uint64(len(larger.slots_H) - 1)
    for row in range(size):
        larger.keys_K[row], larger.count_K[row] = tally.keys_K[row], tally.count_K[row]
        slot = first_slot(larger.keys_K[row], mask)
        while larger.slots_H[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        larger.slots_H[slot] = row
    return larger


@compiled
def count(tally: Tally, key: np.uint64) -> int:
    """Counts a key once more and returns its row; `room_for` must have been called for it."""
    mask = np.uint64(len(tally.slots_H) - 1)
    slot = first_slot(key, mask)
    row = tally.slots_H[slot]
    while row >= 0 and tally.keys_K[row] != key:
        slot = (slot + np.uint64(1)) & mask
        row = tally.slots_H[slot]
    if row < 0:
        row = np.int32(tally.size_1[0])
        tally.slots_H[slot] = row
        tally.keys_K[row] = key
        tally.size_1[0] += 1
    tally.count_K[row] += 1
    return int(row)
