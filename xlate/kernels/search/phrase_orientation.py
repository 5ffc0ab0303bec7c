"""Orientation of a phrase after a hypothesis, and what the group of phrases before it adds to its score.

`xlate.models.phrase.orientation` is the readable form. A stack of groups is a node of a trie; a group is two steps in
it, its source span and the kind of its first target word, so that equal stacks, and only they, have equal numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from xlate.array_types import Floats, Ints32
from xlate.compiled import embedded, inlined
from xlate.kernels.memory.trie import ROOT, Trie, child
from xlate.kernels.orientation import (
    DISCONTINUOUS,
    DISCONTINUOUS_LEFT,
    DISCONTINUOUS_RIGHT,
    MONOTONE,
    MONOTONE_GLOBAL,
    SWAP,
)
from xlate.kernels.search.phrase_coverage import Coverages, is_covered

NONE = -1
SPAN_BITS = 15
LOW = (1 << SPAN_BITS) - 1
# The kind of a first word that only the option knows.
OPEN = -1


class GroupScores(NamedTuple):
    """What the group before a phrase scores in each of K orientations; n source words, R kinds of target words.

    `first_nK` and `last_nK` are by the first and the last source position of the group, row n when there is none;
    `between_nK` sums up the words before position i, so that words from i to j score row j - row i. `first_RK` and
    `last_RK` are by the kinds of its first and last target word, kind 0 when there is none; `first_O` and `last_O` are
    the kinds of the first and last word of each option. `bigrams_RR` scores (last word before, first word of the
    phrase) and is empty when there are no such features.
    """

    first_nK: Floats
    last_nK: Floats
    between_nK: Floats
    first_RK: Floats
    last_RK: Floats
    first_O: Ints32
    last_O: Ints32
    bigrams_RR: Floats


class Placed(NamedTuple):
    """A span placed after a hypothesis: orientations, the group before it, and the stack but for the first word.

    `first` is the kind of the first word of the group that the span is now in, `OPEN` when the span begins one.
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
    """How a span lies to the one before it."""
    if begin == end_before:
        return MONOTONE
    return SWAP if end == start_before else DISCONTINUOUS


@embedded
def place(
    coverages: Coverages,
    stacks: Trie,
    cover: int,
    before: tuple[int, int],
    stack: int,
    span: tuple[int, int],
    five: bool,
) -> Placed:
    """Places a span behind another by the hierarchical model; there must be room for one more node in `stacks`."""
    (start_before, end_before), (begin, end) = before, span
    forward = adjacent(start_before, end_before, begin, end)
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
    if five:
        orientation = refine(orientation, begin >= group_end, alone)
        described = coverages.covers[cover]
        forward = refine(forward, begin >= end_before, described.gap == end_before and described.between == 0)
    stack = child(stacks, stack, (low << SPAN_BITS) | high)
    return Placed(orientation, forward, stack, first, group_begin, group_end, group_first)


@inlined
def refine(orientation: int, behind: bool, everything: bool) -> int:
    """One of five orientations from one of three: which way a jump goes, and whether all the rest is one block."""
    if orientation == DISCONTINUOUS:
        return DISCONTINUOUS_LEFT if behind else DISCONTINUOUS_RIGHT
    return MONOTONE_GLOBAL if orientation == MONOTONE and everything else orientation


@embedded
def group_score(scores: GroupScores, placed: Placed, last: int, begin: int, end: int) -> float:
    """What the group before a placed span scores; `last` is the kind of the word before."""
    o, none = placed.backward, len(scores.first_nK) - 1
    if placed.group_begin == NONE:
        total = scores.first_nK[none, o] + scores.last_nK[none, o]
    else:
        total = scores.first_nK[placed.group_begin, o] + scores.last_nK[placed.group_end - 1, o]
    total += scores.first_RK[placed.group_first, o] + scores.last_RK[last, o]
    if begin > placed.group_end:
        total += scores.between_nK[begin, o] - scores.between_nK[placed.group_end, o]
    elif placed.group_begin > end:
        total += scores.between_nK[placed.group_begin, o] - scores.between_nK[end, o]
    return float(total)
