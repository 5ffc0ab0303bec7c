"""Lexical translation probabilities: from word alignment links, as in Moses's lex.f2e and lex.e2f, and from sentence
pairs alone, by IBM Model 1 (Brown et al. 1993); and a bilingual dictionary of the linked words.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from xlate.align.links import Links, check_counts, matched_lengths
from xlate.array_types import NO_INTS, AnyInts, Floats, Ints, Ints32, Uints
from xlate.arrays.ranges import pieces
from xlate.kernels.counting.alignment import cooccurrences, expectation_maximisation
from xlate.kernels.memory import HashTable, build_table
from xlate.text.vocabulary import EncodedText, Vocabulary, sides

NULL = -1
# Sentence pairs whose linked words are counted at a time.
PART_SENTENCES = 1 << 17


@dataclass(frozen=True)
class LexicalTable:
    """K linked word pairs, sorted by (source_K, target_K); the number -1 is NULL, the partner of unaligned words.

    `target_given_source_K` is p(t|s) (Moses: lex.f2e) and `source_given_target_K` is p(s|t) (lex.e2f), plain
    probabilities. For each s the p(t|s) sum to 1, for each t the p(s|t).
    """

    source_K: Ints32
    target_K: Ints32
    count_K: Ints
    target_given_source_K: Floats
    source_given_target_K: Floats

    @cached_property
    def significance_K(self) -> Floats:
        """Dunning's log-likelihood ratio G² of each pair, over all links; 0 where chance would link it more often."""
        total = self.count_K.sum()
        row_K, column_K = (_totals(word_K, self.count_K) for word_K in (self.source_K, self.target_K))
        # The observed and the expected counts of this source word or any other with this target word or any other.
        neither_K = total - row_K - column_K + self.count_K
        observed_4K = np.array([self.count_K, row_K - self.count_K, column_K - self.count_K, neither_K])
        expected_4K = np.array([row_K, row_K, total - row_K, total - row_K]) / total
        expected_4K *= [column_K, total - column_K, column_K, total - column_K]
        ratio_4K = np.divide(observed_4K, expected_4K, out=np.ones_like(expected_4K), where=observed_4K > 0)
        found_K = 2 * (observed_4K * np.log(ratio_4K)).sum(axis=0)
        return np.where(observed_4K[0] > expected_4K[0], np.maximum(found_K, 0.0), 0.0)


def lexical_table(source: EncodedText, target: EncodedText, links: Links, *, decimals: int | None = 7) -> LexicalTable:
    """Relative frequencies of linked words; a word without links is linked to NULL (Koehn et al. 2003, section 4.4).

    Args:
        decimals: rounds the probabilities to this many decimals, but never to 0; None keeps them exact. Moses computes
            its phrase scores from lexical tables that it wrote with 7 decimals, which changes weights of rare words by
            up to a few thousandths of their value.

    Raises:
        InputError: the three differ in number of sentences.
    """
    check_counts(source, target, links)
    keys_K, count_K = NO_INTS, NO_INTS
    for piece in pieces(len(source), PART_SENTENCES):
        rows = piece.start, piece.stop
        keys_W = _linked_words(source.part(*rows), target.part(*rows), links.part(*rows))
        found_N, count_N = np.unique(keys_W, return_counts=True)
        keys_K, row_M = np.unique(np.concatenate([keys_K, found_N]), return_inverse=True)
        count_K = np.bincount(row_M, np.concatenate([count_K, count_N]), len(keys_K)).astype(np.int64)
    source_K, target_K = (keys_K >> 32) - 1, (keys_K & 0xFFFFFFFF) - 1
    shares = [count_K / _totals(word_K, count_K) for word_K in (source_K, target_K)]
    if decimals is not None:
        rounded = [np.round(share_K, decimals) for share_K in shares]
        shares = [np.where(new_K > 0, new_K, share_K) for new_K, share_K in zip(rounded, shares, strict=True)]
    return LexicalTable(source_K.astype(np.int32), target_K.astype(np.int32), count_K, *shares)


