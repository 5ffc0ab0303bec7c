"""Finds blocks in sentence pairs; matches may overlap, and need not cover the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xlate.array_types import Bools, Ints, Ints32
from xlate.arrays.ragged import row_numbers
from xlate.arrays.ranges import check_lengths, check_offsets, check_within, pieces
from xlate.arrays.stored import StoredArrays, open_arrays, save_arrays, unusable
from xlate.errors import InputError
from xlate.kernels.counting.matching import PhraseFinder, match_sentences
from xlate.kernels.memory.hashing import HashTable, build_table
from xlate.kernels.memory.trie import intern_rows
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText, sides

KIND = "set of matches"
LAYOUT = {"rows_M5": ("<i4", 2), "offsets_S1": ("<i8", 1)}
BLOCK, SOURCE_START, SOURCE_END, TARGET_START, TARGET_END = range(5)
LONGEST_SENTENCE = 32_767


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
        """The matches marked true, of as many sentences as before."""
        ends_S1 = np.concatenate([[0], np.cumsum(keep_M)])[self.offsets_S1]
        rows_M5, offsets_S1 = np.ascontiguousarray(self.rows_M5[keep_M]), ends_S1.astype(np.int64)
        # Read only as stored ones are, so that loops are compiled for one kind of array.
        rows_M5.flags.writeable = offsets_S1.flags.writeable = False
        return Matches(rows_M5, offsets_S1)

    def save(self, directory: str | Path) -> None:
        """Writes the matches into a directory as a folder of arrays."""
        blocks = int(self.block_M.max(initial=-1)) + 1
        save_arrays(directory, KIND, {name: getattr(self, name) for name in LAYOUT}, {"blocks": blocks})

    @classmethod
    def load(cls, directory: str | Path, blocks: int | None = None) -> Matches:
        """Reads what `save` wrote, memory-mapped; `blocks` is how many blocks there are.

        Raises:
            InputError: a file is missing or damaged, or values are outside of their ranges.
        """
        stored = open_arrays(directory, KIND, LAYOUT, _check)
        if blocks is not None and stored.number("blocks") > blocks:
            seen = f"blocks up to number {stored.number('blocks') - 1}"
            raise unusable(stored.folder / "rows_M5.npy", "matches of other blocks", seen, f"numbers below {blocks}")
        return cls(**stored.arrays)


def _check(stored: StoredArrays) -> None:
    """Checks that blocks exist, and that every span has a word."""
    rows_M5 = stored["rows_M5"]
    check_lengths(stored, rows_M5=(len(rows_M5), 5))
    check_offsets(stored, "offsets_S1", len(rows_M5))
    for piece in pieces(len(rows_M5)):
        part = rows_M5[piece]
        check_within(stored, "rows_M5", 0, stored.number("blocks"), part[:, BLOCK])
        check_within(stored, "rows_M5", 0, LONGEST_SENTENCE + 1, part[:, SOURCE_START:])
        for start, end in ((SOURCE_START, SOURCE_END), (TARGET_START, TARGET_END)):
            check_within(stored, "rows_M5", 1, LONGEST_SENTENCE + 1, part[:, end] - part[:, start])


def match_blocks(table: PhraseTable, source: EncodedText, target: EncodedText) -> Matches:
    """Every pair of a source span and a target span whose phrases form a block (A1; TZ07 section 2).

    Both texts are numbered as the table's phrases are.

    Raises:
        InputError: the texts have different numbers of sentences, or one of more than 32,767 words.
    """
    if len(source) != len(target):
        raise InputError("sides of unequal length", seen=f"{len(source)} and {len(target)} sentences")
    for text in (source, target):
        if len(text) and np.diff(text.offsets_S1).max() > LONGEST_SENTENCE:
            place = int(np.diff(text.offsets_S1).argmax())
            raise InputError("a sentence too long", line=place + 1, expected=f"at most {LONGEST_SENTENCE} words")
    if not len(table):
        return Matches(np.zeros((0, 5), dtype=np.int32), np.zeros(len(source) + 1, dtype=np.int64))
    lengths = [np.diff(phrases.offsets_S1).max() for phrases in (table.source_phrases, table.target_phrases)]
    rows_M5, offsets_S1 = match_sentences(
        phrase_finder(table.source_phrases),
        phrase_finder(table.target_phrases),
        np.searchsorted(table.source_B, np.arange(len(table.source_phrases) + 1)),
        np.ascontiguousarray(table.target_B),
        pair_table(table),
        int(max(lengths)),
        sides(source, target),
    )
    # Read only as stored ones are: to compiled loops the two are one kind of array, and compiled for once.
    rows_M5.flags.writeable = offsets_S1.flags.writeable = False
    return Matches(rows_M5, offsets_S1)


def phrase_finder(phrases: EncodedText) -> PhraseFinder:
    """A finder of phrases by their words; an unknown word (number 0) is in no phrase."""
    trie, node_S = intern_rows(np.array(phrases.ids_T), np.array(phrases.offsets_S1))
    row_N = np.full(int(trie.size_1[0]), -1, dtype=np.int32)
    row_N[node_S] = np.arange(len(node_S), dtype=np.int32)
    return PhraseFinder(HashTable(trie.keys_H, trie.rows_H), row_N)


def pair_table(table: PhraseTable) -> HashTable:
    """Finds a block by its key (source phrase, target phrase)."""
    return build_table((table.source_B.astype(np.uint64) << np.uint64(32)) | table.target_B.astype(np.uint64))
