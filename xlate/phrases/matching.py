"""Finds blocks in sentence pairs, and phrases of one table in another.

Matches may overlap, and need not cover the sentences. Orientation bigrams say which matching block follows which,
and on which side. Filters keep the sentence pairs and blocks that matter for a given test text (Tillmann & Zhang
2007, section 5; A9).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from xlate.align.links import matched_lengths
from xlate.array_types import AnyArray, Bools, Ints, Ints8, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.arrays.ranges import check_offsets, check_shapes, check_within, pieces
from xlate.arrays.stored import StoredArrays, arrays_of, layout_of, open_arrays, save_arrays, unusable
from xlate.errors import InputError, refuse_if
from xlate.kernels.counting.matching import PhraseFinder, match_sentences, occurrences, orientation_bigrams
from xlate.kernels.memory import HashTable, build_table, find_all, pair_keys
from xlate.kernels.search.spans import find_rows
from xlate.phrases.runs import PairCounts, number_phrases
from xlate.phrases.table import PhraseTable, phrase_finder
from xlate.text.vocabulary import UNKNOWN_ID, EncodedText, sides

KIND = "set of matches"
BLOCK, SOURCE_START, SOURCE_END, TARGET_START, TARGET_END = range(5)
LONGEST_SENTENCE, LONGEST_COMMON = 32_767, 12


@dataclass(frozen=True)
class Matches:
    """M matches of blocks in S sentence pairs; those of sentence s are `[offsets_S1[s]:offsets_S1[s + 1]]`.

    The columns of `rows_M5` are block, source start, source end, target start, target end; spans are half-open. Within
    a sentence the order is (target start, source start, target end, source end).
    """

    rows_M5: Ints32
    offsets_S1: Ints

    @property
    def block_M(self) -> Ints32:
        """The block of every match."""
        return self.rows_M5[:, BLOCK]

    def __len__(self) -> int:
        """The number of matches M."""
        return len(self.rows_M5)

    @property
    def sentence_M(self) -> Ints32:
        """The sentence of every match."""
        return row_numbers(self.offsets_S1).astype(np.int32)

    def select(self, keep_M: Bools) -> Matches:
        """The matches marked true; the number of sentences stays the same."""
        return Matches(np.ascontiguousarray(self.rows_M5[keep_M]), offsets_of(keep_M)[self.offsets_S1])

    def save(self, directory: str | Path) -> None:
        """Writes the matches into a directory as a folder of arrays."""
        blocks = int(self.block_M.max(initial=-1)) + 1
        save_arrays(directory, KIND, arrays_of(self), {"blocks": blocks})

    @classmethod
    def load(cls, directory: str | Path, blocks: int | None = None) -> Matches:
        """Reads what `save` wrote, memory-mapped; `blocks` is how many blocks there are.

        Raises:
            InputError: a file is missing or damaged, or values are out of range.
        """
        stored = open_arrays(directory, KIND, layout_of(cls)[0], _check)
        if blocks is not None and stored.number("blocks") > blocks:
            seen = f"blocks up to number {stored.number('blocks') - 1}"
            raise unusable(stored.folder / "rows_M5.npy", "matches of other blocks", seen, f"numbers below {blocks}")
        return cls(**stored.arrays)


def _check(stored: StoredArrays) -> None:
    """Checks that blocks exist, and that every span has a word."""
    rows_M5 = stored["rows_M5"]
    check_shapes(stored)
    check_offsets(stored, "offsets_S1", len(rows_M5))
    for piece in pieces(len(rows_M5)):
        part = rows_M5[piece]
        check_within(stored, "rows_M5", 0, stored.number("blocks"), part[:, BLOCK], piece.start)
        check_within(stored, "rows_M5", 0, LONGEST_SENTENCE + 1, part[:, SOURCE_START:], piece.start)
        for start, end in ((SOURCE_START, SOURCE_END), (TARGET_START, TARGET_END)):
            check_within(stored, "rows_M5", 1, LONGEST_SENTENCE + 1, part[:, end] - part[:, start], piece.start)


def match_blocks(table: PhraseTable, source: EncodedText, target: EncodedText) -> Matches:
    """Every pair of a source span and a target span whose phrases form a block (A1; TZ07 section 2).

    Both texts use the word numbers of the table.

    Raises:
        InputError: the texts have different numbers of sentences, or one of more than 32,767 words.
    """
    matched_lengths(source, target)
    for text in (source, target):
        if len(text) and np.diff(text.offsets_S1).max() > LONGEST_SENTENCE:
            place = int(np.diff(text.offsets_S1).argmax())
            raise InputError("a sentence is too long", line=place + 1, expected=f"at most {LONGEST_SENTENCE} words")
    if not len(table):
        return Matches(np.zeros((0, 5), np.int32), np.zeros(len(source) + 1, np.int64))
    lengths = [np.diff(phrases.offsets_S1).max() for phrases in (table.source_phrases, table.target_phrases)]
    source_finder, target_finder, pair_table = finders_of(table)
    rows_M5, offsets_S1 = match_sentences(
        source_finder,
        target_finder,
        np.searchsorted(table.source_B, np.arange(len(table.source_phrases) + 1)),
        np.ascontiguousarray(table.target_B),
        pair_table,
        int(max(lengths)),
        sides(source, target),
    )
    return Matches(rows_M5, offsets_S1)


def finders_of(table: PhraseTable) -> tuple[PhraseFinder, PhraseFinder, HashTable]:
    """Finders of a table's source phrases and of its target phrases, and of a pair by its key of both."""
    pairs = build_table(pair_keys(table.source_B, table.target_B))
    return table.source_finder, phrase_finder(table.target_phrases), pairs


