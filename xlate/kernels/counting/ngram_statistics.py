"""BLEU statistics of n-best lists, and how many n-grams every two hypotheses of a list share.

The n-grams of the references of a sentence are put in a table; each hypothesis is looked up in it.
"""

from __future__ import annotations

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.compiled import inner, loop
from xlate.kernels.memory import bounds, places, row_values

Words = Ints32

_ROOT = 0
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


# The n-grams of the references of one sentence: a trie in a hash table of 2^b slots. The slot with key (node, word)
# holds the node of that n-gram; a free slot has the key -1. Node n occurred `most_N[n]` times in the reference that has
# it most often, and `count_N[n]` times in the text `owner_N[n]`. In this order: keys_M, node_M, most_N, count_N and
# owner_N.
NgramCounts = tuple[Ints, Ints, Ints, Ints, Ints]


@loop
def list_statistics(
    ids_T: Words,
    offsets_C1: Ints,
    candidate_offsets_I1: Ints,
    reference_ids_U: Words,
    reference_offsets_R1: Ints,
    reference_rows_I1: Ints,
    order: int,
) -> Ints:
    """BLEU statistics of C hypotheses, (C, 2 + 2·order), as sacrebleu lays them out.

    An n-gram is a node of a trie, kept in a hash table. An n-gram of a hypothesis is correct as long as it has occurred
    fewer times there than in the reference that has it most often (Papineni et al. 2002, 2.1).

    Args:
        ids_T, offsets_C1: words of the hypotheses.
        candidate_offsets_I1: hypotheses of instance i.
        reference_ids_U, reference_offsets_R1: words of the references.
        reference_rows_I1: references of instance i, at least one.
    """
    stats_CK = np.zeros((len(offsets_C1) - 1, 2 + 2 * order), np.int64)
    largest = 1
    for i in range(len(reference_rows_I1) - 1):
        first, last = bounds(reference_rows_I1, i)
        largest = max(largest, (reference_offsets_R1[last] - reference_offsets_R1[first]) * order)
    bits = _bits(largest)
    keys_M, node_M = np.empty(1 << bits, np.int64), np.empty(1 << bits, np.int64)
    most_N, count_N = np.zeros(1 << bits, np.int64), np.zeros(1 << bits, np.int64)
    owner_N = np.zeros(1 << bits, np.int64)
    counts = keys_M, node_M, most_N, count_N, owner_N
    for i in range(len(candidate_offsets_I1) - 1):
        keys_M[:] = -1
        nodes = 1
        first, last = bounds(reference_rows_I1, i)
        owner_N[:] = -1
        for row in range(first, last):
            words_L = row_values(reference_ids_U, reference_offsets_R1, row)
            nodes = _add_reference(words_L, order, bits, counts, row, nodes)
        owner_N[:nodes] = -1
        for c in places(candidate_offsets_I1, i):
            words_L = row_values(ids_T, offsets_C1, c)
            stats_CK[c, 0] = len(words_L)
            stats_CK[c, 1] = _closest(len(words_L), reference_offsets_R1, first, last)
            _match(words_L, order, bits, counts, c, stats_CK[c])
    return stats_CK


@inner
def _bits(entries: int) -> int:
    """The number of bits of a table that this many n-grams fill at most by half."""
    bits = 2
    while (1 << bits) < 2 * (entries + 1):
        bits += 1
    return bits


@inner
def slot_of(node: int, word: int, bits: int, keys_M: Ints) -> int:
    """The slot of the n-gram `node word`, or the free slot that it would take."""
    key = np.int64(node) << np.int64(32) | np.int64(word)
    slot = np.int64((np.uint64(key) * _MULTIPLIER) >> np.uint64(64 - bits))
    while keys_M[slot] != key and keys_M[slot] != -1:
        slot = (slot + 1) & ((1 << bits) - 1)
    return int(slot)


@inner
def _add_reference(words_L: Words, order: int, bits: int, counts: NgramCounts, row: int, nodes: int) -> int:
    """Adds the n-grams of a reference, each with its count in the reference that has it most often; returns the number
    of nodes.
    """
    keys_M, node_M, most_N, count_N, owner_N = counts
    for start in range(len(words_L)):
        node = _ROOT
        for place in range(start, min(start + order, len(words_L))):
            slot = slot_of(node, words_L[place], bits, keys_M)
            if keys_M[slot] == -1:
                keys_M[slot] = np.int64(node) << np.int64(32) | np.int64(words_L[place])
                node_M[slot] = nodes
                most_N[nodes] = 0
                nodes += 1
            node = node_M[slot]
            if owner_N[node] != row:
                owner_N[node] = row
                count_N[node] = 0
            count_N[node] += 1
            most_N[node] = max(most_N[node], count_N[node])
    return nodes


