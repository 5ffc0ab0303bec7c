"""Finds the matches of blocks in sentence pairs, their orientation bigrams, and the phrases that occur in a text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Ints, Ints8, Ints32
from xlate.compiled import compiled, inlined, inner, loop
from xlate.kernels.memory import HashTable, bounds, find, grown, pack, places, row_values
from xlate.kernels.pairs import LEFT, RIGHT, Sides


class PhraseFinder(NamedTuple):
    """Finds phrases in a text: `table` maps (node, word) to a trie node, and `row_N` a node to its phrase, or -1."""

    table: HashTable
    row_N: Ints32


@inlined
def row_of(finder: PhraseFinder, words_T: Ints32, begin: int, end: int) -> int:
    """The row of the phrase at a place of a text, -1 when there is none."""
    node = 0
    for at in range(begin, end):
        node = find(finder.table, pack(node, words_T[at]))
        if node < 0:
            return -1
    return int(finder.row_N[node])


@compiled
def _spans(finder: PhraseFinder, words: Ints32, spans_X3: Ints32) -> int:
    """Writes every span of a sentence that is a phrase, as (start, end, row of the phrase); returns their number."""
    found = 0
    for start in range(len(words)):
        node = 0
        for end in range(start + 1, len(words) + 1):
            node = find(finder.table, pack(node, words[end - 1]))
            if node < 0:
                break
            if finder.row_N[node] >= 0:
                spans_X3[found, 0], spans_X3[found, 1], spans_X3[found, 2] = start, end, finder.row_N[node]
                found += 1
    return found


@loop
def match_sentences(
    source_finder: PhraseFinder,
    target_finder: PhraseFinder,
    options_P1: Ints,
    option_target_B: Ints32,
    pairs: HashTable,
    longest: int,
    text: Sides,
) -> tuple[Ints32, Ints]:
    """All matches of S sentence pairs as rows (block, source start, end, target start, end), and offsets by sentence.

    The blocks of source phrase p are `options_P1[p]` to `options_P1[p + 1]`; `option_target_B` are their target
    phrases. `pairs` finds a block by (source phrase, target phrase). For each source span, the shorter list is scanned:
    its blocks, or the target spans of the sentence. Matches are in the order (target start, source start, target end,
    source end).
    """
    offsets_S1 = np.zeros(len(text.source_offsets_S1), np.int64)
    matches_M5 = np.empty((1 << 16, 5), np.int32)
    latest_Q = np.full(target_finder.row_N.max() + 1, -1, np.int32)
    size = 0
    for s in range(len(offsets_S1) - 1):
        source = row_values(text.source_T, text.source_offsets_S1, s)
        target = row_values(text.target_U, text.target_offsets_S1, s)
        source_X3 = np.empty((len(source) * longest, 3), np.int32)
        target_X3 = np.empty((len(target) * longest, 3), np.int32)
        source_X3 = source_X3[: _spans(source_finder, source, source_X3)]
        target_X3 = target_X3[: _spans(target_finder, target, target_X3)]
        begin = size
        matches_M5, size = _pair_up(
            source_X3, target_X3, options_P1, option_target_B, pairs, latest_Q, matches_M5, size
        )
        _sort(matches_M5[begin:size])
        offsets_S1[s + 1] = size
    return matches_M5[:size].copy(), offsets_S1


@inner
def _pair_up(
    source_X3: Ints32,
    target_X3: Ints32,
    options_P1: Ints,
    option_target_B: Ints32,
    pairs: HashTable,
    latest_Q: Ints32,
    matches_M5: Ints32,
    size: int,
) -> tuple[Ints32, int]:
    """Adds the matches of one sentence. `latest_Q` links the spans of equal target phrases; it is all -1 before and
    after.
    """
    earlier_X = np.empty(len(target_X3), np.int32)
    for x in range(len(target_X3)):
        earlier_X[x] = latest_Q[target_X3[x, 2]]
        latest_Q[target_X3[x, 2]] = x
    for y in range(len(source_X3)):
        low, high = bounds(options_P1, source_X3[y, 2])
        if high - low <= len(target_X3):
            for block in range(low, high):
                x = latest_Q[option_target_B[block]]
                while x >= 0:
                    matches_M5, size = _put(matches_M5, size, block, source_X3[y], target_X3[x])
                    x = earlier_X[x]
        else:
            for x in range(len(target_X3)):
                block = find(pairs, pack(source_X3[y, 2], target_X3[x, 2]))
                if block >= 0:
                    matches_M5, size = _put(matches_M5, size, block, source_X3[y], target_X3[x])
    for x in range(len(target_X3)):
        latest_Q[target_X3[x, 2]] = -1
    return matches_M5, size


@compiled
def _put(matches_M5: Ints32, size: int, block: int, source_3: Ints32, target_3: Ints32) -> tuple[Ints32, int]:
    if size == len(matches_M5):
        matches_M5 = grown(matches_M5, size, 1)
    matches_M5[size, 0] = block
    matches_M5[size, 1], matches_M5[size, 2] = source_3[0], source_3[1]
    matches_M5[size, 3], matches_M5[size, 4] = target_3[0], target_3[1]
    return matches_M5, size + 1


@inner
def _sort(matches_M5: Ints32) -> None:
    keys = np.empty(len(matches_M5), np.int64)
    for m in range(len(matches_M5)):
        high = (np.int64(matches_M5[m, 3]) << 16 | matches_M5[m, 1]) << 16
        keys[m] = (high | matches_M5[m, 4]) << 15 | matches_M5[m, 2]
    matches_M5[:] = matches_M5[np.argsort(keys)]


@loop
def orientation_bigrams(matches_M5: Ints32, offsets_S1: Ints) -> tuple[Ints32, Ints32, Ints8]:
    """The predecessor, successor and orientation of every orientation bigram, sorted by (predecessor, successor)."""
    capacity = max(16, 4 * len(matches_M5))
    predecessor_E = np.empty(capacity, np.int32)
    successor_E = np.empty(capacity, np.int32)
    orientation_E = np.empty(capacity, np.int8)
    size = 0
    for s in range(len(offsets_S1) - 1):
        low, high = bounds(offsets_S1, s)
        if low == high:
            continue
        length = 0
        for m in range(low, high):
            length = max(length, matches_M5[m, 4])
        # Matches are sorted by target start; `first[t]` is the first match that starts at t or later.
        first = np.full(length + 2, high, np.int64)
        for m in range(high - 1, low - 1, -1):
            first[matches_M5[m, 3]] = m
        for t in range(length, -1, -1):
            first[t] = min(first[t], first[t + 1])
        for m in range(low, high):
            for n in places(first, matches_M5[m, 4]):
                if matches_M5[n, 1] == matches_M5[m, 2]:
                    orientation = RIGHT
                elif matches_M5[n, 2] == matches_M5[m, 1]:
                    orientation = LEFT
                else:
                    continue
                if size == len(predecessor_E):
                    predecessor_E = grown(predecessor_E, size, 1)
                    successor_E = grown(successor_E, size, 1)
                    orientation_E = grown(orientation_E, size, 1)
                predecessor_E[size], successor_E[size], orientation_E[size] = m, n, orientation
                size += 1
    return predecessor_E[:size].copy(), successor_E[:size].copy(), orientation_E[:size].copy()


@loop
def occurrences(finder: PhraseFinder, phrases: int, words_T: Ints32, offsets_S1: Ints) -> tuple[Bools, Bools]:
    """Marks which of P phrases occur in S sentences, and which sentences contain any of them; shapes (P,) and (S,)."""
    occurs_P = np.zeros(phrases, np.bool_)
    holds_S = np.zeros(len(offsets_S1) - 1, np.bool_)
    for s in range(len(holds_S)):
        for start in places(offsets_S1, s):
            node = 0
            for t in range(start, offsets_S1[s + 1]):
                node = find(finder.table, pack(node, words_T[t]))
                if node < 0:
                    break
                row = finder.row_N[node]
                if row >= 0:
                    occurs_P[row] = True
                    holds_S[s] = True
    return occurs_P, holds_S
