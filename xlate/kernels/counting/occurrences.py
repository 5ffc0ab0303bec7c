"""Finds where the phrase pairs of a table were extracted from."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Ints32
from xlate.compiled import compiled
from xlate.kernels.counting.extraction import consistent_spans
from xlate.kernels.counting.matching import PhraseFinder, row_of
from xlate.kernels.counting.sides import SentenceLinks, Sides
from xlate.kernels.memory.hashing import HashTable, find, pack

# Columns of what is found.
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
    rows_X5, size = np.empty((1 << 16, 5), dtype=np.int32), 0
    for s in range(len(text.source_offsets_S1) - 1):
        source = text.source_T[text.source_offsets_S1[s] : text.source_offsets_S1[s + 1]]
        target = text.target_U[text.target_offsets_S1[s] : text.target_offsets_S1[s + 1]]
        low, high = links.offsets_S1[s], links.offsets_S1[s + 1]
        link_source, link_target = links.source_L[low:high], links.target_L[low:high]
        if len(link_source) == 0:
            continue
        spans = consistent_spans(len(source), len(target), link_source, link_target, max_length, max_length)
        linked = np.zeros(len(target), dtype=np.bool_)
        linked[link_target] = True
        if size + len(spans) > len(rows_X5):
            larger = np.empty((2 * (size + len(spans)), 5), dtype=np.int32)
            larger[:size] = rows_X5[:size]
            rows_X5 = larger
        for row in range(len(spans)):
            start, end, first, last = spans[row]
            p, q = row_of(source_finder, source, start, end), row_of(target_finder, target, first, last)
            pair = find(pairs, pack(p, q)) if p >= 0 and q >= 0 else -1
            if pair >= 0:
                rows_X5[size, 0], rows_X5[size, 1], rows_X5[size, 2] = s, start, end
                rows_X5[size, 3], rows_X5[size, 4] = pair, linked[first] and linked[last - 1]
                size += 1
    return rows_X5[:size].copy()