@dataclass(frozen=True)
class Events:
    """E orientation bigrams (b', o, b) as match numbers, in the order (predecessor, successor); TZ07 Eq. 2.

    `orientation_E` is LEFT or RIGHT. G distinct predecessors: the bigrams of `group_G[g]` are
    `group_offsets_G1[g]` to `group_offsets_G1[g + 1]`; a datapoint of training is one such group (after `by_span`, a
    group is one predecessor with one source span). `neutral_X` are the matches that have no predecessor.
    """

    predecessor_E: Ints32
    successor_E: Ints32
    orientation_E: Ints8
    group_G: Ints32
    group_offsets_G1: Ints
    neutral_X: Ints32

    @classmethod
    def grouped(
        cls, predecessor_E: Ints32, successor_E: Ints32, orientation_E: Ints8, new_E: AnyArray, neutral_X: Ints32
    ) -> Events:
        """Bigrams in groups; the marked ones begin a group."""
        starts = np.flatnonzero(new_E)
        offsets_G1 = np.append(starts, len(predecessor_E)).astype(np.int64)
        return cls(predecessor_E, successor_E, orientation_E, predecessor_E[starts], offsets_G1, neutral_X)

    def __len__(self) -> int:
        """The number of bigrams E, neutral ones not counted."""
        return len(self.predecessor_E)

    def by_span(self, matches: Matches) -> Events:
        """The same bigrams, grouped by predecessor and source span of the successor instead of by predecessor."""
        rows_E = matches.rows_M5[self.successor_E]
        span_E = rows_E[:, SOURCE_START].astype(np.int64) << 16 | rows_E[:, SOURCE_END]
        order = np.lexsort((span_E, self.predecessor_E))
        columns = self.predecessor_E[order], self.successor_E[order], self.orientation_E[order]
        new_E = (np.diff(columns[0], prepend=-1) != 0) | (np.diff(span_E[order], prepend=-1) != 0)
        return Events.grouped(*columns, new_E, self.neutral_X)


def collect_events(matches: Matches) -> Events:
    """Collects the orientation bigrams of all matches.

    b' is the predecessor of b when b begins on the target side where b' ends, and b is directly to the right (o = R) or
    directly to the left (o = L) of b' on the source side.
    """
    columns = orientation_bigrams(np.ascontiguousarray(matches.rows_M5), np.ascontiguousarray(matches.offsets_S1))
    has_predecessor = np.zeros(len(matches), bool)
    has_predecessor[columns[1]] = True
    new_E = np.diff(columns[0], prepend=-1)
    return Events.grouped(*columns, new_E, np.flatnonzero(~has_predecessor).astype(np.int32))


def shared_substrings_filter(source: EncodedText, test: EncodedText, *, min_words: int) -> Bools:
    """Which of S source sentences share a substring of `min_words` to 12 words with a test text; shape (S,).

    The paper asks for one common substring of up to 12 words, and one word is such a substring: nearly every sentence
    shares a full stop with the test. A longer common substring contains shorter ones, so the minimum length alone
    decides. A sentence shorter than `min_words` is never kept, and unknown words are never in common. Both texts use
    the same word numbers.

    Raises:
        InputError: the minimum length is below 1 or above 12.

    Example: with `min_words=2` and the test text "das haus ist klein"::

        das haus brennt     kept      (das haus)
        klein ist das       left out  (single words only)
    """
    refuse_if(not 1 <= min_words <= LONGEST_COMMON, "unusable length of common substrings", min_words, "1 to 12 words")
    windows = []
    for words_T in (test[s] for s in range(len(test)) if len(test[s]) >= min_words):
        windows_Wn = sliding_window_view(words_T, min_words)
        windows += list(windows_Wn[(windows_Wn != UNKNOWN_ID).all(axis=1)])
    if not windows:
        return np.zeros(len(source), np.bool_)
    distinct, _ = number_phrases(EncodedText.from_ids(windows))
    _, sharing_S = occurrences(phrase_finder(distinct), len(distinct), *source.arrays)
    return np.asarray(sharing_S)


def occurring_blocks(table: PhraseTable, test: EncodedText) -> Bools:
    """Which of B blocks have a source phrase that occurs in a test text; shape (B,), for `PhraseTable.select`."""
    if not len(table):
        return np.zeros(0, np.bool_)
    phrases = table.source_phrases
    occurring_P, _ = occurrences(table.source_finder, len(phrases), *test.arrays)
    return occurring_P[table.source_B]


class WholeRows(NamedTuple):
    """Rows in a whole table of a smaller one's P source phrases, Q target phrases and B pairs, -1 if it has none."""

    source_P: Ints
    target_Q: Ints
    pair_B: Ints


@dataclass(frozen=True)
class TableRows:
    """Finds phrases and pairs in a table."""

    whole: PhraseTable

    def of(self, table: PhraseTable | PairCounts) -> WholeRows:
        """The rows of all phrases and pairs of another table."""
        phrases, (*finders, pairs) = (table.source_phrases, table.target_phrases), self._finders
        source_P, target_Q = (
            find_rows(finder, *map(np.asarray, text.arrays)) for finder, text in zip(finders, phrases, strict=True)
        )
        # Missing phrases have a number below 0, which makes a key that no pair has.
        keys_B = pair_keys(source_P[table.source_B], target_Q[table.target_B])
        return WholeRows(source_P, target_Q, find_all(pairs, keys_B).astype(np.int64))

    @cached_property
    def _finders(self) -> tuple[PhraseFinder, PhraseFinder, HashTable]:
        return finders_of(self.whole)
