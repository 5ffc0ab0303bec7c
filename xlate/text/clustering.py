"""Word classes by exchange: words move to the classes that make the text most likely (Kneser & Ney 1993; Och 1999)."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.errors import InputError
from xlate.kernels.counting.exchange import ClassCounts, Neighbours, sweep, x_log_x
from xlate.machine import check_memory
from xlate.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID, EncodedText

# How often every word is considered.
SWEEPS = 12


def exchange_classes(text: EncodedText, words: int, classes: int, seed: int) -> tuple[Ints32, list[float]]:
    """Clusters the words of a text; the beginning and the end of a sentence have their own class, which is not counted.

    Words are moved one by one, the most frequent first, to raise the sum of N ln N over class bigrams minus that over
    classes, until no word moves or each was considered `SWEEPS` times. The same seed gives the same classes on every
    machine.

    Args:
        text: numbered words.
        words: the size of the vocabulary V.
        classes: how many classes.
        seed: of the initial classes: the most frequent words have one each, all other words a random one.

    Returns:
        The classes of V words, -1 for words that never occur, and the log likelihood before and after every sweep.

    Raises:
        InputError: fewer than two classes, or more than there is memory for.
    """
    if classes < 2:
        raise InputError("too few word classes", classes, "2 or more")
    # Counts of pairs of classes, and values derived from them for the likelihood.
    check_memory("the counts of pairs of word classes", 24 * (classes + 1) ** 2, f"class{classes}")
    left_N, right_N, count_N = _bigrams(text, words)
    occurs_V = np.bincount(text.ids_T, minlength=words)
    occurs_V[[UNKNOWN_ID, BEGIN_ID, END_ID]] = 0
    order_X = np.argsort(-occurs_V, kind="stable")[: int((occurs_V > 0).sum())].astype(np.int32)
    class_V = np.full(words, classes, np.int32)
    begin_X = np.random.default_rng(seed).integers(0, classes, size=len(order_X))
    begin_X[:classes] = np.arange(min(classes, len(order_X)))
    class_V[order_X] = begin_X
    pairs_CC = np.zeros((classes + 1, classes + 1), np.int64)
    np.add.at(pairs_CC, (class_V[left_N], class_V[right_N]), count_N)
    counts = ClassCounts(pairs_CC, pairs_CC.sum(axis=1), pairs_CC.sum(axis=0))
    likelihoods = [_log_likelihood(counts)]
    neighbours = _rows(left_N, right_N, count_N, words), _rows(right_N, left_N, count_N, words)
    table = x_log_x()
    for _ in range(SWEEPS):
        moved, _ = sweep(order_X, classes, class_V, *neighbours, counts, table)
        likelihoods.append(_log_likelihood(counts))
        if moved == 0:
            break
    class_V[class_V == classes] = -1
    return class_V, likelihoods


def _bigrams(text: EncodedText, words: int) -> tuple[Ints32, Ints32, Ints]:
    """The distinct pairs of neighbouring words and their counts; `<s>` marks both ends of a sentence."""
    lengths = np.diff(text.offsets_S1)
    with_ends = np.full(len(text.ids_T) + len(lengths) + 1, BEGIN_ID, np.int64)
    with_ends[np.arange(len(text.ids_T)) + np.repeat(np.arange(len(lengths)), lengths) + 1] = text.ids_T
    keys, count_N = np.unique(with_ends[:-1] * words + with_ends[1:], return_counts=True)
    left_N, right_N = np.divmod(keys, words)
    return left_N.astype(np.int32), right_N.astype(np.int32), count_N.astype(np.int64)


def _rows(row_N: Ints32, word_N: Ints32, count_N: Ints, words: int) -> Neighbours:
    order = np.argsort(row_N, kind="stable")
    offsets_V1 = np.concatenate([[0], np.cumsum(np.bincount(row_N, minlength=words))])
    return Neighbours(offsets_V1, word_N[order], count_N[order])


def _log_likelihood(counts: ClassCounts) -> float:
    """The log likelihood as far as it depends on the classes: Σ N ln N over bigrams minus that over both margins."""

    pairs, first, second = (
        float((x * np.log(np.maximum(x, 1))).sum()) for x in (counts.pairs_CC, counts.first_C, counts.second_C)
    )
    return pairs - first - second
