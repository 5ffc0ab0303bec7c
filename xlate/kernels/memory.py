"""Helpers for other kernels: hash tables from 64-bit keys to rows, keys numbered as they come, tries, and rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, AnyFloats, AnyInts, Floats, Ints, Ints32, Uints
from xlate.compiled import compiled, inlined, inner, loop

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


class HashTable(NamedTuple):
    """H slots (a power of two, at most two thirds full); a slot holds `EMPTY` or a key and its row."""

    keys_H: Uints
    rows_H: Ints32


def slots_for(keys: int) -> int:
    """The size of a table of so many keys."""
    size = 8
    while size * 2 < keys * 3:
        size *= 2
    return size


def build_table(keys_K: Uints) -> HashTable:
    """Puts K distinct keys (none equal to `EMPTY`) into a table; the row of a key is its position in `keys_K`.

    Raises:
        ValueError: a key occurs twice, or equals `EMPTY`.
    """
    size = slots_for(len(keys_K))
    table = HashTable(np.full(size, EMPTY, np.uint64), np.full(size, -1, np.int32))
    twice = _fill(table.keys_H, table.rows_H, np.ascontiguousarray(keys_K, np.uint64))
    if twice >= 0:
        raise ValueError(f"key {keys_K[twice]} at row {twice} appears twice or is the empty mark")
    return table


def pair_keys(high_K: AnyInts, low_K: AnyInts) -> Uints:
    """The keys of K pairs of numbers, as `pack` makes them."""
    return (high_K.astype(np.uint64) << np.uint64(32)) | low_K.astype(np.uint64)


@inlined
def pack(high: int, low: int) -> np.uint64:
    """One key made of two numbers below 2^32."""
    return (np.uint64(high) << np.uint64(32)) | np.uint64(np.uint32(low))


@inner
def first_slot(key: np.uint64, mask: np.uint64) -> np.uint64:
    """The slot where the search for a key begins: a hash that mixes all 64 bits."""
    mixed = key ^ (key >> np.uint64(31))
    mixed = mixed * np.uint64(0x9E3779B97F4A7C15)
    mixed = mixed ^ (mixed >> np.uint64(29))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed ^ (mixed >> np.uint64(32))) & mask


@inner
def slot_of(keys_H: Uints, key: np.uint64) -> np.uint64:
    """The slot of a key among H slots, or the `EMPTY` slot that it would take."""
    mask = np.uint64(len(keys_H) - 1)
    slot = first_slot(key, mask)
    while keys_H[slot] != EMPTY and keys_H[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@inlined
def row_key(bits_RW: Uints, row: int) -> np.uint64:
    """A key of a row of W numbers; 0 for a row of zeros, and almost never for another row."""
    key = np.uint64(0)
    for w in range(bits_RW.shape[1]):
        key = (key ^ bits_RW[row, w]) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


@inlined
def equal_rows(bits_RW: Uints, one: int, other: int) -> bool:
    """Whether two rows hold the same numbers."""
    # Comparing whole arrays would allocate a new array each time.
    equal = True
    for w in range(bits_RW.shape[1]):
        equal = equal and bits_RW[one, w] == bits_RW[other, w]
    return equal


@compiled
def find(table: HashTable, key: np.uint64) -> int:
    """The row of a key, -1 when it is not in the table."""
    slot = slot_of(table.keys_H, key)
    return int(table.rows_H[slot]) if table.keys_H[slot] == key else -1


@compiled
def find_all(table: HashTable, keys_Q: Uints) -> Ints32:
    """The rows of Q keys, -1 where one is not in the table."""
    rows_Q = np.empty(len(keys_Q), np.int32)
    for q in range(len(keys_Q)):
        rows_Q[q] = find(table, keys_Q[q])
    return rows_Q


@compiled
def _fill(keys_H: Uints, rows_H: Ints32, keys_K: Uints) -> int:
    for row in range(len(keys_K)):
        key = keys_K[row]
        if key == EMPTY:
            return row
        slot = slot_of(keys_H, key)
        if keys_H[slot] == key:
            return row
        keys_H[slot] = key
        rows_H[slot] = row
    return -1


class NumberedKeys(NamedTuple):
    """K = `size_1[0]` distinct keys, numbered in the order in which they came: key k is `keys_K[k]`."""

    slots_H: Ints32
    keys_K: Uints
    size_1: Ints


@compiled
def new_keys(capacity: int) -> NumberedKeys:
    """No keys, with room for at least `capacity` distinct ones before the tables must grow."""
    slots = 16
    while slots < 2 * capacity:
        slots *= 2
    return NumberedKeys(np.full(slots, -1, np.int32), np.full(slots // 2, EMPTY, np.uint64), np.zeros(1, np.int64))


@compiled
def room_for(keys: NumberedKeys, more: int) -> NumberedKeys:
    """The same keys, or a larger copy when there is no room for `more` new ones."""
    size = keys.size_1[0]
    if size + more <= len(keys.keys_K):
        return keys
    larger = new_keys(max(size + more, 2 * len(keys.keys_K)))
    larger.size_1[0] = size
    mask = np.uint64(len(larger.slots_H) - 1)
    for number in range(size):
        larger.keys_K[number] = keys.keys_K[number]
        slot = first_slot(larger.keys_K[number], mask)
        while larger.slots_H[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        larger.slots_H[slot] = number
    return larger


@compiled
def number_of(keys: NumberedKeys, key: np.uint64) -> int:
    """The number of a key, the next one if it is new; `room_for` must have been called for it."""
    mask = np.uint64(len(keys.slots_H) - 1)
    slot = first_slot(key, mask)
    number = keys.slots_H[slot]
    while number >= 0 and keys.keys_K[number] != key:
        slot = (slot + np.uint64(1)) & mask
        number = keys.slots_H[slot]
    if number < 0:
        number = np.int32(keys.size_1[0])
        keys.slots_H[slot] = number
        keys.keys_K[number] = key
        keys.size_1[0] += 1
    return int(number)


ROOT = 0


class Trie(NamedTuple):
    """N nodes; node n ends the sequence of its parent with `word_N[n]`; node 0 is the empty sequence.

    `keys_H` and `rows_H` hash (parent, word) to the node; `size_1[0]` counts the nodes in use. Parents always have
    smaller numbers than their children.
    """

    keys_H: Uints
    rows_H: Ints32
    parent_N: Ints32
    word_N: Ints32
    size_1: Ints


@compiled
def new_trie(capacity: int) -> Trie:
    """An empty trie with room for at least `capacity` nodes before it must grow."""
    slots = 16
    while slots < 2 * capacity:
        slots *= 2
    size_1 = np.ones(1, np.int64)
    parent_N = np.full(slots // 2, -1, np.int32)
    word_N = np.full(slots // 2, -1, np.int32)
    return Trie(np.full(slots, EMPTY, np.uint64), np.full(slots, -1, np.int32), parent_N, word_N, size_1)


@compiled
def room(trie: Trie, nodes: int) -> Trie:
    """The trie, or a larger copy of it when it lacks room for `nodes` more nodes."""
    needed = trie.size_1[0] + nodes
    if needed <= len(trie.parent_N):
        return trie
    larger = new_trie(max(needed, 2 * len(trie.parent_N)))
    size = trie.size_1[0]
    larger.size_1[0] = size
    for node in range(1, size):
        larger.parent_N[node], larger.word_N[node] = trie.parent_N[node], trie.word_N[node]
        key = pack(larger.parent_N[node], larger.word_N[node])
        slot = slot_of(larger.keys_H, key)
        larger.keys_H[slot] = key
        larger.rows_H[slot] = node
    return larger


@compiled
def child(trie: Trie, parent: int, word: int) -> int:
    """The node of a sequence with one more word, added if it is new; call `room` first."""
    key = pack(parent, word)
    slot = slot_of(trie.keys_H, key)
    if trie.keys_H[slot] == key:
        return int(trie.rows_H[slot])
    node = trie.size_1[0]
    trie.keys_H[slot] = key
    trie.rows_H[slot] = node
    trie.parent_N[node] = parent
    trie.word_N[node] = word
    trie.size_1[0] = node + 1
    return int(node)


@compiled
def intern_rows(ids_T: Ints32, offsets_S1: Ints) -> tuple[Trie, Ints32]:
    """Puts S whole sequences into a new trie; returns it and the node of each, shape (S,)."""
    trie = new_trie(1024)
    node_S = np.empty(len(offsets_S1) - 1, np.int32)
    for s in range(len(node_S)):
        trie = room(trie, offsets_S1[s + 1] - offsets_S1[s])
        node = ROOT
        for t in places(offsets_S1, s):
            node = child(trie, node, ids_T[t])
        node_S[s] = node
    return trie, node_S


@compiled
def spell(parent_N: Ints32, word_N: Ints32, node_S: Ints32) -> tuple[Ints32, Ints]:
    """The sequences of S nodes as flat words and offsets; the inverse of `intern_rows`."""
    offsets_S1 = np.zeros(len(node_S) + 1, np.int64)
    for s in range(len(node_S)):
        length = 0
        node = node_S[s]
        while node != ROOT:
            length += 1
            node = parent_N[node]
        offsets_S1[s + 1] = offsets_S1[s] + length
    ids_T = np.empty(offsets_S1[-1], np.int32)
    for s in range(len(node_S)):
        node = node_S[s]
        for t in range(offsets_S1[s + 1] - 1, offsets_S1[s] - 1, -1):
            ids_T[t] = word_N[node]
            node = parent_N[node]
    return ids_T, offsets_S1


@compiled
def take_rows(ids_T: Ints32, offsets_S1: Ints, row_R: Ints) -> tuple[Ints32, Ints]:
    """The sequences of R rows as flat words and offsets, without an extra number per word."""
    offsets_R1 = np.zeros(len(row_R) + 1, np.int64)
    for r in range(len(row_R)):
        offsets_R1[r + 1] = offsets_R1[r] + offsets_S1[row_R[r] + 1] - offsets_S1[row_R[r]]
    taken_T = np.empty(offsets_R1[-1], np.int32)
    for r in range(len(row_R)):
        first = offsets_S1[row_R[r]]
        for t in range(offsets_R1[r], offsets_R1[r + 1]):
            taken_T[t] = ids_T[first + t - offsets_R1[r]]
    return taken_T, offsets_R1


def preorder(parent_N: Ints32, word_N: Ints32) -> Ints32:
    """The rank of each node when sequences are sorted by their words, prefixes first; shape (N,)."""
    order = np.argsort(pair_keys(parent_N[1:], word_N[1:])).astype(np.int32) + np.int32(1)
    first_N1 = np.searchsorted(parent_N[order], np.arange(len(parent_N) + 1)).astype(np.int64)
    return _walk(order, first_N1)


@compiled
def _walk(order: Ints32, first_N1: Ints) -> Ints32:
    """Numbers the nodes depth first; the sorted children of node n are `order[first_N1[n]:first_N1[n + 1]]`."""
    rank_N = np.empty(len(first_N1) - 1, np.int32)
    waiting = np.empty(len(first_N1), np.int32)
    waiting[0] = ROOT
    top, rank = 1, 0
    while top > 0:
        top -= 1
        node = waiting[top]
        rank_N[node] = rank
        rank += 1
        for k in range(first_N1[node + 1] - 1, first_N1[node] - 1, -1):
            waiting[top] = order[k]
            top += 1
    return rank_N


FREE = -1


@loop
def distinct_rows(bits_OK: Uints) -> tuple[Ints32, Ints]:
    """A number for each of O rows: 0 for a row of zeros, the others in order of first occurrence.

    Returns:
        The numbers, (O,), and the first row of each number from 1 on.
    """
    rows = len(bits_OK)
    size = 8
    while size < 2 * rows:
        size *= 2
    slots_H = np.full(size, FREE, np.int64)
    number_O, first_F = np.zeros(rows, np.int32), np.empty(rows, np.int64)
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


@inlined
def bounds(offsets_R1: AnyInts, row: int) -> tuple[int, int]:
    """Where the values of a ragged row begin and end."""
    return offsets_R1[row], offsets_R1[row + 1]


@inlined
def places(offsets_R1: AnyInts, row: int) -> range:
    """The places of the values of a ragged row."""
    return range(offsets_R1[row], offsets_R1[row + 1])


@inlined
def row_values(values_N: AnyArray, offsets_R1: AnyInts, row: int) -> AnyArray:
    """The values of a ragged row."""
    return values_N[offsets_R1[row] : offsets_R1[row + 1]]


@loop
def best_of_rows(score_B: Floats, offsets_S1: Ints, most: int) -> Ints:
    """The places of the `most` highest scores of each of S rows, best first; ties go to the first."""
    best, size = np.empty(len(score_B), np.int64), 0
    for s in range(len(offsets_S1) - 1):
        first, last = bounds(offsets_S1, s)
        order = np.argsort(-score_B[first:last], kind="mergesort")
        for rank in range(min(most, last - first)):
            best[size] = first + order[rank]
            size += 1
    return best[:size].copy()


def best_of_each(score_C: AnyFloats, offsets_I1: Ints) -> Ints:
    """The place of the highest score in each of I lists, none for an empty one; ties go to the first."""
    return best_of_rows(np.ascontiguousarray(score_C, np.float64), offsets_I1, 1)


@loop
def grown(items: AnyArray, used: int, more: int) -> AnyArray:
    """An array that begins with the first `used` items and has room for `more` after them: the same one if possible."""
    if used + more <= len(items):
        return items
    larger = np.empty((2 * len(items) + more, *items.shape[1:]), items.dtype)
    larger[:used] = items[:used]
    return larger
