"""Lexical weights of phrase pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints, Ints16, Ints32
from xlate.compiled import compiled
from xlate.kernels.counting.sides import PhrasePairs
from xlate.kernels.memory.hashing import HashTable, find, pack

# The gap of phrases without non-terminals.
NO_GAP = -1


class InnerLinks(NamedTuple):
    """The links inside phrase pairs: pair b has those of shape x = `shape_B[b]`, from `offsets_X1[x]` on."""

    shape_B: Ints32
    offsets_X1: Ints
    source_K: Ints16
    target_K: Ints16


@compiled
def lexical_weights(pairs: PhrasePairs, links: InnerLinks, table: HashTable, probability_K: Floats, gap: int) -> Floats:
    """The lexical weight of B target phrases: the product over words of the mean probability given their linked source
    words, or NULL.

    The keys of the table are `pack(source + 1, target + 1)`, with 0 for NULL. A phrase pair with a word pair that is
    not in the table gets NaN. A word with the number `gap` is a non-terminal, which has no weight. Shape (B,).
    """
    weight_B = np.ones(len(pairs.source_B))
    for b in range(len(weight_B)):
        p, q, x = pairs.source_B[b], pairs.target_B[b], links.shape_B[b]
        given = pairs.source_T[pairs.source_offsets_P1[p] : pairs.source_offsets_P1[p + 1]]
        words = pairs.target_U[pairs.target_offsets_Q1[q] : pairs.target_offsets_Q1[q + 1]]
        total, linked = np.zeros(len(words)), np.zeros(len(words), dtype=np.int64)
        for k in range(links.offsets_X1[x], links.offsets_X1[x + 1]):
            at = links.target_K[k]
            row = find(table, pack(given[links.source_K[k]] + 1, words[at] + 1))
            total[at] += probability_K[row] if row >= 0 else np.nan
            linked[at] += 1
        for at in range(len(words)):
            if words[at] == gap:
                continue
            if linked[at] == 0:
                row = find(table, pack(0, words[at] + 1))
                total[at] = probability_K[row] if row >= 0 else np.nan
                linked[at] = 1
            weight_B[b] *= total[at] / linked[at]
    return weight_B


@compiled
def unlikely_words(pairs: PhrasePairs, table: HashTable, probability_K: Floats, threshold: float, gap: int) -> Ints16:
    """How many target words of B pairs have a probability below a threshold given each source word and NULL; (B,).

    The keys of the table are those of `lexical_weights`; a word pair that it lacks has the probability 0. Words with
    the number `gap` are non-terminals, on both sides.
    """
    unlikely_B = np.zeros(len(pairs.source_B), dtype=np.int16)
    for b in range(len(unlikely_B)):
        p, q = pairs.source_B[b], pairs.target_B[b]
        given = pairs.source_T[pairs.source_offsets_P1[p] : pairs.source_offsets_P1[p + 1]]
        for u in range(pairs.target_offsets_Q1[q], pairs.target_offsets_Q1[q + 1]):
            word = pairs.target_U[u]
            if word == gap:
                continue
            row = find(table, pack(0, word + 1))
            likely = row >= 0 and probability_K[row] >= threshold
            at = 0
            while not likely and at < len(given):
                row = -1 if given[at] == gap else find(table, pack(given[at] + 1, word + 1))
                likely = row >= 0 and probability_K[row] >= threshold
                at += 1
            unlikely_B[b] += not likely
    return unlikely_B
