"""What a phrase hypothesis has translated, which spans may come next, and how they relate to what is there.

Coverages are bit sets of any length. A stack of groups is a node of a trie; each group takes two steps in it, its
source span and the kind of its first target word, so two stacks have the same number exactly when they are equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32, Uints
from xlate.compiled import embedded, inlined, inner, loop
from xlate.kernels.memory import ROOT, Trie, child, equal_rows, first_slot, grown, row_key
from xlate.kernels.pairs import (
    DISCONTINUOUS,
    DISCONTINUOUS_LEFT,
    DISCONTINUOUS_RIGHT,
    MONOTONE,
    MONOTONE_GLOBAL,
    SWAP,
)

NONE = -1
SPAN_BITS = 15
LOW = (1 << SPAN_BITS) - 1
# The kind of a first word that is known only from the option.
OPEN = -1
# What orients phrases.
NO_REORDERING, WORD_BASED, HIERARCHICAL, FIVE_WAY = 0, 1, 2, 3
# A span that may be translated next, and the coverage that it leads to.
EDGE = np.dtype([("begin", np.int64), ("end", np.int64), ("cell", np.int64), ("cover", np.int64)])
# The number of covered words, the first gap, covered words between gaps, the estimate of all gaps, and the edges.
COVER = np.dtype(
    [
        ("level", np.int64),
        ("gap", np.int64),
        ("between", np.int64),
        ("edges_begin", np.int64),
        ("edges_end", np.int64),
        ("future", np.float64),
    ]
)


class Spans(NamedTuple):
    """The spans of a sentence of n words that may be translated: those of at most `longest` words that have options.

    Those of cell c are `cell_offsets_C1[c]` to `cell_offsets_C1[c + 1]`. A span begins at the first gap or ends at most
    `limit` words after the gap's begin (no limit when negative). `future_nn` estimates the score of every span.
    """

    words: int
    longest: int
    limit: int
    cell_offsets_C1: Ints
    future_nn: Floats


class Coverages(NamedTuple):
    """The first `sizes[0]` coverages and `sizes[1]` edges are in use; coverage 0 is empty.

    `bits_CW` has 64 words per number; `slots_H` is a hash table of coverage numbers.
    """

    spans: Spans
    bits_CW: Uints
    covers: AnyArray
    slots_H: Ints32
    edges: AnyArray
    sizes: Ints


@loop
def new_coverages(spans: Spans) -> Coverages:
    """The coverages of a sentence, at first only the empty one."""
    bits_CW = np.zeros((256, spans.words // 64 + 1), dtype=np.uint64)
    slots_H = np.full(1024, NONE, dtype=np.int32)
    covers, edges = np.empty(256, dtype=COVER), np.empty(1024, dtype=EDGE)
    coverages = Coverages(spans, bits_CW, covers, slots_H, edges, np.zeros(2, dtype=np.int64))
    _number(coverages)
    return coverages


@inlined
def is_covered(coverages: Coverages, cover: int, word: int) -> bool:
    """Whether a coverage contains a source word."""
    return bool((coverages.bits_CW[cover, word >> 6] >> np.uint64(word & 63)) & np.uint64(1))


@loop
def expand_cover(coverages: Coverages, cover: int) -> Coverages:
    """Lists the spans that a coverage may add, unless already done; returns the coverages, perhaps in new arrays.

    These spans lie in a gap; see `PhraseMoves.expand`. A span's distance from the previous one depends on the
    hypothesis.
    """
    if coverages.covers[cover].edges_begin != NONE:
        return coverages
    spans, gap = coverages.spans, coverages.covers[cover].gap
    words, longest, limit = spans.words, spans.longest, spans.limit
    coverages = covers_with_room(coverages, (words - gap) * longest)
    coverages.covers[cover].edges_begin = coverages.sizes[1]
    for begin in range(gap, words):
        if limit >= 0 and begin > gap and begin + 1 - gap > limit:
            break
        for end in range(begin + 1, min(words, begin + longest) + 1):
            if is_covered(coverages, cover, end - 1) or (limit >= 0 and begin > gap and end - gap > limit):
                break
            cell = begin * longest + end - begin - 1
            if spans.cell_offsets_C1[cell] < spans.cell_offsets_C1[cell + 1]:
                edge = coverages.edges[coverages.sizes[1]]
                edge.begin, edge.end, edge.cell = begin, end, cell
                edge.cover = with_span(coverages, cover, begin, end)
                coverages.sizes[1] += 1
    coverages.covers[cover].edges_end = coverages.sizes[1]
    return coverages


@embedded
def with_span(coverages: Coverages, cover: int, begin: int, end: int) -> int:
    """The number of a coverage with a span added; there must be room for a new one."""
    bits_CW = coverages.bits_CW
    new = coverages.sizes[0]
    for w in range(bits_CW.shape[1]):
        bits_CW[new, w] = bits_CW[cover, w]
    for word in range(begin, end):
        bits_CW[new, word >> 6] |= np.uint64(1) << np.uint64(word & 63)
    return _number(coverages)


@embedded
def _number(coverages: Coverages) -> int:
    """The number of the coverage whose bits were written after the last one; added if it is new."""
    bits_CW, new = coverages.bits_CW, coverages.sizes[0]
    slot = _slot(bits_CW, new, coverages.slots_H)
    while coverages.slots_H[slot] >= 0:
        known = coverages.slots_H[slot]
        if equal_rows(bits_CW, known, new):
            return int(known)
        slot = (slot + np.uint64(1)) & np.uint64(len(coverages.slots_H) - 1)
    coverages.slots_H[slot] = new
    coverages.sizes[0] = new + 1
    _describe(coverages, new)
    return int(new)


@embedded
def _describe(coverages: Coverages, number: int) -> None:
    cover, words = coverages.covers[number], coverages.spans.words
    cover.level, cover.gap, cover.between, cover.future = 0, words, 0, 0.0
    cover.edges_begin = NONE
    at, behind = 0, 0
    while at < words:
        begin = at
        while at < words and is_covered(coverages, number, at):
            at += 1
        cover.level += at - begin
        begin = at
        while at < words and not is_covered(coverages, number, at):
            at += 1
        if begin < at:
            cover.future += coverages.spans.future_nn[begin, at]
            if cover.gap == words:
                cover.gap = begin
            else:
                cover.between += begin - behind
            behind = at


@inlined
def _slot(bits_CW: Uints, row: int, slots_H: Ints32) -> np.uint64:
    return first_slot(row_key(bits_CW, row), np.uint64(len(slots_H) - 1))


@inner
def covers_with_room(coverages: Coverages, more: int) -> Coverages:
    """The same coverages in arrays with room for `more` coverages and edges, and one coverage in progress."""
    spans, bits_CW, covers, slots_H, edges, sizes = coverages
    bits_CW, covers = grown(bits_CW, sizes[0], more + 1), grown(covers, sizes[0], more + 1)
    slots = len(slots_H)
    while slots < 2 * len(covers):
        slots *= 2
    if slots > len(slots_H):
        slots_H = np.full(slots, NONE, dtype=np.int32)
        for number in range(sizes[0]):
            slot = _slot(bits_CW, number, slots_H)
            while slots_H[slot] >= 0:
                slot = (slot + np.uint64(1)) & np.uint64(slots - 1)
            slots_H[slot] = number
    return Coverages(spans, bits_CW, covers, slots_H, grown(edges, sizes[1], more), sizes)


class Placed(NamedTuple):
    """A span placed after a hypothesis: orientations, the group before it, and the stack except for the first word.

    `first` is the kind of the first word of the group that now contains the span, `OPEN` when the span begins one.
    """

    backward: int
    forward: int
    stack: int
    first: int
    group_begin: int
    group_end: int
    group_first: int


@inlined
def adjacent(start_before: int, end_before: int, begin: int, end: int) -> int:
    """How a span lies relative to the previous one."""
    if begin == end_before:
        return MONOTONE
    return SWAP if end == start_before else DISCONTINUOUS


@embedded
def place(
    coverages: Coverages, stacks: Trie, behind: tuple[int, int, int, int], span: tuple[int, int], reordering: int
) -> Placed:
    """Places a span; with a hierarchical model, there must be room for one more node in `stacks`.

    It comes after a coverage, the previous span (begin and end) and a stack.
    """
    (cover, start_before, end_before, stack), (begin, end) = behind, span
    forward = adjacent(start_before, end_before, begin, end)
    if reordering < HIERARCHICAL:
        return Placed(forward, forward, ROOT, 0, NONE, 0, 0)
    if forward == DISCONTINUOUS:
        if begin > end_before and not is_covered(coverages, cover, end_before):
            forward = MONOTONE
        elif end < start_before and not is_covered(coverages, cover, start_before - 1):
            forward = SWAP
    orientation, group_begin, group_end, group_first = NONE, NONE, 0, 0
    alone = stack == ROOT or stacks.parent_N[stacks.parent_N[stack]] == ROOT
    first = OPEN
    low, high = begin, end
    while True:
        start_top, end_top = NONE, 0
        if stack != ROOT:
            top = stacks.word_N[stacks.parent_N[stack]]
            start_top, end_top = top >> SPAN_BITS, top & LOW
        seen = adjacent(start_top, end_top, low, high)
        if orientation == NONE:
            orientation, group_begin, group_end = seen, start_top, end_top
            group_first = stacks.word_N[stack] if stack != ROOT else 0
        if stack == ROOT or seen == DISCONTINUOUS:
            break
        low, high = min(low, start_top), max(high, end_top)
        first = stacks.word_N[stack]
        stack = int(stacks.parent_N[stacks.parent_N[stack]])
    if reordering == FIVE_WAY:
        orientation = refine(orientation, begin >= group_end, alone)
        described = coverages.covers[cover]
        forward = refine(forward, begin >= end_before, described.gap == end_before and described.between == 0)
    stack = child(stacks, stack, (low << SPAN_BITS) | high)
    return Placed(orientation, forward, stack, first, group_begin, group_end, group_first)


@inlined
def refine(orientation: int, behind: bool, everything: bool) -> int:
    """One of five orientations from one of three: the direction of a jump, and whether all the rest is one block."""
    if orientation == DISCONTINUOUS:
        return DISCONTINUOUS_LEFT if behind else DISCONTINUOUS_RIGHT
    return MONOTONE_GLOBAL if orientation == MONOTONE and everything else orientation
