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
    """What stands before the phrases of a sentence pair, by (source, target) place; each array (n + 2, m + 2).

    Word i has the place i + 1, so that there are places before the first word and behind the last. `aligned` marks the
    links; the places before the sentences are linked to each other, and those behind them. `left_end` and `right_end`
    mark where blocks end on the target whose last (first) source word stands there, `all_before` the ends of blocks
    that hold all earlier target words. Links are in the order of target and source.
    """

    aligned: Bools
    left_end: Bools
    right_end: Bools
    all_before: Bools
    link_source: Ints32
    link_target: Ints32


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
        n, m = len(source), len(target)
        spans_X4 = consistent_spans(n, m, link_source, link_target, max_length, max_length)
        # The corners of no block (word-based), of the extracted phrases, or of blocks of any size (hierarchical).
        blocks_X4 = spans_X4[:0] if kind == WORD else spans_X4
        if kind >= HIERARCHICAL:
            blocks_X4 = consistent_spans(n, m, link_source, link_target, max(n, m), max(n, m))
        before = _corners(n, m, link_source.copy(), link_target.copy(), blocks_X4, False)
        # What is behind a phrase is before it in the mirrored sentences.
        mirrored_X4 = np.empty_like(blocks_X4)
        for x in range(len(blocks_X4)):
            mirrored_X4[x, 0], mirrored_X4[x, 1] = n - blocks_X4[x, 1], n - blocks_X4[x, 0]
            mirrored_X4[x, 2], mirrored_X4[x, 3] = m - blocks_X4[x, 3], m - blocks_X4[x, 2]
        turned = np.int32(n - 1) - link_source[::-1].copy(), np.int32(m - 1) - link_target[::-1].copy()
        behind = _corners(n, m, turned[0], turned[1], mirrored_X4, kind == AS_MOSES)
        source_C = span_rows(source_finder, source, max_length)
        target_C = span_rows(target_finder, target, max_length)
        for x in range(len(spans_X4)):
            begin, end, first, last = spans_X4[x]
            p = source_C[begin * max_length + end - begin - 1]
            q = target_C[first * max_length + last - first - 1]
            b = find(pairs, pack(p, q)) if p >= 0 and q >= 0 else -1
            if b >= 0:
                counts_BK2[b, _orientation(before, begin, end, first, kind)] += 1
                counts_BK2[b, k + _orientation(behind, n - end, n - begin, m - last, kind)] += 1


@loop
def _corners(
    source_length: int,
    target_length: int,
    link_source: Ints32,
    link_target: Ints32,
    blocks_X4: Ints32,
    as_moses: bool,
) -> Corners:
    """With `as_moses`, a block counts only for a phrase right behind its first target word."""
    shape = (source_length + 2, target_length + 2)
    aligned, all_before = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    left_end, right_end = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    all_before[0, 0] = aligned[0, 0] = aligned[source_length + 1, target_length + 1] = True
    for k in range(len(link_source)):
        aligned[link_source[k] + 1, link_target[k] + 1] = True
    for x in range(len(blocks_X4)):
        begin, end, first, last = blocks_X4[x]
        stop = first + 1 if as_moses else last
        left_end[end, stop] = right_end[begin + 1, stop] = True
        if first == 0:
            all_before[end, last] = True
    return Corners(aligned, left_end, right_end, all_before, link_source, link_target)


@loop
def _orientation(corners: Corners, begin: int, end: int, first: int, kind: int) -> int:
    """Of the source span [begin, end) whose target side starts at `first`, with respect to what is before it.

    Monotone when the word to the left in both languages is linked and the one to the right is not, or a block ends
    there; swapped when it is the other way round. Of five orientations, a jump starts where the nearest linked target
    word before is linked to.
    """
    left, right = corners.aligned[begin, first], corners.aligned[end + 1, first]
    if (left and not right) or corners.left_end[begin, first]:
        return MONOTONE_GLOBAL if kind == FIVE_WAY and corners.all_before[begin, first] else MONOTONE
    if (right and not left) or corners.right_end[end + 1, first]:
        return SWAP
    nearest, source = -1, -1
    if kind == FIVE_WAY:
        for k in range(len(corners.link_target)):
            if nearest <= corners.link_target[k] < first:
                nearest, source = corners.link_target[k], corners.link_source[k]
    return DISCONTINUOUS if source < begin else DISCONTINUOUS_RIGHT