def _linked_words(source: EncodedText, target: EncodedText, links: Links) -> Ints:
    """A key of each two linked words, and of each word without links; see `lexical_table`."""
    per_sentence = np.diff(links.offsets_S1)
    source_place_L = links.source_L.astype(np.int64) + np.repeat(source.offsets_S1[:-1], per_sentence)
    target_place_L = links.target_L.astype(np.int64) + np.repeat(target.offsets_S1[:-1], per_sentence)
    lone_source = _unaligned(source, source_place_L)
    lone_target = _unaligned(target, target_place_L)
    source_words = [source.ids_T[source_place_L], lone_source, np.full(len(lone_target), NULL)]
    target_words = [target.ids_T[target_place_L], np.full(len(lone_source), NULL), lone_target]
    source_W, target_W = (np.concatenate(words).astype(np.int64) for words in (source_words, target_words))
    keys_W = (source_W + 1 << 32) | (target_W + 1)
    return keys_W


def _totals(word_K: AnyInts, count_K: Ints) -> Floats:
    """How often the word of each pair is linked."""
    return np.bincount(word_K + 1, count_K)[word_K + 1].astype(np.float64)


def _unaligned(text: EncodedText, place_L: Ints) -> Ints32:
    """The words at places (in `ids_T`) that no link names."""
    alone_T = np.ones(len(text.ids_T), np.bool_)
    alone_T[place_L] = False
    return text.ids_T[alone_T]


class WordTranslation(NamedTuple):
    """A translation of a source word: p(t|s), p(s|t), how often they are linked, and G² (`significance_K`)."""

    target: str
    p_target: float
    p_source: float
    links: int
    significance: float


def dictionary(
    table: LexicalTable,
    source: Vocabulary,
    target: Vocabulary,
    *,
    least_count: int,
    least_probability: float,
    least_significance: float,
    words_only: bool,
    most: int | None,
) -> dict[str, list[WordTranslation]]:
    """The linked words as a dictionary: source words in alphabetical order, the translations of each best first.

    Args:
        table: with exact probabilities.
        source, target: the words.
        least_count, least_significance: of a pair. least_probability: of both p(t|s) and p(s|t).
        words_only: leave out what has a digit or no letter.
        most: translations per source word; None for all.
    """
    shares = table.target_given_source_K, table.source_given_target_K
    kept_K = (table.source_K != NULL) & (table.target_K != NULL) & (np.minimum(*shares) >= least_probability)
    kept_K &= (table.count_K >= least_count) & (table.significance_K >= least_significance)
    columns = table.source_K, table.target_K, *shares, table.count_K, table.significance_K
    found = defaultdict[str, list[WordTranslation]](list)
    for s, t, *numbers in zip(*(column_K[kept_K].tolist() for column_K in columns), strict=True):
        word, said = source.word(s), target.word(t)
        if not words_only or (_is_word(word) and _is_word(said)):
            found[word].append(WordTranslation(said, *numbers))
    return {
        word: sorted(found[word], key=lambda one: (-one.p_target, one.target))[:most]
        for word in sorted(found, key=lambda word: (word.casefold(), word))
    }


def _is_word(text: str) -> bool:
    return any(map(str.isalpha, text)) and not any(map(str.isdigit, text))


@dataclass(frozen=True)
class Model1:
    """K word pairs: p(s|t) of the key t · 2^32 + s; t = 0 is NULL. For each t the p(s|t) sum to 1."""

    keys_K: Uints
    probability_K: Floats

    @classmethod
    def train(cls, source: EncodedText, target: EncodedText, target_words: int, iterations: int = 5) -> Model1:
        """Estimates from sentence pairs; words are numbered from 1 (0 is kept for NULL).

        Args:
            source, target: the two sides.
            target_words: the size of the target vocabulary.
            iterations: of expectation maximisation.

        Raises:
            InputError: the sides have different numbers of sentences.
        """
        matched_lengths(source, target)
        text = sides(source, target)
        keys_K = cooccurrences(text)
        probability_K = expectation_maximisation(build_table(keys_K), keys_K, text, target_words, iterations)
        return cls(keys_K, probability_K)

    @cached_property
    def table(self) -> HashTable:
        """Finds the row of a key."""
        return build_table(self.keys_K)