@inner
def _match(words_L: Words, order: int, bits: int, counts: NgramCounts, candidate: int, stats_K: Ints) -> None:
    keys_M, node_M, most_N, count_N, owner_N = counts
    for n in range(1, order + 1):
        stats_K[1 + order + n] = max(0, len(words_L) - n + 1)
    for start in range(len(words_L)):
        node = _ROOT
        for place in range(start, min(start + order, len(words_L))):
            slot = slot_of(node, words_L[place], bits, keys_M)
            if keys_M[slot] == -1:
                break
            node = node_M[slot]
            if owner_N[node] != candidate:
                owner_N[node] = candidate
                count_N[node] = 0
            count_N[node] += 1
            if count_N[node] <= most_N[node]:
                stats_K[2 + place - start] += 1


@inner
def _closest(length: int, offsets_R1: Ints, first: int, last: int) -> int:
    """The reference length nearest to that of a hypothesis; ties go to the shorter."""
    nearest = offsets_R1[first + 1] - offsets_R1[first]
    for row in range(first + 1, last):
        size = offsets_R1[row + 1] - offsets_R1[row]
        if (abs(size - length), size) < (abs(nearest - length), nearest):
            nearest = size
    return int(nearest)


@loop
def list_overlap(ids_T: Ints32, offsets_H1: Ints, order: int) -> Ints32:
    """The matching n-grams of every two of H texts, (H, H, order): each n-gram counts as often as both have it.

    The diagonal has the number of n-grams of each text.

    Args:
        ids_T, offsets_H1: the texts, as numbers of words or characters.
        order: the longest n-grams.
    """
    texts = len(offsets_H1) - 1
    node_E, text_E, count_E, order_M = _numbered(ids_T, offsets_H1, order)
    # The entries of each n-gram, in the order of the texts: a counting sort.
    first_M1 = np.zeros(len(order_M) + 1, np.int64)
    for node in node_E:
        first_M1[node + 1] += 1
    first_M1 = np.cumsum(first_M1)
    place_M = first_M1[:-1].copy()
    sorted_E = np.empty(len(node_E), np.int64)
    for e, node in enumerate(node_E):
        sorted_E[place_M[node]] = e
        place_M[node] += 1
    match_HHN = np.zeros((texts, texts, order), np.int32)
    for node, n in enumerate(order_M):
        for i in places(first_M1, node):
            a, count = text_E[sorted_E[i]], count_E[sorted_E[i]]
            for j in range(first_M1[node], i + 1):
                match_HHN[a, text_E[sorted_E[j]], n] += min(count, count_E[sorted_E[j]])
    for a in range(texts):
        for b in range(a):
            match_HHN[b, a] = match_HHN[a, b]
    return match_HHN


@loop
def _numbered(ids_T: Ints32, offsets_H1: Ints, order: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Entries of n-gram, text and count, text by text; and the order of each n-gram, less 1."""
    most = len(ids_T) * order
    bits = _bits(most)
    keys_M, nodes_M = np.full(1 << bits, -1, np.int64), np.empty(1 << bits, np.int64)
    order_M, entry_M = np.zeros(most + 1, np.int64), np.full(most + 1, -1, np.int64)
    node_E, text_E, count_E = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    nodes, entries = 1, 0
    for text in range(len(offsets_H1) - 1):
        before = entries
        for start in places(offsets_H1, text):
            node = 0
            for n in range(min(order, offsets_H1[text + 1] - start)):
                slot = slot_of(node, ids_T[start + n], bits, keys_M)
                if keys_M[slot] == -1:
                    keys_M[slot] = np.int64(node) << np.int64(32) | np.int64(ids_T[start + n])
                    nodes_M[slot] = nodes
                    order_M[nodes] = n
                    nodes += 1
                node = nodes_M[slot]
                # An entry before those of this text belongs to another one.
                if entry_M[node] < before:
                    entry_M[node] = entries
                    node_E[entries], text_E[entries], count_E[entries] = node, text, 0
                    entries += 1
                count_E[entry_M[node]] += 1
    return node_E[:entries], text_E[:entries], count_E[:entries], order_M[:nodes]
