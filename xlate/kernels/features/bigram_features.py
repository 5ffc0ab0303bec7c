"""Sparse features of a block and its predecessor: families of bigrams over what each of the two shows (A5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.compiled import inlined, loop
from xlate.kernels.memory.hashing import HashTable, find

SIDE_BITS = 31


class BigramFamilies(NamedTuple):
    """A families of features over B blocks: family a sees b' before b as `left_AB[a, b']` and `right_AB[a, b]`.

    `bigrams` finds the row of a feature by its key, which tells the family by its number `tag_A[a]`, below 4.
    """

    tag_A: Ints
    left_AB: Ints32
    right_AB: Ints32
    bigrams: HashTable


@inlined
def feature_key(tag: int, left: int, right: int) -> np.uint64:
    """One key of a family's number below 4 and two numbers below 2^31."""
    both = (np.uint64(left) << np.uint64(SIDE_BITS)) | np.uint64(right)
    return (np.uint64(tag) << np.uint64(2 * SIDE_BITS)) | both


@loop
def bigram_row(families: BigramFamilies, family: int, predecessor: int, block: int) -> int:
    """The row of one family's feature of two blocks, -1 when it is none."""
    key = feature_key(families.tag_A[family], families.left_AB[family, predecessor], families.right_AB[family, block])
    return find(families.bigrams, key)


@loop
def put_bigrams(families: BigramFamilies, predecessor: int, block: int, ids_N: Ints32, n: int) -> int:
    """Writes the rows of all features of two blocks from place n on; returns the place behind them."""
    for family in range(len(families.tag_A)):
        row = bigram_row(families, family, predecessor, block)
        if row >= 0:
            ids_N[n] = row
            n += 1
    return n


@loop
def bigrams_weight(families: BigramFamilies, weights_F: Floats, predecessor: int, block: int) -> float:
    """The summed weights of all features of two blocks."""
    total = 0.0
    for family in range(len(families.tag_A)):
        row = bigram_row(families, family, predecessor, block)
        if row >= 0:
            total += weights_F[row]
    return total
