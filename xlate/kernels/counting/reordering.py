"""Counts the orientations of extracted phrase pairs with respect to what is before and behind them in their sentence
pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Ints, Ints32
from xlate.compiled import loop
from xlate.kernels.counting.extraction import consistent_spans, sentence_pair
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.counting.sides import SentenceLinks, Sides
from xlate.kernels.memory.hashing import HashTable, find, pack
from xlate.kernels.orientation import DISCONTINUOUS, DISCONTINUOUS_RIGHT, MONOTONE, MONOTONE_GLOBAL, SWAP
from xlate.kernels.search.spans import span_rows

WORD, PHRASE, HIERARCHICAL, AS_MOSES, FIVE_WAY = 0, 1, 2, 3, 4


class Corners(NamedTuple):
    """The places of a sentence pair where blocks begin and end, by (source, target) word; each array of shape (n + 2, m
    + 2).

    Word i has the place i + 1, so that there are places before the first word and behind the last. `aligned` marks the
    links; the places before the sentences are linked to each other, and those behind them. `all_before` marks the ends
    of blocks that hold all earlier target words, `all_behind` the beginnings of blocks that hold all later ones.
    """

    aligned: Bools
    top_left: Bools
    top_right: Bools
    bottom_left: Bools
    bottom_right: Bools
    all_before: Bools
    all_behind: Bools


@loop
def count_orientations(
    source_finder: PhraseFinder,
    target_finder: PhraseFinder,
    pairs: HashTable,
    text: Sides,
    links: SentenceLinks,
    max_length: int,
    kind: int,
    counts_BK2: Ints,
) -> None:
    """Adds to `counts_BK2` how often each phrase pair was monotone, swapped, neither: three backward, three forward.

    `FIVE_WAY` counts monotone, swap, discontinuous with the other side on the left (forward: right), on the right
    (left), and monotone with all the rest in one block. `pairs` finds a phrase pair by (source phrase, target phrase).
    """
    k = counts_BK2.shape[1] // 2
    for s in range(len(text.source_offsets_S1) - 1):
        source, target, link_source, link_target = sentence_pair(text, links, s)
        if len(link_source) == 0:
            continue
        spans_X4 = consistent_spans(len(source), len(target), link_source, link_target, max_length, max_length)
        corners = _corners(len(source), len(target), link_source, link_target, spans_X4, kind)
        source_C = span_rows(source_finder, source, max_length)
        target_C = span_rows(target_finder, target, max_length)
        for x in range(len(spans_X4)):
            begin, end, first, last = spans_X4[x]
            p = source_C[begin * max_length + end - begin - 1]
            q = target_C[first * max_length + last - first - 1]
            b = find(pairs, pack(p, q)) if p >= 0 and q >= 0 else -1
            if b >= 0:
                backward = backward_orientation(corners, begin, end, first)
                forward = forward_orientation(corners, begin, end, last, kind == AS_MOSES)
                if kind == FIVE_WAY:
                    backward = _finer_backward(corners, backward, begin, first, link_source, link_target)
                    forward = _finer_forward(corners, forward, end, last, link_source, link_target)
                counts_BK2[b, backward] += 1
                counts_BK2[b, k + forward] += 1


@loop
def _corners(
    source_length: int, target_length: int, link_source: Ints32, link_target: Ints32, spans_X4: Ints32, kind: int
) -> Corners:
    """The corners of no block (word-based), of the extracted phrases, or of blocks of any size (hierarchical)."""
    shape = (source_length + 2, target_length + 2)
    corners = Corners(
        np.zeros(shape, np.bool_),
        np.zeros(shape, np.bool_),
        np.zeros(shape, np.bool_),
        np.zeros(shape, np.bool_),
        np.zeros(shape, np.bool_),
        np.zeros(shape, np.bool_),
        np.zeros(shape, np.bool_),
    )
    corners.all_before[0, 0] = corners.all_behind[source_length + 1, target_length + 1] = True
    corners.aligned[0, 0] = corners.aligned[source_length + 1, target_length + 1] = True
    for k in range(len(link_source)):
        corners.aligned[link_source[k] + 1, link_target[k] + 1] = True
    if kind == WORD:
        return corners
    blocks_X4 = spans_X4
    if kind >= HIERARCHICAL:
        longest = max(source_length, target_length)
        blocks_X4 = consistent_spans(source_length, target_length, link_source, link_target, longest, longest)
    for x in range(len(blocks_X4)):
        begin, end, first, last = blocks_X4[x]
        corners.top_left[begin + 1, first + 1] = True
        corners.top_right[end, first + 1] = True
        corners.bottom_left[begin + 1, last] = True
        corners.bottom_right[end, last] = True
        if first == 0:
            corners.all_before[end, last] = True
        if last == target_length:
            corners.all_behind[begin + 1, first + 1] = True
    return corners


@loop
def _finer_backward(
    corners: Corners, orientation: int, begin: int, first: int, link_source: Ints32, link_target: Ints32
) -> int:
    """One of five orientations; a jump starts where the nearest linked target word before is linked to."""
    if orientation == MONOTONE:
        return MONOTONE_GLOBAL if corners.all_before[begin, first] else MONOTONE
    if orientation == SWAP:
        return SWAP
    nearest, source = -1, -1
    for k in range(len(link_target)):
        if link_target[k] < first and link_target[k] >= nearest:
            nearest, source = link_target[k], link_source[k]
    return DISCONTINUOUS if source < begin else DISCONTINUOUS_RIGHT


@loop
def _finer_forward(
    corners: Corners, orientation: int, end: int, last: int, link_source: Ints32, link_target: Ints32
) -> int:
    """One of five orientations with respect to what is behind; a jump to the right counts as `DISCONTINUOUS`."""
    if orientation == MONOTONE:
        return MONOTONE_GLOBAL if corners.all_behind[end + 1, last + 1] else MONOTONE
    if orientation == SWAP:
        return SWAP
    for k in range(len(link_target)):
        if link_target[k] >= last:
            return DISCONTINUOUS if link_source[k] >= end else DISCONTINUOUS_RIGHT
    return DISCONTINUOUS


@loop
def backward_orientation(corners: Corners, begin: int, end: int, first: int) -> int:
    """Of the source span [begin, end) whose target side starts at `first`, with respect to what is before it.

    Monotone when the word to the left in both languages is linked and the one to the right is not, or a block ends
    there; swapped when it is the other way round.
    """
    left, right = corners.aligned[begin, first], corners.aligned[end + 1, first]
    if (left and not right) or corners.bottom_right[begin, first]:
        return MONOTONE
    if (right and not left) or corners.bottom_left[end + 1, first]:
        return SWAP
    return DISCONTINUOUS


@loop
def forward_orientation(corners: Corners, begin: int, end: int, last: int, as_moses: bool) -> int:
    """Of the source span [begin, end) whose target side ends before `last`, with respect to what is behind it.

    With `as_moses`, a block behind it counts only when it ends with the next target word.
    """
    right, left = corners.aligned[end + 1, last + 1], corners.aligned[begin, last + 1]
    starts, ends = corners.top_left, corners.top_right
    if as_moses:
        starts, ends = corners.bottom_left, corners.bottom_right
    if (right and not left) or starts[end + 1, last + 1]:
        return MONOTONE
    if (left and not right) or ends[begin, last + 1]:
        return SWAP
    return DISCONTINUOUS
