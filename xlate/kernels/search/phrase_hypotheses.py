"""Hypotheses of the phrase decoder: recombined, in stacks with a bar for what will survive, with arcs between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.memory.hashing import EMPTY, first_slot, pack

NONE = -1
# A hypothesis that no stack holds any more, because the beam has no place for it.
PRUNED = -2

# A hypothesis: its state (see `PhraseState`), score, score plus estimate, best arc, the next one of its stack.
NODE = np.dtype(
    [
        ("cover", np.int32),
        ("start", np.int32),
        ("end", np.int32),
        ("forward", np.int32),
        ("lm_state", np.int32),
        ("stack", np.int32),
        ("last", np.int32),
        ("score", np.float64),
        ("estimate", np.float64),
        ("arc", np.int32),
        ("next", np.int32),
    ]
)
ARC = np.dtype([("source", np.int32), ("target", np.int32), ("label", np.int32), ("score", np.float64)])
# What the language model said of an option after a history; direct-mapped, so that a new entry replaces an old one.
MEMO = np.dtype([("key", np.uint64), ("logprob", np.float64), ("after", np.int64)])
MEMO_SIZE = 1 << 14


class Limits(NamedTuple):
    """How many hypotheses a stack keeps (0: all), how far below its best, and whether arcs that lose are kept."""

    beam: int
    log_threshold: float
    every_arc: bool


class Search(NamedTuple):
    """The growing arrays of one search; the first `counts[0]` nodes and `counts[1]` arcs are in use.

    `slots_H` is a hash table of node numbers. For each level, that is number of covered words (the goal is one more
    than the sentence): `heads_L` begins the chain of its nodes, newest first, `sizes_L` counts them; what is below
    `bars_L` will not survive, and `tops_L` is the best estimate.
    """

    nodes: NDArray[Any]
    arcs: NDArray[Any]
    slots_H: NDArray[np.int32]
    heads_L: NDArray[np.int32]
    sizes_L: NDArray[np.int64]
    bars_L: NDArray[np.float64]
    tops_L: NDArray[np.float64]
    counts: NDArray[np.int64]
    memo: NDArray[Any]


class Target(NamedTuple):
    """Where moves over one span from one hypothesis lead to: the state but for the option, and the estimate.

    `first` is the kind of the first word of the group on top of the stack, `OPEN` when the option's own word is it.
    """

    cover: int
    level: int
    start: int
    end: int
    stack: int
    first: int
    complete: bool
    future: float


@njit(cache=True, nogil=True, forceinline=True)
def empty_search(words: int) -> Search:
    """A search of a sentence before its first hypothesis."""
    memo = np.empty(MEMO_SIZE, dtype=MEMO)
    memo["key"][:] = EMPTY
    return Search(
        np.empty(4096, dtype=NODE),
        np.empty(4096, dtype=ARC),
        np.full(16384, NONE, dtype=np.int32),
        np.full(words + 2, NONE, dtype=np.int32),
        np.zeros(words + 2, dtype=np.int64),
        np.full(words + 2, -np.inf),
        np.full(words + 2, -np.inf),
        np.zeros(2, dtype=np.int64),
        memo,
    )


@njit(cache=True, nogil=True, forceinline=True)
def add_move(
    search: Search,
    limits: Limits,
    target: Target,
    parent: int,
    forward: int,
    last: int,
    stack: int,
    lm_state: int,
    score: float,
    label: int,
) -> None:
    """Adds one move: a new hypothesis, or one more arc to the hypothesis of an equal state; there must be room."""
    nodes, counts = search.nodes, search.counts
    if target.complete:
        forward = 0
    node = _find_or_add(search, target, forward, last, stack, lm_state)
    total = (nodes[parent].score if parent >= 0 else 0.0) + score
    improved = total > nodes[node].score
    if improved:
        nodes[node].score = total
        nodes[node].estimate = total + target.future
        nodes[node].arc = counts[1] if parent >= 0 else NONE
        _enter(search, limits, node, target.level)
    if parent >= 0 and (improved or limits.every_arc):
        arc = search.arcs[counts[1]]
        arc.source, arc.target, arc.label, arc.score = parent, node, label, score
        counts[1] += 1


@njit(cache=True, nogil=True, forceinline=True)
def _find_or_add(search: Search, target: Target, forward: int, last: int, stack: int, lm_state: int) -> int:
    nodes, slots_H = search.nodes, search.slots_H
    mask = np.uint64(len(slots_H) - 1)
    slot = _slot(target.cover, target.start, target.end, forward, lm_state, stack, last, mask)
    while slots_H[slot] >= 0:
        node = nodes[slots_H[slot]]
        if (
            node.cover == target.cover
            and node.lm_state == lm_state
            and node.end == target.end
            and node.start == target.start
            and node.forward == forward
            and node.stack == stack
            and node.last == last
        ):
            return int(slots_H[slot])
        slot = (slot + np.uint64(1)) & mask
    number = search.counts[0]
    search.counts[0] = number + 1
    slots_H[slot] = number
    node = nodes[number]
    node.cover, node.start, node.end, node.forward = target.cover, target.start, target.end, forward
    node.lm_state, node.stack, node.last = lm_state, stack, last
    node.score, node.estimate, node.arc, node.next = -np.inf, -np.inf, NONE, PRUNED
    return int(number)


@njit(cache=True, inline="always")
def _slot(
    cover: int, start: int, end: int, forward: int, lm_state: int, stack: int, last: int, mask: np.uint64
) -> np.uint64:
    low = pack(forward, ((start + 1) << 16) | end) * np.uint64(0x9E3779B97F4A7C15)
    return first_slot(pack(cover, lm_state) ^ low ^ (pack(last, stack) * np.uint64(0xC2B2AE3D27D4EB4F)), mask)


@njit(cache=True, nogil=True, forceinline=True)
def _enter(search: Search, limits: Limits, node: int, level: int) -> None:
    """Puts a hypothesis into its stack unless it is there, and raises the bar when more than the beam has gathered."""
    estimate = search.nodes[node].estimate
    if estimate > search.tops_L[level]:
        search.tops_L[level] = estimate
        search.bars_L[level] = max(search.bars_L[level], estimate + limits.log_threshold)
    if search.nodes[node].next == PRUNED and estimate >= search.bars_L[level]:
        search.nodes[node].next = search.heads_L[level]
        search.heads_L[level] = node
        search.sizes_L[level] += 1
        if limits.beam > 0 and search.sizes_L[level] >= limits.beam + limits.beam // 4 + 8:
            _raise_bar(search, level, limits.beam)


@njit(cache=True, nogil=True, forceinline=True)
def _raise_bar(search: Search, level: int, beam: int) -> None:
    """Leaves the best `beam` hypotheses of a stack, and their equals, in its chain."""
    members = _members(search, level)
    estimates = search.nodes["estimate"][members]
    place = len(members) - beam
    search.bars_L[level] = max(search.bars_L[level], np.partition(estimates, place)[place])
    search.heads_L[level] = NONE
    search.sizes_L[level] = 0
    for node in members[::-1]:
        search.nodes[node].next = PRUNED
        if search.nodes[node].estimate >= search.bars_L[level]:
            search.nodes[node].next = search.heads_L[level]
            search.heads_L[level] = node
            search.sizes_L[level] += 1


@njit(cache=True, nogil=True, forceinline=True)
def _members(search: Search, level: int) -> NDArray[np.int64]:
    members = np.empty(search.sizes_L[level], dtype=np.int64)
    node = search.heads_L[level]
    for at in range(len(members)):
        members[at] = node
        node = search.nodes[node].next
    return members


@njit(cache=True, nogil=True, forceinline=True)
def survivors(search: Search, level: int, beam: int) -> NDArray[np.int64]:
    """The hypotheses of a stack that are expanded, best first, equal ones in the order of creation."""
    members = np.sort(_members(search, level))
    estimates = search.nodes["estimate"][members]
    kept = members[estimates >= search.bars_L[level]]
    ordered: NDArray[np.int64] = kept[np.argsort(-search.nodes["estimate"][kept], kind="mergesort")]
    return ordered[:beam] if beam > 0 else ordered


@njit(cache=True, nogil=True, forceinline=True)
def with_room(search: Search, more: int) -> Search:
    """The same search in arrays that can take `more` nodes and arcs."""
    nodes, arcs, slots_H, counts = search.nodes, search.arcs, search.slots_H, search.counts
    if counts[0] + more <= len(nodes) and counts[1] + more <= len(arcs):
        return search
    if counts[0] + more > len(nodes):
        nodes = np.empty(2 * len(nodes) + more, dtype=NODE)
        nodes[: counts[0]] = search.nodes[: counts[0]]
        size = len(slots_H)
        while size < 2 * len(nodes):
            size *= 2
        slots_H = np.full(size, NONE, dtype=np.int32)
        mask = np.uint64(size - 1)
        for number in range(counts[0]):
            node = nodes[number]
            slot = _slot(node.cover, node.start, node.end, node.forward, node.lm_state, node.stack, node.last, mask)
            while slots_H[slot] >= 0:
                slot = (slot + np.uint64(1)) & mask
            slots_H[slot] = number
    if counts[1] + more > len(arcs):
        arcs = np.empty(2 * len(arcs) + more, dtype=ARC)
        arcs[: counts[1]] = search.arcs[: counts[1]]
    return Search(
        nodes, arcs, slots_H, search.heads_L, search.sizes_L, search.bars_L, search.tops_L, counts, search.memo
    )
