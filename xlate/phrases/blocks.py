"""The block set: phrase pairs with the counts that the block bigram model is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Bools, Floats32, Ints, Ints32, Uints
from xlate.arrays.ragged import lengths_of
from xlate.arrays.ranges import check_rising, check_shapes, check_within, pieces
from xlate.arrays.stored import (
    HEADER,
    StoredArrays,
    arrays_of,
    begin_folder,
    check_seals,
    layout_of,
    open_arrays,
    save_arrays,
    seal_of,
    unusable,
)
from xlate.errors import refuse_if
from xlate.kernels.features.blocks import lexical_costs
from xlate.kernels.memory import build_table, pair_keys
from xlate.kernels.pairs import LEFT, RIGHT
from xlate.phrases.matching import Events, Matches
from xlate.phrases.table import PhraseTable, phrase_pairs

KIND = "block set"
UNSEEN_COUNT = 0.5
LEAST_ORIENTATION = 1e-7


@dataclass(frozen=True)
class BlockSet:
    """B blocks over a phrase table, with counts from matching them against training text (A1, A3).

    `count_B` is N(b), `left_B` and `right_B` are N_L(b) and N_R(b). U distinct block bigrams, sorted by their keys
    b' · 2^32 + b, have the counts N(b', b) in `bigram_count_U`. `lexical_B` is -ln p(S|T) of TZ07 section 3.1.
    `known_B`, if given, marks the blocks that may be used; the others are no options of their phrase.
    """

    table: PhraseTable
    count_B: Ints32
    left_B: Ints32
    right_B: Ints32
    bigram_keys_U: Uints
    bigram_count_U: Ints32
    lexical_B: Floats32
    known_B: Bools | None = None

    @classmethod
    def count(cls, table: PhraseTable, matches: Matches, events: Events, floor: float = 1e-7) -> BlockSet:
        """Counts blocks, orientations and block bigrams.

        Args:
            table: the phrase pairs.
            matches: of the training text; events: their orientation bigrams.
            floor: the least p(s|T), for a source word that no word of the target phrase translates.
        """
        block_M = np.asarray(matches.block_M)
        keys_E = pair_keys(block_M[events.predecessor_E], block_M[events.successor_E])
        bigram_keys_U, bigram_count_U = np.unique(keys_E, return_counts=True)
        return cls(
            table=table,
            **counts_of(table, matches, events, floor),
            bigram_keys_U=bigram_keys_U,
            bigram_count_U=bigram_count_U.astype(np.int32),
        )

    def __len__(self) -> int:
        """The number of blocks B."""
        return len(self.table)

    @cached_property
    def unigram_cost_B(self) -> Floats32:
        """(a): -ln N(b)/ΣN; a block never matched in the counted text counts half."""
        counts_B = np.maximum(self.count_B, UNSEEN_COUNT)
        return -np.log(counts_B / max(1, int(self.count_B.sum()))).astype(np.float32)

    @cached_property
    def unigram_cost_per_word_B(self) -> Floats32:
        """The unigram cost divided by the number of source words."""
        words_B = lengths_of(self.table.source_phrases.offsets_S1, self.table.source_B)
        return (self.unigram_cost_B / words_B).astype(np.float32)

    def direct_cost_B(self, discount: float = 0.0) -> Floats32:
        """-ln (N(b) - d)/N(T), T the target phrase of b (TZ07 section 5.3); a block never matched counts half.

        With the discount d = 0, as in the paper, a block seen once costs nothing when its target phrase was seen once.

        Raises:
            InputError: the discount is below 0, or not below 1.
        """
        refuse_if(not 0 <= discount < 1, "unusable discount of counts", discount, "a number, 0 or more and below 1")
        counts_B = np.maximum(self.count_B, UNSEEN_COUNT)
        target_B = np.asarray(self.table.target_B)
        total_Q = np.bincount(target_B, counts_B, minlength=len(self.table.target_phrases))
        kept_B = np.maximum(self.count_B - float(discount), UNSEEN_COUNT * (1.0 - discount))
        costs: Floats32 = -np.log(kept_B / total_Q[target_B]).astype(np.float32)
        return costs

    def orientation_cost_B2(self, smoothing: float = 0.5) -> Floats32:
        """(b): -ln (N_o(b) + k) / (N_L(b) + N_R(b) + 2k) for o = L, R; shape (B, 2), natural logs.

        With k = 0, as in the paper, an orientation never seen has the probability `LEAST_ORIENTATION`, and a block seen
        with neither has equal costs for both.

        Raises:
            InputError: the smoothing is negative or not finite.
        """
        refuse_if(not 0 <= smoothing < np.inf, "unusable orientation smoothing", smoothing, "a number, 0 or more")
        counts_B2 = np.stack([self.left_B, self.right_B], axis=1) + float(smoothing)
        total_B1 = counts_B2.sum(axis=1, keepdims=True)
        shares_B2 = np.divide(counts_B2, total_B1, out=np.full_like(counts_B2, 0.5), where=total_B1 > 0)
        costs: Floats32 = -np.log(np.maximum(shares_B2, LEAST_ORIENTATION)).astype(np.float32)
        return costs

    @cached_property
    def options(self) -> tuple[Ints, Ints32]:
        """Blocks by source phrase, most frequent first: offsets by phrase (P+1) and block numbers.

        Ties keep the order of the table.
        """
        source_B = np.asarray(self.table.source_B)
        order = np.lexsort((np.arange(len(self)), -self.count_B.astype(np.int64), source_B))
        if self.known_B is not None:
            order = order[self.known_B[order]]
        offsets = np.searchsorted(source_B[order], np.arange(len(self.table.source_phrases) + 1))
        return offsets.astype(np.int64), order.astype(np.int32)

    def save(self, directory: str | Path) -> None:
        """Writes the phrase table and the counts as folders of arrays."""
        directory = begin_folder(directory)
        self.table.save(directory / "table")
        save_arrays(directory, KIND, arrays_of(self), {"table": seal_of(directory / "table", PhraseTable.KIND)})

    @classmethod
    def load(cls, directory: str | Path, words: tuple[int, int] | None = None) -> BlockSet:
        """Opens what `save` wrote, memory-mapped; `words` are the sizes of the table's vocabularies.

        Raises:
            InputError: another kind or version, a file that is missing or damaged, ids out of range.
        """
        stored = open_arrays(directory, KIND, layout_of(cls)[0], _check)
        check_seals(stored, table=PhraseTable.KIND)
        table = PhraseTable.load(stored.folder / "table", words)
        if len(table) != len(stored["count_B"]):
            raise unusable(
                stored.folder / HEADER,
                "the counts and the table have different blocks",
                f"the table has {len(table)} blocks, the counts are of {len(stored['count_B'])}",
                "equal numbers",
            )
        return cls(table=table, **stored.arrays)


def _check(stored: StoredArrays) -> None:
    """Checks that all counts are of the same blocks, and that bigrams are sorted and of existing blocks."""
    check_shapes(stored)
    check_rising(stored, "bigram_keys_U", strictly=True)
    for piece in pieces(len(stored["bigram_keys_U"])):
        keys = np.asarray(stored["bigram_keys_U"][piece])
        for half in (keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)):
            check_within(stored, "bigram_keys_U", 0, len(stored["count_B"]), half, piece.start)


def counts_of(table: PhraseTable, matches: Matches, events: Events, floor: float) -> dict[str, Any]:
    """`count_B`, `left_B`, `right_B` and `lexical_B` of a `BlockSet`, from matches and their orientation bigrams.

    In lexical costs p(s|t) is N(s, t) / Σ_k N(s, t_k), from blocks of one word on each side.
    """
    block_M = np.asarray(matches.block_M)
    successor_E = block_M[events.successor_E]
    left_E, right_E = (successor_E[events.orientation_E == side] for side in (LEFT, RIGHT))
    count_B, left_B, right_B = (
        np.bincount(blocks_X, minlength=len(table)).astype(np.int32) for blocks_X in (block_M, left_E, right_E)
    )
    single_P = np.diff(table.source_phrases.offsets_S1) == 1
    single_Q = np.diff(table.target_phrases.offsets_S1) == 1
    rows = np.flatnonzero(single_P[table.source_B] & single_Q[table.target_B])
    source_K = table.source_phrases.ids_T[table.source_phrases.offsets_S1[table.source_B[rows]]]
    target_K = table.target_phrases.ids_T[table.target_phrases.offsets_S1[table.target_B[rows]]]
    total_V = np.bincount(source_K, count_B[rows].astype(np.float64)) if len(rows) else np.ones(1)
    probability_K = count_B[rows] / np.maximum(total_V[source_K], 1e-300)
    lexical_B = lexical_costs(phrase_pairs(table), build_table(pair_keys(source_K, target_K)), probability_K, floor)
    return {"count_B": count_B, "left_B": left_B, "right_B": right_B, "lexical_B": lexical_B}
