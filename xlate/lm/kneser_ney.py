"""Interpolated modified Kneser-Ney estimation (Chen & Goodman 1998; Heafield et al. 2013), without pruning.

Adjusted counts a(w_1^n): the raw count for the highest order and for n-grams that begin with `<s>`, else the number of
distinct words seen to the left. With discounts D_1, D_2, D_3 of the order (Chen & Goodman, Eq. 26) and c the context:

    u(w | c)  = (a(c w) - D_a) / Σ_x a(c x)
    γ(c)      = Σ_k D_k · #{x: a(c x) = k (3 and more together)} / Σ_x a(c x)
    p(w | c)  = u(w | c) + γ(c) · p(w | c without its first word)

Unigrams interpolate with the uniform distribution over the vocabulary, `<unk>` and `</s>` included, `<s>` not.

Windows of `order` words are counted first, part by part of the text; n-grams are the beginnings of windows. In little
memory, parts of the text and ranges of n-grams are as large as fit into it, and all columns are mapped from files.
Windows and n-grams are sorted by their words, so the result is the same, wherever parts are counted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, AnyInts, Bools, Floats, Ints, Ints32, Uints
from xlate.arrays.ragged import offsets_of
from xlate.arrays.ranges import pieces
from xlate.arrays.scratch import Scratch
from xlate.arrays.stored import open_arrays, save_arrays
from xlate.errors import InputError, refuse_if
from xlate.kernels.memory import pair_keys
from xlate.lm.arpa import HIGHEST_ORDER, ArpaModel, NgramTable
from xlate.text.vocabulary import BEGIN_ID, END_ID, EncodedText, Vocabulary

log = logging.getLogger(__name__)
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
# The bytes of a word of the text, per order, if everything is in memory; and of a place while windows are counted.
TOKEN_BYTES, PLACE_BYTES = 100, 100
WINDOWS = "counted windows of words"


class Windows(NamedTuple):
    """The distinct sequences of N words of a text, sorted, and how often each occurs.

    Sentences are between `<s>` and `</s>`; windows that begin less than N words before their end have further `</s>`.
    """

    words_KN: Ints32
    count_K: Ints

    def save(self, folder: Path) -> None:
        """Writes them into a folder of arrays."""
        save_arrays(folder, WINDOWS, self._asdict())

    @classmethod
    def load(cls, folder: Path) -> Windows:
        """Opens what `save` wrote, memory-mapped; raises InputError if it is damaged."""
        stored = open_arrays(folder, WINDOWS, {"words_KN": ("<i4", 2), "count_K": ("<i8", 1)})
        return cls(stored["words_KN"], stored["count_K"])


class _Ngrams(NamedTuple):
    """The K distinct n-grams of an order, sorted by their words: adjusted counts, and rows of prefix and suffix.

    `key_K` are the rows of prefixes with the last words, and sorted, too.
    """

    words_Kn: Ints32
    count_K: Ints
    prefix_K: Ints32
    suffix_K: Ints32
    key_K: Uints


def estimate(
    sentences: EncodedText,
    vocabulary: Vocabulary,
    order: int,
    scratch: Scratch | None = None,
    counted: Sequence[Windows] = (),
) -> ArpaModel:
    """Estimates a model of the given order from tokenised sentences; log10 probabilities.

    Every word of the vocabulary gets a unigram. If an order lacks n-grams seen once, twice, … so that its discounts are
    undefined, 0.5, 1 and 1.5 are used, with a warning. If `scratch` cannot hold the n-grams in memory, the model's
    tables are mapped from its files. Windows of that order that were `counted` in further text are added.

    Raises:
        InputError: no sentence has a word, or the order is not between 1 and 7.
    """
    refuse_if(not 1 <= order <= HIGHEST_ORDER, "unusable order", order, f"an order from 1 to {HIGHEST_ORDER}")
    tokens = len(sentences.ids_T) + 2 * len(sentences) + sum(len(windows.count_K) for windows in counted)
    if scratch is None or scratch.holds(tokens * order * TOKEN_BYTES):
        scratch = Scratch()
    runs = [*counted, *count_windows(sentences, order, scratch)]
    if not runs:
        raise InputError("an empty corpus", "no words", "at least one word to estimate a language model from")
    unigrams, *orders = _ngrams(runs[0] if len(runs) == 1 else _merged(runs, len(vocabulary), scratch), scratch)
    seen_K = unigrams.words_Kn[:, 0]
    lower_K, uniform = _unigrams(unigrams.count_K, seen_K == BEGIN_ID, len(vocabulary))
    log10_V = np.full(len(vocabulary), np.log10(uniform))
    log10_V[seen_K] = np.log10(lower_K)
    words_V1 = np.arange(len(vocabulary), dtype=np.int32)[:, None]
    tables = [NgramTable(words_V1, log10_V, np.zeros(len(vocabulary)))]
    # The table has a row for every word; the collected rows are those seen in the text.
    backoff_C = np.zeros(len(seen_K))
    for n, grams in enumerate(orders, 2):
        discounts = discounts_of(grams.count_K, f"{n}-grams")
        lower_K, log10_K = scratch.stored(_interpolate(grams, discounts, lower_K, backoff_C, scratch))
        if n == 2:
            tables[0].backoff_K[seen_K] = backoff_C
        backoff_C = scratch.filled(len(log10_K), 0.0)
        tables.append(NgramTable(grams.words_Kn, log10_K, backoff_C))
    return ArpaModel(vocabulary, tables)


def count_windows(sentences: EncodedText, order: int, scratch: Scratch) -> Iterator[Windows]:
    """The windows of a text, from each part of it that fits into memory; sentences without words are omitted."""
    ends_S1 = sentences.offsets_S1 + 2 * np.arange(len(sentences) + 1)
    step, first = int(ends_S1[-1]) if scratch.memory is None else scratch.memory // PLACE_BYTES, 0
    while first < len(sentences):
        last = max(first + 1, int(np.searchsorted(ends_S1, ends_S1[first] + step, "right")) - 1)
        stream_T = _padded(sentences.part(first, last))
        if len(stream_T):
            yield Windows(*scratch.stored([_distinct(_columns(stream_T, order))]))
        first = last


def _padded(sentences: EncodedText) -> Ints32:
    """All sentences in sequence, each between `<s>` and `</s>`; sentences without words are omitted."""
    lengths_S = np.diff(sentences.offsets_S1)
    lengths_S = lengths_S[lengths_S > 0]
    ends_S = np.cumsum(lengths_S + 2)
    stream_T = np.full(lengths_S.sum() + 2 * len(lengths_S), -1, np.int32)
    stream_T[ends_S - 1] = END_ID
    stream_T[ends_S - lengths_S - 2] = BEGIN_ID
    stream_T[stream_T < 0] = sentences.ids_T
    return stream_T


def _columns(stream_T: Ints32, order: int) -> Iterator[Ints32]:
    """The first, second … word of the window at each place."""
    word_T = stream_T
    for n in range(order):
        if n:
            next_T = np.append(stream_T[n:], np.full(min(n, len(stream_T)), END_ID, np.int32))
            word_T = np.where(word_T == END_ID, END_ID, next_T).astype(np.int32)
        yield word_T


def _distinct(columns: Iterable[Ints32], weight_T: Ints | None = None) -> Windows:
    """The distinct rows of some columns in the order of their words, each with its summed weight; by default 1 each."""
    first_T, *others = columns
    number_T: AnyInts = first_T
    for column_T in others or [np.zeros_like(first_T)]:
        number_T = np.unique(pair_keys(number_T, column_T), return_inverse=True)[1]
    count_K = np.bincount(number_T, weight_T).astype(np.int64)
    # Any of equal rows has the same words.
    place_K = np.zeros(len(count_K), np.int64)
    place_K[number_T] = np.arange(len(number_T))
    return Windows(np.stack([column_T[place_K] for column_T in (first_T, *others)], axis=1), count_K)


def _merged(runs: Sequence[Windows], words: int, scratch: Scratch) -> Windows:
    """The windows of all runs, each once, merged in ranges of first words."""
    ends = []
    for run in runs:
        firsts = (run.words_KN[piece, 0] for piece in pieces(len(run.count_K)))
        ends.append(offsets_of(np.sum([np.bincount(first_K, minlength=words) for first_K in firsts], axis=0)))
    total_V1 = np.sum(ends, axis=0)
    step = total_V1[-1] if scratch.memory is None else max(1, scratch.memory // PLACE_BYTES)
    # Words with which about so many windows begin, unless one has more.
    bounds = np.unique(np.searchsorted(total_V1, np.arange(step, total_V1[-1], step), "right") - 1)

    def parts() -> Iterator[Windows]:
        for first, last in pairwise([0, *bounds.tolist(), words]):
            if total_V1[first] < total_V1[last]:
                rows = [slice(ends_V1[first], ends_V1[last]) for ends_V1 in ends]
                words_KN, count_K = ([run[n][some] for run, some in zip(runs, rows, strict=True)] for n in (0, 1))
                yield _distinct(np.concatenate(words_KN).T, np.concatenate(count_K))

    return Windows(*scratch.stored(parts()))


def _ngrams(windows: Windows, scratch: Scratch) -> list[_Ngrams]:
    """The distinct n-grams of each order up to that of the windows.

    None extends past `</s>`, and none has `<s>` elsewhere than at its beginning.
    """
    order = windows.words_KN.shape[1]

    def lengths() -> Iterator[tuple[AnyArray, AnyArray]]:
        before_1N = np.full((1, order), -1, np.int32)
        for piece in pieces(len(windows.count_K)):
            words_KN = windows.words_KN[piece]
            earlier_KN = np.concatenate([before_1N, words_KN[:-1]])
            before_1N = words_KN[-1:]
            shared_K = np.logical_and.accumulate(words_KN == earlier_KN, axis=1).sum(axis=1)
            length_K = np.logical_and.accumulate(words_KN != END_ID, axis=1).sum(axis=1) + 1
            yield shared_K.astype(np.int8), length_K.astype(np.int8)

    shared_K, length_K = scratch.stored(lengths())
    nothing = np.zeros(1, np.int32)
    below = _Ngrams(nothing[:, None], np.zeros(1, np.int64), nothing, nothing, np.zeros(1, np.uint64))
    orders = []
    for n in range(1, order + 1):
        below = _longer(windows, shared_K, length_K, n, below, scratch)
        orders.append(below)
    return orders


def _longer(
    windows: Windows, shared_K: AnyInts, length_K: AnyInts, n: int, below: _Ngrams, scratch: Scratch
) -> _Ngrams:
    """The n-grams of an order, which begin windows; counts each as one word to the left of its suffix.

    Args:
        shared_K: how many words a window shares with the one before. length_K: its words up to the first `</s>`.
        below: the n-grams that are one word shorter; for unigrams, one without words.
    """

    def begin(piece: slice, length: int) -> Bools:
        """Which windows begin another sequence of this length."""
        begin_K: Bools = (shared_K[piece] < length) & (length_K[piece] >= length)
        return begin_K

    count_K = scratch.filled(sum(int(begin(piece, n).sum()) for piece in pieces(len(shared_K))), 0)

    def columns() -> Iterator[tuple[AnyArray, ...]]:
        found, prefixes = -1, -int(n > 1)
        for piece in pieces(len(shared_K)):
            begin_K = begin(piece, n)
            number_K = found + np.cumsum(begin_K)
            prefix_K = prefixes + np.cumsum(begin(piece, n - 1))
            found, prefixes = number_K[-1], prefix_K[-1]
            words_KN = windows.words_KN[piece]
            raw_K = (length_K[piece] >= n) & ((words_KN[:, 0] == BEGIN_ID) | (n == words_KN.shape[1]))
            np.add.at(count_K, number_K[raw_K], windows.count_K[piece][raw_K])
            words_Kn, prefix_K = words_KN[begin_K, :n], prefix_K[begin_K].astype(np.int32)
            last_K = words_Kn[:, -1]
            suffix_K = prefix_K
            if n > 1:
                suffix_K = np.searchsorted(below.key_K, pair_keys(below.suffix_K[prefix_K], last_K)).astype(np.int32)
                np.add.at(below.count_K, suffix_K, 1)
            yield words_Kn, prefix_K, suffix_K, pair_keys(prefix_K, last_K)

    words_Kn, *more = scratch.stored(columns())
    return _Ngrams(words_Kn, count_K, *more)


def discounts_of(counts_K: Ints, words: str) -> Floats:
    """D_0 = 0, D_1, D_2, D_3 from how many have each of the counts 1 to 4 (Chen & Goodman, Eq. 26).

    Args:
        words: what is counted, for the warning that 0.5, 1 and 1.5 are used because the counts define no discounts.
    """
    frequency = np.zeros(6)
    for piece in pieces(len(counts_K)):
        frequency += np.bincount(np.minimum(counts_K[piece], 5), minlength=6)
    t = frequency[1:5]
    if (t[:3] > 0).all():
        y = t[0] / (t[0] + 2 * t[1])
        discounts = np.array([k - (k + 1) * y * t[k] / t[k - 1] for k in (1, 2, 3)])
        if (discounts > 0).all() and (discounts <= [1, 2, 3]).all():
            return np.concatenate(([0.0], discounts))
    log.warning("%s: too few counts for Kneser-Ney discounts; using %s", words, FALLBACK_DISCOUNTS)
    return np.array([0.0, *FALLBACK_DISCOUNTS])


def _unigrams(counts_K: Ints, begins_K: Bools, size: int) -> tuple[Floats, float]:
    # `<s>` alone is never predicted, so it does not count among unigrams.
    discounts = discounts_of(counts_K[~begins_K], "1-grams")
    counted_K = np.where(begins_K, 0, counts_K)
    off_K = discounts[np.minimum(counted_K, 3)]
    total = counted_K.sum()
    gamma = float(off_K.sum() / total)
    uniform = gamma / (size - 1)
    p_K: Floats = np.where(begins_K, 1.0, (counted_K - off_K) / total + uniform)
    return p_K, uniform


def _interpolate(
    grams: _Ngrams, discounts: Floats, lower_K: Floats, backoff_C: Floats, scratch: Scratch
) -> Iterator[tuple[Floats, Floats]]:
    """The interpolated probability of every n-gram and its log10; writes log10 γ of every context into `backoff_C`."""
    yield np.zeros(0), np.zeros(0)
    first, every = 0, len(grams.count_K)
    step = every if scratch.memory is None else max(1, scratch.memory // PLACE_BYTES)
    while first < every:
        # All n-grams of a context together.
        last = int(np.searchsorted(grams.prefix_K, grams.prefix_K[min(first + step, every) - 1], "right"))
        rows, start = slice(first, last), grams.prefix_K[first]
        counts_K, prefix_K = grams.count_K[rows], grams.prefix_K[rows] - start
        off_K = discounts[np.minimum(counts_K, 3)]
        total_C = np.bincount(prefix_K, counts_K.astype(np.float64))
        off_C = np.bincount(prefix_K, off_K)
        gamma_C = np.ones(len(total_C))
        np.divide(off_C, total_C, out=gamma_C, where=total_C > 0)
        backoff_C[start : start + len(gamma_C)] = np.log10(gamma_C)
        p_K = (counts_K - off_K) / total_C[prefix_K] + gamma_C[prefix_K] * lower_K[grams.suffix_K[rows]]
        yield p_K, np.log10(p_K)
        first = last
