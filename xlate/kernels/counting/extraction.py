"""Finds the consistent phrase pairs of aligned sentence pairs and where the pairs of a table occur, and counts their
orientations relative to the words before and after them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bytes, Ints, Ints32
from xlate.compiled import compiled, inner, loop
from xlate.kernels.counting.matching import PhraseFinder, row_of
from xlate.kernels.memory import (
    ROOT,
    HashTable,
    NumberedKeys,
    Trie,
    bounds,
    child,
    find,
    grown,
    number_of,
    pack,
    room,
    room_for,
    row_values,
)
from xlate.kernels.pairs import (
    DISCONTINUOUS,
    DISCONTINUOUS_RIGHT,
    MONOTONE,
    MONOTONE_GLOBAL,
    SWAP,
    SentenceLinks,
    Sides,
)


class SentencePair(NamedTuple):
    """One sentence pair with its links, sorted by (target, source); `before_U1[u]` links begin before target word u."""

    source: Ints32
    target: Ints32
    link_source: Ints32
    link_target: Ints32
    before_U1: Ints


@inner
def sentence_pair(text: Sides, links: SentenceLinks, s: int) -> SentencePair:
    """The words and links of a sentence pair."""
    low, high = bounds(links.offsets_S1, s)
    target = row_values(text.target_U, text.target_offsets_S1, s)
    link_target = links.target_L[low:high]
    return SentencePair(
        row_values(text.source_T, text.source_offsets_S1, s),
        target,
        links.source_L[low:high],
        link_target,
        np.searchsorted(link_target, np.arange(len(target) + 1)),
    )


@inner
def consistent_spans(pair: SentencePair, max_source: int, max_target: int) -> Ints32:
    """The consistent phrase pairs of one sentence pair, shape (X, 4): source start, end, target start, end (half-open).

    A pair of spans is consistent when they are connected by a link and no link leads from inside one to outside the
    other. Spans have at most `max_source` and `max_target` words.
    """
    source_length, target_length = len(pair.source), len(pair.target)
    source_low, source_high = _reach(source_length, pair.link_source, pair.link_target)
    target_low, target_high = _reach(target_length, pair.link_target, pair.link_source)
    spans = np.empty((16, 4), np.int32)
    found = 0
    for target_start in range(target_length):
        low, high = source_length, -1
        for target_end in range(target_start + 1, min(target_start + max_target, target_length) + 1):
            low = min(low, target_low[target_end - 1])
            high = max(high, target_high[target_end - 1])
            if high - low >= max_source:
                break
            if high < 0 or not _inside(source_low, source_high, low, high, target_start, target_end):
                continue
            start = low
            while start >= 0 and high - start < max_source and (start == low or source_high[start] < 0):
                end = high
                while end < source_length and end - start < max_source and (end == high or source_high[end] < 0):
                    if found == len(spans):
                        spans = grown(spans, found, 1)
                    spans[found, 0], spans[found, 1] = start, end + 1
                    spans[found, 2], spans[found, 3] = target_start, target_end
                    found += 1
                    end += 1
                start -= 1
    return spans[:found]


@inner
def _reach(length: int, own_K: Ints32, other_K: Ints32) -> tuple[Ints32, Ints32]:
    """The first and the last position on the other side linked to each position; (large, -1) where there is no link."""
    low = np.full(length, np.iinfo(np.int32).max, np.int32)
    high = np.full(length, -1, np.int32)
    for k in range(len(own_K)):
        low[own_K[k]] = min(low[own_K[k]], other_K[k])
        high[own_K[k]] = max(high[own_K[k]], other_K[k])
    return low, high


@inner
def _inside(source_low: Ints32, source_high: Ints32, low: int, high: int, target_start: int, target_end: int) -> bool:
    """Whether every link of the source positions low..high (inclusive) ends inside the target span."""
    for i in range(low, high + 1):
        if source_high[i] >= target_end or (source_high[i] >= 0 and source_low[i] < target_start):
            return False
    return True


@inner
def no_nodes(words: int, longest: int) -> Ints32:
    """The nodes of the spans of a sentence for `span_node` before any is known."""
    return np.full((words, longest + 1), -1, np.int32)


@inner
def span_node(trie: Trie, ids: Ints32, nodes: Ints32, start: int, end: int) -> int:
    """The trie node of the words start..end; nodes of the span and its prefixes are kept in `nodes[start, length]`."""
    known = end - start
    while known > 0 and nodes[start, known] < 0:
        known -= 1
    node = nodes[start, known] if known > 0 else ROOT
    for length in range(known + 1, end - start + 1):
        node = child(trie, node, ids[start + length - 1])
        nodes[start, length] = node
    return node


# Columns of the occurrences found.
SENTENCE, START, END, PAIR, TIGHT = range(5)


@compiled
def pair_occurrences(
    text: Sides,
    links: SentenceLinks,
    max_length: int,
    source_finder: PhraseFinder,
    target_finder: PhraseFinder,
    pairs: HashTable,
) -> Ints32:
    """Where the pairs of a table are consistent with the links of S sentence pairs, shape (X, 5).

    Columns: sentence, source start, source end (half-open), number of the pair, and whether both the first and the last
    target word are linked. `pairs` finds a pair by (source phrase, target phrase). Rows are sorted by sentence only.
    """
    rows_X5, size = np.empty((1 << 16, 5), np.int32), 0
    for s in range(len(text.source_offsets_S1) - 1):
        pair = sentence_pair(text, links, s)
        source, target, link_source, _, before_U1 = pair
        if len(link_source) == 0:
            continue
        spans = consistent_spans(pair, max_length, max_length)
        rows_X5 = grown(rows_X5, size, len(spans))
        for row in range(len(spans)):
            start, end, first, last = spans[row]
            p, q = row_of(source_finder, source, start, end), row_of(target_finder, target, first, last)
            b = find(pairs, pack(p, q)) if p >= 0 and q >= 0 else -1
            if b >= 0:
                rows_X5[size, 0], rows_X5[size, 1], rows_X5[size, 2], rows_X5[size, 3] = s, start, end, b
                rows_X5[size, 4] = before_U1[first + 1] > before_U1[first] and before_U1[last] > before_U1[last - 1]
                size += 1
    return rows_X5[:size].copy()


WORD, PHRASE, HIERARCHICAL, AS_MOSES, FIVE_WAY = 0, 1, 2, 3, 4


# What comes before the phrases of a sentence pair, marked by (source, target) place in an array (n + 2, m + 2). Word i
# has place i + 1, so there are places before the first word and after the last. Links are marked `ALIGNED`; the places
# before the two sentences are linked to each other, and so are those after them. `LEFT_END` and `RIGHT_END` mark where
# blocks end on the target whose last (first) source word is there, `ALL_BEFORE` the ends of blocks that contain all
# earlier target words.
ALIGNED, LEFT_END, RIGHT_END, ALL_BEFORE = 1, 2, 4, 8


class OrientationStore(NamedTuple):
    """Tries of source and target phrases, and how often each pair had each of K orientations, backward then forward.

    The keys of `pairs` are `pack(source node, target node)`; their numbers are rows of `counts_NK2`, which may have
    more.
    """

    sources: Trie
    targets: Trie
    pairs: NumberedKeys
    counts_NK2: Ints32


@loop
def count_orientations(
    text: Sides,
    links: SentenceLinks,
    sentences: tuple[int, int],
    max_length: int,
    kind: int,
    store: OrientationStore,
) -> OrientationStore:
    """Counts how often each phrase pair in a range of sentence pairs was monotone, swapped, neither: three backward,
    three forward; returns the store, or a larger copy.

    `FIVE_WAY` counts monotone, swap, discontinuous with the other side on the left (forward: right), on the right
    (left), and monotone with everything else in one block.
    """
    sources, targets, pairs, counts_NK2 = store
    k = counts_NK2.shape[1] // 2
    for s in range(sentences[0], sentences[1]):
        pair = sentence_pair(text, links, s)
        if len(pair.link_source) == 0:
            continue
        n, m = len(pair.source), len(pair.target)
        spans_X4 = consistent_spans(pair, max_length, max_length)
        # The corners of no block (word-based), of the extracted phrases, or of blocks of any size (hierarchical).
        blocks_X4 = spans_X4[:0] if kind == WORD else spans_X4
        if kind >= HIERARCHICAL:
            blocks_X4 = consistent_spans(pair, max(n, m), max(n, m))
        linked = pair.link_source.copy(), pair.link_target.copy()
        before_XX = _corners(n, m, linked, blocks_X4, False)
        # What comes after a phrase comes before it in the mirrored sentences.
        turned = np.int32(n - 1) - linked[0][::-1].copy(), np.int32(m - 1) - linked[1][::-1].copy()
        behind_XX = _corners(n, m, turned, _mirrored(n, m, blocks_X4), kind == AS_MOSES)
        sources, targets = room(sources, n * max_length), room(targets, m * max_length)
        pairs = room_for(pairs, len(spans_X4))
        counts_NK2 = grown(counts_NK2, pairs.size_1[0], len(spans_X4))
        source_nodes, target_nodes = no_nodes(n, max_length), no_nodes(m, max_length)
        for x in range(len(spans_X4)):
            begin, end, first, last = spans_X4[x]
            source_node = span_node(sources, pair.source, source_nodes, begin, end)
            target_node = span_node(targets, pair.target, target_nodes, first, last)
            known = pairs.size_1[0]
            row = number_of(pairs, pack(source_node, target_node))
            if row == known:
                counts_NK2[row] = 0
            counts_NK2[row, _orientation(before_XX, linked, begin, end, first, kind)] += 1
            counts_NK2[row, k + _orientation(behind_XX, turned, n - end, n - begin, m - last, kind)] += 1
    return OrientationStore(sources, targets, pairs, counts_NK2)


@inner
def _mirrored(n: int, m: int, blocks_X4: Ints32) -> Ints32:
    """The blocks of two sentences of n and m words when both are read backwards."""
    mirrored_X4 = np.empty_like(blocks_X4)
    for x in range(len(blocks_X4)):
        mirrored_X4[x, 0], mirrored_X4[x, 1] = n - blocks_X4[x, 1], n - blocks_X4[x, 0]
        mirrored_X4[x, 2], mirrored_X4[x, 3] = m - blocks_X4[x, 3], m - blocks_X4[x, 2]
    return mirrored_X4


@inner
def _corners(n: int, m: int, linked: tuple[Ints32, Ints32], blocks_X4: Ints32, as_moses: bool) -> Bytes:
    """With `as_moses`, a block counts only for a phrase that directly follows its first target word."""
    corners_XX = np.zeros((n + 2, m + 2), np.uint8)
    corners_XX[0, 0] = ALIGNED | ALL_BEFORE
    corners_XX[n + 1, m + 1] = ALIGNED
    for k in range(len(linked[0])):
        corners_XX[linked[0][k] + 1, linked[1][k] + 1] = ALIGNED
    for x in range(len(blocks_X4)):
        begin, end, first, last = blocks_X4[x]
        stop = first + 1 if as_moses else last
        corners_XX[end, stop] |= LEFT_END
        corners_XX[begin + 1, stop] |= RIGHT_END
        if first == 0:
            corners_XX[end, last] |= ALL_BEFORE
    return corners_XX


@inner
def _orientation(corners_XX: Bytes, linked: tuple[Ints32, Ints32], begin: int, end: int, first: int, kind: int) -> int:
    """The orientation of source span [begin, end), whose target side starts at `first`, relative to what comes before.

    Monotone when the word to the left in both languages is linked and the one to the right is not, or a block ends
    there; swapped in the opposite case. With five orientations, a jump starts at the source word linked to the nearest
    linked target word before.
    """
    left, right = corners_XX[begin, first], corners_XX[end + 1, first]
    if (left & ALIGNED and not right & ALIGNED) or left & LEFT_END:
        return MONOTONE_GLOBAL if kind == FIVE_WAY and left & ALL_BEFORE else MONOTONE
    if (right & ALIGNED and not left & ALIGNED) or right & RIGHT_END:
        return SWAP
    nearest, source = -1, -1
    if kind == FIVE_WAY:
        for k in range(len(linked[1])):
            if nearest <= linked[1][k] < first:
                nearest, source = linked[1][k], linked[0][k]
    return DISCONTINUOUS if source < begin else DISCONTINUOUS_RIGHT
