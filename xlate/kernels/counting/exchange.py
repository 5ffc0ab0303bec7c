"""Moves words between classes to raise the likelihood of a class bigram model; see `xlate.text.clustering`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.compiled import embedded, inlined, lent, loop
from xlate.kernels.memory import places

TABLE = 1 << 16


class Neighbours(NamedTuple):
    """How often each of V words comes before (or after) others: rows of (word, count), one after the other."""

    offsets_V1: Ints
    word_N: Ints32
    count_N: Ints


class ClassCounts(NamedTuple):
    """The bigram counts of C classes, and how often each class is first and second in a bigram."""

    pairs_CC: Ints
    first_C: Ints
    second_C: Ints


def x_log_x() -> Floats:
    """x ln x for small whole numbers, 0 at 0."""
    x = np.arange(TABLE, dtype=np.float64)
    return x * np.log(np.maximum(x, 1.0))


@inlined
def _f(table: Floats, x: int) -> float:
    return float(table[x]) if x < TABLE else x * np.log(float(x))


@loop
def sweep(
    order_X: Ints32,
    movable: int,
    class_V: Ints32,
    behind: Neighbours,
    before: Neighbours,
    counts: ClassCounts,
    table: Floats,
) -> tuple[int, float]:
    """Moves each word of `order_X` in turn to the best of the first `movable` classes.

    A word stays unless another class is better by more than rounding errors. Returns how many words moved and by how
    much the log likelihood rose.
    """
    behind, before, counts, table = lent(behind), lent(before), lent(counts), lent(table)
    classes = len(counts.first_C)
    s_C, p_C = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    moved, risen = 0, 0.0
    for at in range(len(order_X)):
        word = order_X[at]
        own = class_V[word]
        s_C[:], p_C[:] = 0, 0
        itself = _by_class(behind, class_V, word, s_C)
        _by_class(before, class_V, word, p_C)
        _change(counts, own, s_C, p_C, itself, -1)
        stay = _gain(counts, own, s_C, p_C, itself, table)
        best, gain = own, stay + 1e-9
        for c in range(movable):
            if c != own:
                other = _gain(counts, c, s_C, p_C, itself, table)
                if other > gain:
                    best, gain = c, other
        _change(counts, best, s_C, p_C, itself, 1)
        if best != own:
            class_V[word] = best
            moved += 1
            risen += gain - stay
    return moved, risen


@embedded
def _by_class(neighbours: Neighbours, class_V: Ints32, word: int, counts_C: Ints) -> int:
    """Adds up a word's neighbours by class, without the word itself; returns how often it is its own neighbour."""
    itself = 0
    for at in places(neighbours.offsets_V1, word):
        if neighbours.word_N[at] == word:
            itself = int(neighbours.count_N[at])
        else:
            counts_C[class_V[neighbours.word_N[at]]] += neighbours.count_N[at]
    return itself


@embedded
def _change(counts: ClassCounts, c: int, s_C: Ints, p_C: Ints, itself: int, sign: int) -> None:
    """Removes a word's bigrams from its class, or adds them to a class; sums over other classes do not change."""
    total_s, total_p = itself, itself
    for d in range(len(s_C)):
        counts.pairs_CC[c, d] += sign * s_C[d]
        counts.pairs_CC[d, c] += sign * p_C[d]
        total_s, total_p = total_s + s_C[d], total_p + p_C[d]
    counts.pairs_CC[c, c] += sign * itself
    counts.first_C[c] += sign * total_s
    counts.second_C[c] += sign * total_p


@embedded
def _gain(counts: ClassCounts, c: int, s_C: Ints, p_C: Ints, itself: int, table: Floats) -> float:
    """How much a word in class c adds to the sum of N ln N over class bigrams minus that over classes.

    Parts that are the same for every class are omitted.
    """
    pairs_CC, gain, total_s, total_p = counts.pairs_CC, 0.0, itself, itself
    for d in range(len(s_C)):
        s, p = s_C[d], p_C[d]
        total_s, total_p = total_s + s, total_p + p
        if d != c:
            if s > 0:
                gain += _f(table, pairs_CC[c, d] + s) - _f(table, pairs_CC[c, d])
            if p > 0:
                gain += _f(table, pairs_CC[d, c] + p) - _f(table, pairs_CC[d, c])
    inner = pairs_CC[c, c]
    gain += _f(table, inner + s_C[c] + p_C[c] + itself) - _f(table, inner)
    gain -= _f(table, counts.first_C[c] + total_s) - _f(table, counts.first_C[c])
    return gain - (_f(table, counts.second_C[c] + total_p) - _f(table, counts.second_C[c]))
