"""Open-addressing hash tables for use inside other kernels: from 64-bit keys to rows, and one that counts and grows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyInts, Ints, Ints32, Uints
from xlate.compiled import compiled, inlined

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


class HashTable(NamedTuple):
    """H slots (a power of two, at most two thirds full); a slot holds `EMPTY` or a key and its row."""

    keys_H: Uints
    rows_H: Ints32


def build_table(keys_K: Uints) -> HashTable:
    """Puts K distinct keys (none equal to `EMPTY`) into a table; the row of a key is its position in `keys_K`.

    Raises:
        ValueError: a key stands twice, or equals `EMPTY`.
    """
    size = 8
    while size * 2 < len(keys_K) * 3:
        size *= 2
    table = HashTable(np.full(size, EMPTY, dtype=np.uint64), np.full(size, -1, dtype=np.int32))
    twice = _fill(table.keys_H, table.rows_H, np.ascontiguousarray(keys_K, dtype=np.uint64))
    if twice >= 0:
        raise ValueError(f"key {keys_K[twice]} at row {twice} stands twice or is the empty mark")
    return table


def pair_keys(high_K: AnyInts, low_K: AnyInts) -> Uints:
    """The keys that `pack` makes of K pairs of numbers."""
    return (high_K.astype(np.uint64) << np.uint64(32)) | low_K.astype(np.uint64)


@inlined
def pack(high: int, low: int) -> np.uint64:
    """One key of two numbers below 2^32."""
    return (np.uint64(high) << np.uint64(32)) | np.uint64(np.uint32(low))


@compiled
def first_slot(key: np.uint64, mask: np.uint64) -> np.uint64:
    """The slot where the search for a key begins: a hash that mixes all its 64 bits."""
    mixed = key ^ (key >> np.uint64(31))
    mixed = mixed * np.uint64(0x9E3779B97F4A7C15)
    mixed = mixed ^ (mixed >> np.uint64(29))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed ^ (mixed >> np.uint64(32))) & mask


@inlined
def row_key(bits_RW: Uints, row: int) -> np.uint64:
    """A key of a row of W numbers; 0 for a row of zeros, and hardly ever for another row."""
    key = np.uint64(0)
    for w in range(bits_RW.shape[1]):
        key = (key ^ bits_RW[row, w]) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


@inlined
def equal_rows(bits_RW: Uints, one: int, other: int) -> bool:
    """Whether two rows hold the same numbers."""
    # Comparing whole arrays would make a new array each time.
    equal = True
    for w in range(bits_RW.shape[1]):
        equal = equal and bits_RW[one, w] == bits_RW[other, w]
    return equal


@compiled
def find(table: HashTable, key: np.uint64) -> int:
    """The row of a key, -1 when it is not in the table."""
    mask = np.uint64(len(table.keys_H) - 1)
    slot = first_slot(key, mask)
    while True:
        seen = table.keys_H[slot]
        if seen == key:
            return int(table.rows_H[slot])
        if seen == EMPTY:
            return -1
        slot = (slot + np.uint64(1)) & mask


@compiled
def find_all(table: HashTable, keys_Q: Uints) -> Ints32:
    """The rows of Q keys, -1 where one is not in the table."""
    rows_Q = np.empty(len(keys_Q), dtype=np.int32)
    for q in range(len(keys_Q)):
        rows_Q[q] = find(table, keys_Q[q])
    return rows_Q


@compiled
def _fill(keys_H: Uints, rows_H: Ints32, keys_K: Uints) -> int:
    mask = np.uint64(len(keys_H) - 1)
    for row in range(len(keys_K)):
        key = keys_K[row]
        if key == EMPTY:
            return row
        slot = first_slot(key, mask)
        while keys_H[slot] != EMPTY:
            if keys_H[slot] == key:
                return row
            slot = (slot + np.uint64(1)) & mask
        keys_H[slot] = key
        rows_H[slot] = row
    return -1


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


@inlined
def whole(number: int) -> int:
    """The same number, as one of 64 bits.

    A constant, or a variable that begins as one, is known as such to what it is given to, and so is a number of 32
    bits: a second version of a large function takes seconds to compile, and does the same.
    """
    return int(np.int64(number))
