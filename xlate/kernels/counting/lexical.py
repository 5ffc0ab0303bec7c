"""Lexical weights of phrase pairs."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.memory.hashing import HashTable, find, pack


@njit(cache=True)
def lexical_weights(
    given_ids: NDArray[np.int32],
    given_offsets: NDArray[np.int64],
    word_ids: NDArray[np.int32],
    word_offsets: NDArray[np.int64],
    given_B: NDArray[np.int32],
    word_B: NDArray[np.int32],
    shape_B: NDArray[np.int32],
    link_offsets_X1: NDArray[np.int64],
    link_given_K: NDArray[np.int16],
    link_word_K: NDArray[np.int16],
    table: HashTable,
    probability_K: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The lexical weight of B phrase pairs: the product over words of the mean probability given their linked words, or
    NULL.

    The keys of the table are `pack(given + 1, word + 1)`, with 0 for NULL. A phrase pair with a word pair that is not
    in the table gets NaN. Shape (B,).
    """
    weight_B = np.ones(len(given_B))
    for b in range(len(given_B)):
        given = given_ids[given_offsets[given_B[b]] : given_offsets[given_B[b] + 1]]
        words = word_ids[word_offsets[word_B[b]] : word_offsets[word_B[b] + 1]]
        total, linked = np.zeros(len(words)), np.zeros(len(words), dtype=np.int64)
        for k in range(link_offsets_X1[shape_B[b]], link_offsets_X1[shape_B[b] + 1]):
            at = link_word_K[k]
            row = find(table, pack(given[link_given_K[k]] + 1, words[at] + 1))
            total[at] += probability_K[row] if row >= 0 else np.nan
            linked[at] += 1
        for at in range(len(words)):
            if linked[at] == 0:
                row = find(table, pack(0, words[at] + 1))
                total[at] = probability_K[row] if row >= 0 else np.nan
                linked[at] = 1
            weight_B[b] *= total[at] / linked[at]
    return weight_B
