"""Hypotheses of every compiled search: recombined, in stacks with a bar for survival, and with arcs between them.

A search packs everything it must distinguish into a `Key` of three 64-bit words; equal keys are one hypothesis. The
store compares and hashes keys and knows nothing of their meaning. Only the group beam uses the first word: put there
what has been translated, if hypotheses of one coverage may crowd out the others. What does not fit into a word (a bit
set, a list, a stack) is numbered in a table or trie of the search, equal ones equally, and the number goes into the
key. A *level* is a stack: any number that every move raises, such as that of covered words.

A search with this store is a loop over levels: `survivors` of a level, `with_room`, `add_move` for each of their moves;
`finished` gives nodes, arcs and the goal, which is the hypothesis in the last level. So other searches fit without a
change:

- A hierarchical decoder from left to right: the stack of open spans in a trie (like the phrase decoder's groups), its
  number and the history in one word, what has been translated in the first; the level is the number of covered words.
- A decoder of lattices: a node of the lattice, or the number of a coverage, in the first word, history and last phrase
  in the others; the level is the node's place in topological order, or the length of the longest path to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.compiled import embedded, inlined, inner, loop
from xlate.kernels.memory import EMPTY, first_slot, grown

NONE = -1
# A hypothesis that is no longer in any stack, because the beam has no place for it.
PRUNED = -2
# A word holds two numbers of this many bits.
HALF = 32
LOW = (1 << HALF) - 1

# A hypothesis: its key, score, the estimate of the score to come, best arc, and the next one of its stack.
NODE = np.dtype(
    [
        ("first", np.int64),
        ("second", np.int64),
        ("third", np.int64),
        ("score", np.float64),
        ("future", np.float64),
        ("arc", np.int32),
        ("next", np.int32),
    ]
)
ARC = np.dtype([("source", np.int32), ("target", np.int32), ("label", np.int32), ("score", np.float64)])


# Everything that a continuation depends on, packed by the search; make it with `key_of`.
Key = tuple[int, int, int]


class Limits(NamedTuple):
    """How many hypotheses a level keeps (0: all), how many with equal first words (0: all), how far below its best.

    `every_arc` says whether arcs that do not improve a hypothesis are kept; the best path does not need them.
    """

    beam: int
    group_beam: int
    log_threshold: float
    every_arc: bool


class Hypotheses(NamedTuple):
    """The growing arrays of one search; the first `counts[0]` nodes and `counts[1]` arcs are in use.

    `slots_H` is a hash table of node numbers. For each level, `heads_L` begins the chain of its nodes, newest first,
    and `sizes_L` counts them; anything below `bars_L` will not survive, and `tops_L` is the best estimate. `memo`
    stores answers of the language model in the search's own kind of record, see `phrase_lm.remembered`.
    """

    nodes: AnyArray
    arcs: AnyArray
    slots_H: Ints32
    heads_L: Ints32
    sizes_L: Ints
    bars_L: Floats
    tops_L: Floats
    counts: Ints
    memo: AnyArray


@inlined
def join(high: int, low: int) -> int:
    """One word made of two 32-bit numbers, which may be negative."""
    return int((np.int64(high) << HALF) | (np.int64(low) & LOW))


@inlined
def high(word: int) -> int:
    """The first number of a word."""
    return word >> HALF


@inlined
def low(word: int) -> int:
    """The second number of a word."""
    return (word << HALF) >> HALF


@inlined
def key_of(first: int, second: int, third: int) -> Key:
    """A key made of three words."""
    return int(np.int64(first)), int(np.int64(second)), int(np.int64(third))


@loop
def no_hypotheses(levels: int, memo: AnyArray) -> Hypotheses:
    """A search with `levels` levels before its first hypothesis; clears the memo."""
    memo["key"][:] = EMPTY
    return Hypotheses(
        np.empty(4096, dtype=NODE),
        np.empty(4096, dtype=ARC),
        np.full(16384, NONE, dtype=np.int32),
        np.full(levels, NONE, dtype=np.int32),
        np.zeros(levels, dtype=np.int64),
        np.full(levels, -np.inf),
        np.full(levels, -np.inf),
        np.zeros(2, dtype=np.int64),
        memo,
    )


@embedded
def finished(search: Hypotheses) -> tuple[AnyArray, AnyArray, int]:
    """Nodes (`NODE`), arcs (`ARC`), and the number of the goal, -1 when the last level is empty."""
    return search.nodes[: search.counts[0]], search.arcs[: search.counts[1]], int(search.heads_L[-1])


@embedded
def add_move(
    search: Hypotheses, limits: Limits, parent: int, key: Key, level: int, future: float, score: float, label: int
) -> None:
    """Adds one move: a new hypothesis, or one more arc to the hypothesis with an equal key; there must be room.

    The first hypothesis has no parent (-1) and no arc. `future` estimates the score to come after `key`.
    """
    nodes, counts = search.nodes, search.counts
    node = _find_or_add(search, key)
    total = (nodes[parent].score if parent >= 0 else 0.0) + score
    improved = total > nodes[node].score
    if improved:
        nodes[node].score = total
        nodes[node].future = future
        nodes[node].arc = counts[1] if parent >= 0 else NONE
        _enter(search, limits, node, level)
    if parent >= 0 and (improved or limits.every_arc):
        arc = search.arcs[counts[1]]
        arc.source, arc.target, arc.label, arc.score = parent, node, label, score
        counts[1] += 1


@embedded
def _find_or_add(search: Hypotheses, key: Key) -> int:
    nodes, slots_H, (first, second, third) = search.nodes, search.slots_H, key
    mask = np.uint64(len(slots_H) - 1)
    slot = _slot(first, second, third, mask)
    while slots_H[slot] >= 0:
        node = nodes[slots_H[slot]]
        if node.second == second and node.first == first and node.third == third:
            return int(slots_H[slot])
        slot = (slot + np.uint64(1)) & mask
    number = search.counts[0]
    search.counts[0] = number + 1
    slots_H[slot] = number
    node = nodes[number]
    node.first, node.second, node.third = key
    node.score, node.future, node.arc, node.next = -np.inf, 0.0, NONE, PRUNED
    return int(number)


@inlined
def _slot(first: int, second: int, third: int, mask: np.uint64) -> np.uint64:
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(third) * np.uint64(0xC2B2AE3D27D4EB4F)
    return first_slot(mixed ^ np.uint64(second), mask)


@embedded
def _enter(search: Hypotheses, limits: Limits, node: int, level: int) -> None:
    """Puts a hypothesis into its stack unless it is there, and raises the bar if the stack has outgrown the beam."""
    estimate = search.nodes[node].score + search.nodes[node].future
    if estimate > search.tops_L[level]:
        search.tops_L[level] = estimate
        search.bars_L[level] = max(search.bars_L[level], estimate + limits.log_threshold)
    if search.nodes[node].next == PRUNED and estimate >= search.bars_L[level]:
        search.nodes[node].next = search.heads_L[level]
        search.heads_L[level] = node
        search.sizes_L[level] += 1
        # A group beam may drop better ones than the beam does, so it is not known early which are lost.
        if limits.beam > 0 and limits.group_beam == 0 and search.sizes_L[level] >= limits.beam + limits.beam // 4 + 8:
            _raise_bar(search, level, limits.beam)


@inner
def _raise_bar(search: Hypotheses, level: int, beam: int) -> None:
    """Leaves the best `beam` hypotheses of a stack, and any ties, in its chain."""
    members = _members(search, level)
    estimates = _estimates(search, members)
    place = len(members) - beam
    search.bars_L[level] = max(search.bars_L[level], np.partition(estimates, place)[place])
    search.heads_L[level] = NONE
    search.sizes_L[level] = 0
    for at in range(len(members) - 1, -1, -1):
        node = members[at]
        search.nodes[node].next = PRUNED
        if estimates[at] >= search.bars_L[level]:
            search.nodes[node].next = search.heads_L[level]
            search.heads_L[level] = node
            search.sizes_L[level] += 1


@inner
def _members(search: Hypotheses, level: int) -> Ints:
    members = np.empty(search.sizes_L[level], dtype=np.int64)
    node = search.heads_L[level]
    for at in range(len(members)):
        members[at] = node
        node = search.nodes[node].next
    return members


@inner
def _estimates(search: Hypotheses, members: Ints) -> Floats:
    """The score of each hypothesis and the estimate of the score to come, together."""
    estimates = np.empty(len(members))
    for at in range(len(members)):
        node = search.nodes[members[at]]
        estimates[at] = node.score + node.future
    return estimates


@loop
def survivors(search: Hypotheses, limits: Limits, level: int) -> Ints:
    """The hypotheses of a level that are expanded, best first; ties in order of creation."""
    members = np.sort(_members(search, level))
    estimates = _estimates(search, members)
    kept = estimates >= search.bars_L[level]
    ordered: Ints = members[kept][np.argsort(-estimates[kept], kind="mergesort")]
    if limits.group_beam > 0:
        ordered = _best_of_groups(search.nodes, ordered, limits.group_beam)
    return ordered[: limits.beam] if limits.beam > 0 else ordered


@inner
def _best_of_groups(nodes: AnyArray, ordered: Ints, most: int) -> Ints:
    """The first `most` of every group, in the given order."""
    kept, size = np.empty(len(ordered), dtype=np.int64), 0
    first_G, count_G = np.empty(len(ordered), dtype=np.int64), np.zeros(len(ordered), dtype=np.int64)
    groups = 0
    for node in ordered:
        g = 0
        while g < groups and first_G[g] != nodes[node].first:
            g += 1
        if g == groups:
            first_G[g] = nodes[node].first
            groups += 1
        count_G[g] += 1
        if count_G[g] <= most:
            kept[size] = node
            size += 1
    return kept[:size]


@loop
def with_room(search: Hypotheses, more: int) -> Hypotheses:
    """The same search in arrays with room for `more` nodes and arcs."""
    nodes, arcs, slots_H, heads_L, sizes_L, bars_L, tops_L, counts, memo = search
    if counts[0] + more <= len(nodes) and counts[1] + more <= len(arcs):
        return search
    nodes, arcs = grown(nodes, counts[0], more), grown(arcs, counts[1], more)
    size = len(slots_H)
    while size < 2 * len(nodes):
        size *= 2
    if size > len(slots_H):
        slots_H = np.full(size, NONE, dtype=np.int32)
        mask = np.uint64(size - 1)
        for number in range(counts[0]):
            slot = _slot(nodes[number].first, nodes[number].second, nodes[number].third, mask)
            while slots_H[slot] >= 0:
                slot = (slot + np.uint64(1)) & mask
            slots_H[slot] = number
    return Hypotheses(nodes, arcs, slots_H, heads_L, sizes_L, bars_L, tops_L, counts, memo)
