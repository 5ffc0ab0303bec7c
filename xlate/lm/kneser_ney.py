"""Interpolated modified Kneser-Ney estimation (Chen & Goodman 1998; Heafield et al. 2013), without pruning.

Adjusted counts a(w_1^n): the raw count for the highest order and for n-grams that begin with `<s>`, else the number of
distinct words seen to the left. With discounts D_1, D_2, D_3 of the order (Chen & Goodman, Eq. 26) and c the context:

    u(w | c)  = (a(c w) - D_a) / Σ_x a(c x)
    γ(c)      = Σ_k D_k · #{x: a(c x) = k (3 and more together)} / Σ_x a(c x)
    p(w | c)  = u(w | c) + γ(c) · p(w | c without its first word)

Unigrams interpolate with the uniform distribution over the vocabulary, `<unk>` and `</s>` included, `<s>` not.

In little memory the n-grams of an order are counted in ranges of their prefixes, few enough that the places of a range
fit into it; all columns are mapped from files. N-grams are sorted by their words, so the result is the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Bools, Floats, Ints, Ints32
from xlate.arrays.ranges import PIECE, pieces
from xlate.arrays.scratch import Scratch
from xlate.errors import InputError
from xlate.kernels.memory import pair_keys
from xlate.lm.arpa import HIGHEST_ORDER, ArpaModel, NgramTable
from xlate.text.vocabulary import BEGIN_ID, END_ID, EncodedText, Vocabulary

log = logging.getLogger(__name__)
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
# The bytes of a word of the text, per order, if everything is in memory; and of a place while n-grams are counted.
TOKEN_BYTES, PLACE_BYTES = 100, 100
# This many sentences are padded at a time.
SENTENCES = 1 << 16


class _Ngrams(NamedTuple):
    """The K distinct n-grams of an order, sorted by their words: adjusted counts, and rows of prefix and suffix.

    Each part is a range of n-grams and of their prefixes, all n-grams after these.
    """

    words_Kn: Ints32
    count_K: Ints
    prefix_K: Ints32
    suffix_K: Ints32
    parts: list[tuple[slice, slice]]


def estimate(sentences: EncodedText, vocabulary: Vocabulary, order: int, scratch: Scratch | None = None) -> ArpaModel:
    """Estimates a model of the given order from tokenised sentences; log10 probabilities.

    Every word of the vocabulary gets a unigram. If an order lacks n-grams seen once, twice, … so that its discounts are
    undefined, 0.5, 1 and 1.5 are used, with a warning. If `scratch` cannot hold the n-grams in memory, the model's
    tables are mapped from its files.

    Raises:
        InputError: no sentence has a word, or the order is not between 1 and 7.
    """
    if not 1 <= order <= HIGHEST_ORDER:
        raise InputError("unusable order", order, f"an order from 1 to {HIGHEST_ORDER}")
    tokens = len(sentences.ids_T)
    if not tokens:
        raise InputError("an empty corpus", "no words", "at least one word to estimate a language model from")
    if scratch is None or scratch.holds((tokens + 2 * len(sentences)) * order * TOKEN_BYTES):
        scratch = Scratch()
    unigrams, *orders = _collect(sentences, order, len(vocabulary), scratch)
    seen_K = unigrams.words_Kn[:, 0]
    lower_K, uniform = _unigrams(unigrams.count_K, seen_K == BEGIN_ID, len(vocabulary))
    log10_V = np.full(len(vocabulary), np.log10(uniform))
    log10_V[seen_K] = np.log10(lower_K)
    words_V1 = np.arange(len(vocabulary), dtype=np.int32)[:, None]
    tables = [NgramTable(words_V1, log10_V, np.zeros(len(vocabulary)))]
    # The table has a row for every word; the collected rows are those seen in the text.
    backoff_C = np.zeros(len(seen_K))
    for n, grams in enumerate(orders, 2):
        discounts = _discounts(grams.count_K, n)
        lower_K, log10_K = scratch.stored(_interpolate(grams, discounts, lower_K, backoff_C))
        if n == 2:
            tables[0].backoff_K[seen_K] = backoff_C
        backoff_C = scratch.filled(len(log10_K), 0.0)
        tables.append(NgramTable(grams.words_Kn, log10_K, backoff_C))
    return ArpaModel(vocabulary, tables)


def _padded(sentences: EncodedText) -> Iterator[tuple[Ints32]]:
    """All sentences in sequence, each between `<s>` and `</s>`; sentences without words are omitted."""
    for piece in pieces(len(sentences), SENTENCES):
        offsets_S1 = sentences.offsets_S1[piece.start : piece.stop + 1]
        lengths_S = np.diff(offsets_S1)
        lengths_S = lengths_S[lengths_S > 0]
        ends_S = np.cumsum(lengths_S + 2)
        stream_T = np.full(lengths_S.sum() + 2 * len(lengths_S), -1, np.int32)
        stream_T[ends_S - 1] = END_ID
        stream_T[ends_S - lengths_S - 2] = BEGIN_ID
        stream_T[stream_T < 0] = sentences.ids_T[offsets_S1[0] : offsets_S1[-1]]
        yield (stream_T,)


def _collect(sentences: EncodedText, order: int, words: int, scratch: Scratch) -> list[_Ngrams]:
    """The distinct n-grams of each order; a window never extends past `</s>` and has `<s>` only at its beginning."""
    (stream_T,) = scratch.stored(_padded(sentences))
    raw_V = np.zeros(words, np.int64)
    for piece in pieces(len(stream_T)):
        raw_V += np.bincount(stream_T[piece], minlength=words)
    seen_K = np.flatnonzero(raw_V)
    row_V = np.zeros(words, np.int32)
    row_V[seen_K] = np.arange(len(seen_K))
    (rows_T,) = scratch.stored((row_V[stream_T[piece]],) for piece in pieces(len(stream_T)))
    count_K = np.where((seen_K == BEGIN_ID) | (order == 1), raw_V[seen_K], 0)
    orders = [_Ngrams(seen_K[:, None].astype(np.int32), count_K, row_V[:0], row_V[:0], [])]
    for n in range(2, order + 1):
        grams, rows_T = _longer(stream_T, rows_T, orders[-1], n == order, scratch)
        orders.append(grams)
    return orders


def _longer(
    stream_T: Ints32, rows_T: Ints32, below: _Ngrams, highest: bool, scratch: Scratch
) -> tuple[_Ngrams, Ints32]:
    """The n-grams that are one word longer than those below, and the row of the one that begins at each place or -1.

    Counts every n-gram as one word to the left of its suffix.
    """
    length, longer_T = below.words_Kn.shape[1] + 1, scratch.filled(len(rows_T), np.int32(-1))
    ranges: list[tuple[slice, slice]] = []

    def columns() -> Iterator[tuple[AnyArray, ...]]:
        found = 0
        for first, last in pairwise(_bounds(rows_T, len(below.count_K), scratch)):
            places = _places(stream_T, rows_T, range(first, last), length - 1)
            keys = pair_keys(rows_T[places], stream_T[places + (length - 1)])
            keys, inverse, raw_K = np.unique(keys, return_inverse=True, return_counts=True)
            longer_T[places] = inverse + found
            # Any place of an n-gram has the same words.
            place_K = np.zeros(len(raw_K), np.int64)
            place_K[inverse] = places
            words_Kn = np.stack([stream_T[place_K + k] for k in range(length)], axis=1)
            suffix_K = rows_T[place_K + 1]
            np.add.at(below.count_K, suffix_K, 1)
            ranges.append((slice(found, found + len(raw_K)), slice(first, last)))
            found += len(raw_K)
            count_K = np.where((words_Kn[:, 0] == BEGIN_ID) | highest, raw_K, 0)
            yield words_Kn, count_K, (keys >> np.uint64(32)).astype(np.int32), suffix_K

    words_Kn, count_K, prefix_K, suffix_K = scratch.stored(columns())
    return _Ngrams(words_Kn, count_K, prefix_K, suffix_K, ranges), longer_T


def _bounds(rows_T: Ints32, rows: int, scratch: Scratch) -> list[int]:
    """Bounds of ranges of rows, each with so few places that they fit into memory, unless one row has more."""
    inner: list[int] = []
    if scratch.memory is not None:
        sample = np.sort(rows_T[:: 1 + len(rows_T) // PIECE])
        step = max(1, len(sample) * scratch.memory // (len(rows_T) * PLACE_BYTES))
        inner = np.unique(sample[step::step]).tolist()
    return [0, *(row for row in inner if row > 0), rows]


def _places(stream_T: Ints32, rows_T: Ints32, rows: range, length: int) -> Ints:
    """The places of the n-grams in some rows, without those that end their sentence."""
    found = []
    for piece in pieces(len(rows_T)):
        row_P = rows_T[piece]
        place_P = piece.start + np.flatnonzero((row_P >= rows.start) & (row_P < rows.stop))
        found.append(place_P[stream_T[place_P + (length - 1)] != END_ID])
    return np.concatenate(found)


def _discounts(counts_K: Ints, order: int) -> Floats:
    """D_0 = 0, D_1, D_2, D_3 from the numbers of n-grams with adjusted count 1 to 4 (Chen & Goodman, Eq. 26)."""
    frequency = np.zeros(6)
    for piece in pieces(len(counts_K)):
        frequency += np.bincount(np.minimum(counts_K[piece], 5), minlength=6)
    t = frequency[1:5]
    if (t[:3] > 0).all():
        y = t[0] / (t[0] + 2 * t[1])
        discounts = np.array([k - (k + 1) * y * t[k] / t[k - 1] for k in (1, 2, 3)])
        if (discounts > 0).all() and (discounts <= [1, 2, 3]).all():
            return np.concatenate(([0.0], discounts))
    log.warning("%d-grams: too few counts for Kneser-Ney discounts; using %s", order, FALLBACK_DISCOUNTS)
    return np.array([0.0, *FALLBACK_DISCOUNTS])


def _unigrams(counts_K: Ints, begins_K: Bools, size: int) -> tuple[Floats, float]:
    # `<s>` alone is never predicted, so it does not count among unigrams.
    discounts = _discounts(counts_K[~begins_K], 1)
    counted_K = np.where(begins_K, 0, counts_K)
    off_K = discounts[np.minimum(counted_K, 3)]
    total = counted_K.sum()
    gamma = float(off_K.sum() / total)
    uniform = gamma / (size - 1)
    p_K: Floats = np.where(begins_K, 1.0, (counted_K - off_K) / total + uniform)
    return p_K, uniform


def _interpolate(
    grams: _Ngrams, discounts: Floats, lower_K: Floats, backoff_C: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """The interpolated probability of every n-gram and its log10; writes log10 γ of every context into `backoff_C`."""
    for rows, contexts in grams.parts:
        size, counts_K = contexts.stop - contexts.start, grams.count_K[rows]
        prefix_K = grams.prefix_K[rows] - np.int32(contexts.start)
        off_K = discounts[np.minimum(counts_K, 3)]
        total_C = np.bincount(prefix_K, counts_K.astype(np.float64), minlength=size)
        off_C = np.bincount(prefix_K, off_K, minlength=size)
        gamma_C: Floats = np.ones(size)
        np.divide(off_C, total_C, out=gamma_C, where=total_C > 0)
        backoff_C[contexts] = np.log10(gamma_C)
        p_K = (counts_K - off_K) / total_C[prefix_K] + gamma_C[prefix_K] * lower_K[grams.suffix_K[rows]]
        yield p_K, np.log10(p_K)
