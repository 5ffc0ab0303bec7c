"""A growing trie of word sequences in one hash table: two sequences have the same node only when they are equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints, Ints32, Uints
from xlate.compiled import compiled
from xlate.kernels.memory.hashing import EMPTY, first_slot, pack

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
    size_1 = np.ones(1, dtype=np.int64)
    parent_N = np.full(slots // 2, -1, dtype=np.int32)
    word_N = np.full(slots // 2, -1, dtype=np.int32)
    return Trie(np.full(slots, EMPTY, dtype=np.uint64), np.full(slots, -1, dtype=np.int32), parent_N, word_N, size_1)


@compiled
def room(trie: Trie, nodes: int) -> Trie:
    """The trie, or a larger copy of it when it lacks room for `nodes` more nodes."""
    needed = trie.size_1[0] + nodes
    if needed <= len(trie.parent_N):
        return trie
    larger = new_trie(max(needed, 2 * len(trie.parent_N)))
    size = trie.size_1[0]
    larger.size_1[0] = size
    mask = np.uint64(len(larger.keys_H) - 1)
    for node in range(1, size):
        larger.parent_N[node], larger.word_N[node] = trie.parent_N[node], trie.word_N[node]
        key = pack(larger.parent_N[node], larger.word_N[node])
        slot = first_slot(key, mask)
        while larger.keys_H[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & mask
        larger.keys_H[slot] = key
        larger.rows_H[slot] = node
    return larger


@compiled
def child(trie: Trie, parent: int, word: int) -> int:
    """The node of a sequence with one more word, made when it is new; `room` must have been called for it."""
    key = pack(parent, word)
    mask = np.uint64(len(trie.keys_H) - 1)
    slot = first_slot(key, mask)
    while trie.keys_H[slot] != EMPTY:
        if trie.keys_H[slot] == key:
            return int(trie.rows_H[slot])
        slot = (slot + np.uint64(1)) & mask
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
    node_S = np.empty(len(offsets_S1) - 1, dtype=np.int32)
    for s in range(len(node_S)):
        trie = room(trie, offsets_S1[s + 1] - offsets_S1[s])
        node = ROOT
        for t in range(offsets_S1[s], offsets_S1[s + 1]):
            node = child(trie, node, ids_T[t])
        node_S[s] = node
    return trie, node_S


@compiled
def spell(parent_N: Ints32, word_N: Ints32, node_S: Ints32) -> tuple[Ints32, Ints]:
    """The sequences of S nodes as flat words and offsets; the inverse of `intern_rows`."""
    offsets_S1 = np.zeros(len(node_S) + 1, dtype=np.int64)
    for s in range(len(node_S)):
        length = 0
        node = node_S[s]
        while node != ROOT:
            length += 1
            node = parent_N[node]
        offsets_S1[s + 1] = offsets_S1[s] + length
    ids_T = np.empty(offsets_S1[-1], dtype=np.int32)
    for s in range(len(node_S)):
        node = node_S[s]
        for t in range(offsets_S1[s + 1] - 1, offsets_S1[s] - 1, -1):
            ids_T[t] = word_N[node]
            node = parent_N[node]
    return ids_T, offsets_S1


@compiled
def take_rows(ids_T: Ints32, offsets_S1: Ints, row_R: Ints) -> tuple[Ints32, Ints]:
    """The sequences of R rows as flat words and offsets, without a further number for each word."""
    offsets_R1 = np.zeros(len(row_R) + 1, dtype=np.int64)
    for r in range(len(row_R)):
        offsets_R1[r + 1] = offsets_R1[r] + offsets_S1[row_R[r] + 1] - offsets_S1[row_R[r]]
    taken_T = np.empty(offsets_R1[-1], dtype=np.int32)
    for r in range(len(row_R)):
        first = offsets_S1[row_R[r]]
        for t in range(offsets_R1[r], offsets_R1[r + 1]):
            taken_T[t] = ids_T[first + t - offsets_R1[r]]
    return taken_T, offsets_R1


def preorder(parent_N: Ints32, word_N: Ints32) -> Ints32:
    """The rank of each node when sequences are sorted by their words, prefixes first; shape (N,)."""
    parents = parent_N[1:].astype(np.uint64)
    order = np.argsort((parents << np.uint64(32)) | word_N[1:].astype(np.uint64)).astype(np.int32) + np.int32(1)
    first_N1 = np.searchsorted(parent_N[order], np.arange(len(parent_N) + 1)).astype(np.int64)
    ranks: Ints32 = _walk(order, first_N1)
    return ranks


@compiled
def _walk(order: Ints32, first_N1: Ints) -> Ints32:
    """Numbers the nodes depth first; the sorted children of node n are `order[first_N1[n]:first_N1[n + 1]]`."""
    rank_N = np.empty(len(first_N1) - 1, dtype=np.int32)
    waiting = np.empty(len(first_N1), dtype=np.int32)
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
