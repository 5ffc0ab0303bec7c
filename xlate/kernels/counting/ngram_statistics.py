"""BLEU statistics of n-best lists, and how many n-grams every two hypotheses of a list share.

The n-grams of the references of a sentence are put in a table; each hypothesis is looked up in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.compiled import inner, loop
from xlate.kernels.memory import EMPTY, ROOT, Trie, bounds, child, new_trie, pack, places, row_values, slot_of

Words = Ints32


class NgramCounts(NamedTuple):
    """The n-grams of the references of one sentence, as the nodes of a trie.

    Node n occurred `most_N[n]` times in the reference that has it most often, and `count_N[n]` times in the text of
    number `owner_N[n]`.
    """

    trie: Trie
    most_N: Ints
    count_N: Ints
    owner_N: Ints


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

    An n-gram of a hypothesis is correct as long as it has occurred fewer times there than in the reference that has it
    most often (Papineni et al. 2002, 2.1).

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
    trie = new_trie(largest + 1)
    most_N = np.zeros(len(trie.parent_N), np.int64)
    counts = NgramCounts(trie, most_N, np.zeros_like(most_N), np.full(len(most_N), -1, np.int64))
    for i in range(len(candidate_offsets_I1) - 1):
        trie.keys_H[:] = EMPTY
        most_N[: trie.size_1[0]] = 0
        trie.size_1[0] = 1
        first, last = bounds(reference_rows_I1, i)
        for row in range(first, last):
            _add_reference(row_values(reference_ids_U, reference_offsets_R1, row), order, counts, row)
        for c in places(candidate_offsets_I1, i):
            words_L = row_values(ids_T, offsets_C1, c)
            stats_CK[c, 0] = len(words_L)
            stats_CK[c, 1] = _closest(len(words_L), reference_offsets_R1, first, last)
            # The numbers of texts: first the references, then the hypotheses.
            _match(words_L, order, counts, len(reference_offsets_R1) + c, stats_CK[c])
    return stats_CK


@inner
def _counted(counts: NgramCounts, node: int, text: int) -> int:
    """Counts an n-gram once more in a text; returns how often it has occurred there."""
    if counts.owner_N[node] != text:
        counts.owner_N[node] = text
        counts.count_N[node] = 0
    counts.count_N[node] += 1
    return int(counts.count_N[node])


@inner
def _add_reference(words_L: Words, order: int, counts: NgramCounts, row: int) -> None:
    for start in range(len(words_L)):
        node = ROOT
        for place in range(start, min(start + order, len(words_L))):
            node = child(counts.trie, node, words_L[place])
            counts.most_N[node] = max(counts.most_N[node], _counted(counts, node, row))


@inner
def _match(words_L: Words, order: int, counts: NgramCounts, text: int, stats_K: Ints) -> None:
    for n in range(1, order + 1):
        stats_K[1 + order + n] = max(0, len(words_L) - n + 1)
    for start in range(len(words_L)):
        node = ROOT
        for place in range(start, min(start + order, len(words_L))):
            slot = slot_of(counts.trie.keys_H, pack(node, words_L[place]))
            if counts.trie.keys_H[slot] == EMPTY:
                break
            node = counts.trie.rows_H[slot]
            if _counted(counts, node, text) <= counts.most_N[node]:
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
    trie = new_trie(most + 1)
    order_M, entry_M = np.zeros(most + 1, np.int64), np.full(most + 1, -1, np.int64)
    node_E, text_E, count_E = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    entries = 0
    for text in range(len(offsets_H1) - 1):
        before = entries
        for start in places(offsets_H1, text):
            node = ROOT
            for n in range(min(order, offsets_H1[text + 1] - start)):
                node = child(trie, node, ids_T[start + n])
                order_M[node] = n
                # An entry before those of this text belongs to another one.
                if entry_M[node] < before:
                    entry_M[node] = entries
                    node_E[entries], text_E[entries], count_E[entries] = node, text, 0
                    entries += 1
                count_E[entry_M[node]] += 1
    return node_E[:entries], text_E[:entries], count_E[:entries], order_M[: trie.size_1[0]]
