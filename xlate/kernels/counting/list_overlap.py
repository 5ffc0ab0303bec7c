"""How many n-grams each two hypotheses of a list share.

N-grams are numbered once for the list, and each keeps who has it how often; a pair is met only where it shares one.
"""

from __future__ import annotations

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.compiled import loop
from xlate.kernels.counting.ngram_statistics import slot_of


@loop
def list_overlap(ids_T: Ints32, offsets_H1: Ints, order: int) -> Ints32:
    """The matching n-grams of every two of H texts, (H, H, order): each n-gram counts as often as both have it.

    On the diagonal stand the numbers of n-grams of each text.

    Args:
        ids_T, offsets_H1: the texts, as numbers of words or characters.
        order: the longest n-grams.
    """
    texts = len(offsets_H1) - 1
    node_E, text_E, count_E, order_M = _numbered(ids_T, offsets_H1, order)
    # The entries of each n-gram, in the order of the texts: a counting sort.
    first_M1 = np.zeros(len(order_M) + 1, dtype=np.int64)
    for node in node_E:
        first_M1[node + 1] += 1
    first_M1 = np.cumsum(first_M1)
    place_M = first_M1[:-1].copy()
    sorted_E = np.empty(len(node_E), dtype=np.int64)
    for e, node in enumerate(node_E):
        sorted_E[place_M[node]] = e
        place_M[node] += 1
    match_HHN = np.zeros((texts, texts, order), dtype=np.int32)
    for node, n in enumerate(order_M):
        for i in range(first_M1[node], first_M1[node + 1]):
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
    bits = 2
    while (1 << bits) < 2 * (most + 1):
        bits += 1
    keys_M, nodes_M = np.full(1 << bits, -1, dtype=np.int64), np.empty(1 << bits, dtype=np.int64)
    order_M, entry_M = np.zeros(most + 1, dtype=np.int64), np.full(most + 1, -1, dtype=np.int64)
    node_E, text_E, count_E = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    nodes, entries = 1, 0
    for text in range(len(offsets_H1) - 1):
        before = entries
        for start in range(offsets_H1[text], offsets_H1[text + 1]):
            node = 0
            for n in range(min(order, offsets_H1[text + 1] - start)):
                slot = slot_of(node, ids_T[start + n], bits, keys_M)
                if keys_M[slot] == -1:
                    keys_M[slot] = np.int64(node) << np.int64(32) | np.int64(ids_T[start + n])
                    nodes_M[slot] = nodes
                    order_M[nodes] = n
                    nodes += 1
                node = nodes_M[slot]
                # An entry before those of this text is of another one.
                if entry_M[node] < before:
                    entry_M[node] = entries
                    node_E[entries], text_E[entries], count_E[entries] = node, text, 0
                    entries += 1
                count_E[entry_M[node]] += 1
    return node_E[:entries], text_E[:entries], count_E[:entries], order_M[:nodes]
