"""Interpolated modified Kneser-Ney estimation (Chen & Goodman 1998; Heafield et al. 2013), without pruning.

Adjusted counts a(w_1^n): the raw count for the highest order and for n-grams that begin with `<s>`, else the number of
distinct words seen to the left. With discounts D_1, D_2, D_3 of the order (Chen & Goodman, Eq. 26) and c the context:

    u(w | c)  = (a(c w) - D_a) / Σ_x a(c x)
    γ(c)      = Σ_k D_k · #{x: a(c x) = k (3 and more together)} / Σ_x a(c x)
    p(w | c)  = u(w | c) + γ(c) · p(w | c without its first word)

Unigrams interpolate with the uniform distribution over the vocabulary, `<unk>` and `</s>` included, `<s>` not.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Bools, Floats, Ints
from xlate.errors import InputError
from xlate.kernels.memory import pair_keys
from xlate.lm.arpa import HIGHEST_ORDER, ArpaModel, NgramTable
from xlate.text.vocabulary import BEGIN_ID, END_ID, EncodedText, Vocabulary

log = logging.getLogger(__name__)
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)


@dataclass(frozen=True)
class _Ngrams:
    """The K distinct n-grams of an order: the first place of each, and rows of its prefix, suffix and last word."""

    first_K: Ints
    raw_K: Ints
    prefix_K: Ints
    suffix_K: Ints
    word_K: Ints
    starts_K: Bools


def estimate(sentences: EncodedText, vocabulary: Vocabulary, order: int) -> ArpaModel:
    """Estimates a model of the given order from tokenised sentences; log10 probabilities.

    Every word of the vocabulary gets a unigram. If an order lacks n-grams seen once, twice, … so that its discounts are
    undefined, 0.5, 1 and 1.5 are used, with a warning.

    Raises:
        InputError: no sentence has a word, or the order is not between 1 and 7.
    """
    if not 1 <= order <= HIGHEST_ORDER:
        raise InputError("unusable order", order, f"an order from 1 to {HIGHEST_ORDER}")
    if not len(sentences.ids_T):
        raise InputError("an empty corpus", "no words", "at least one word to estimate a language model from")
    stream_T = _padded(sentences)
    orders = _collect(stream_T, order)
    tables: list[NgramTable] = []
    lower_K = np.zeros(0)
    for n, grams in enumerate(orders):
        counts_K = grams.raw_K
        if n + 1 < order:
            left_K = np.bincount(orders[n + 1].suffix_K, minlength=len(counts_K))
            counts_K = np.where(grams.starts_K, counts_K, left_K)
        # `<s>` alone is never predicted, so it does not count among unigrams.
        discounts = _discounts(counts_K if n else counts_K[~grams.starts_K], n + 1)
        if n == 0:
            lower_K, uniform = _unigrams(grams, counts_K, discounts, len(vocabulary))
            log10_V = np.full(len(vocabulary), np.log10(uniform))
            log10_V[grams.word_K] = np.log10(lower_K)
            words_V1 = np.arange(len(vocabulary), dtype=np.int32)[:, None]
            tables.append(NgramTable(words_V1, log10_V, np.zeros(len(vocabulary))))
            continue
        gamma_C, lower_K = _interpolate(grams, counts_K, discounts, lower_K)
        # The unigram table has a row for every word; the collected rows are those seen in the text.
        context_rows_C = orders[0].word_K if n == 1 else np.arange(len(gamma_C))
        tables[-1].backoff_K[context_rows_C] = np.log10(gamma_C)
        words_Kn = stream_T[grams.first_K[:, None] + np.arange(n + 1)].astype(np.int32)
        tables.append(NgramTable(words_Kn, np.log10(lower_K), np.zeros(len(lower_K))))
    return ArpaModel(vocabulary, tables)


def _padded(sentences: EncodedText) -> Ints:
    """All sentences in sequence, each between `<s>` and `</s>`; sentences without words are omitted."""
    lengths_S = np.diff(sentences.offsets_S1)
    kept_S = lengths_S > 0
    ends_S = np.cumsum(lengths_S[kept_S] + 2)
    stream_T = np.full(int(ends_S[-1]), -1, np.int64)
    stream_T[ends_S - 1] = END_ID
    stream_T[ends_S - lengths_S[kept_S] - 2] = BEGIN_ID
    stream_T[stream_T < 0] = sentences.ids_T
    return stream_T


def _collect(stream_T: Ints, order: int) -> list[_Ngrams]:
    """The distinct n-grams of each order; a window never extends past `</s>` and has `<s>` only at its beginning."""
    orders: list[_Ngrams] = []
    places = np.arange(len(stream_T))
    words, first, inverse, raw = np.unique(stream_T, return_index=True, return_inverse=True, return_counts=True)
    rows_T = np.append(inverse, -1)
    nothing = np.full(len(words), -1, np.int64)
    orders.append(_Ngrams(first, raw, nothing, nothing, words, words == BEGIN_ID))
    for n in range(1, order):
        # A window grows only while it has not reached the end of its sentence.
        places = places[
            (places + n < len(stream_T)) & (stream_T[np.minimum(places + n - 1, len(stream_T) - 1)] != END_ID)
        ]
        prefix, suffix, last = rows_T[places], rows_T[places + 1], stream_T[places + n]
        _, first, inverse, raw = np.unique(
            pair_keys(prefix, last), return_index=True, return_inverse=True, return_counts=True
        )
        starts = stream_T[places[first]] == BEGIN_ID
        orders.append(_Ngrams(places[first], raw, prefix[first], suffix[first], last[first], starts))
        rows_T = np.full(len(stream_T) + 1, -1, np.int64)
        rows_T[places] = inverse
    return orders


def _discounts(counts_K: Ints, order: int) -> Floats:
    """D_0 = 0, D_1, D_2, D_3 from the numbers of n-grams with adjusted count 1 to 4 (Chen & Goodman, Eq. 26)."""
    t = np.bincount(np.minimum(counts_K, 5), minlength=6)[1:5].astype(np.float64)
    if (t[:3] > 0).all():
        y = t[0] / (t[0] + 2 * t[1])
        discounts = np.array([k - (k + 1) * y * t[k] / t[k - 1] for k in (1, 2, 3)])
        if (discounts > 0).all() and (discounts <= [1, 2, 3]).all():
            return np.concatenate(([0.0], discounts))
    log.warning("%d-grams: too few counts for Kneser-Ney discounts; using %s", order, FALLBACK_DISCOUNTS)
    return np.array([0.0, *FALLBACK_DISCOUNTS])


def _unigrams(grams: _Ngrams, counts_K: Ints, discounts: Floats, size: int) -> tuple[Floats, float]:
    counted_K = np.where(grams.starts_K, 0, counts_K)
    off_K = discounts[np.minimum(counted_K, 3)]
    total = counted_K.sum()
    gamma = float(off_K.sum() / total)
    uniform = gamma / (size - 1)
    p_K: Floats = np.where(grams.starts_K, 1.0, (counted_K - off_K) / total + uniform)
    return p_K, uniform


def _interpolate(grams: _Ngrams, counts_K: Ints, discounts: Floats, lower_K: Floats) -> tuple[Floats, Floats]:
    """γ of every context (a row of the order below) and the interpolated probability of every n-gram."""
    contexts = len(lower_K)
    off_K = discounts[np.minimum(counts_K, 3)]
    total_C = np.bincount(grams.prefix_K, counts_K.astype(np.float64), minlength=contexts)
    off_C = np.bincount(grams.prefix_K, off_K, minlength=contexts)
    gamma_C: Floats = np.ones(contexts)
    np.divide(off_C, total_C, out=gamma_C, where=total_C > 0)
    p_K = (counts_K - off_K) / total_C[grams.prefix_K] + gamma_C[grams.prefix_K] * lower_K[grams.suffix_K]
    return gamma_C, p_K
