"""Candidate stores of the block bigram model, from matches and orientation bigrams (A2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from xlate.array_types import Bools, Ints, Ints32
from xlate.arrays.ragged import row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import StoreWriter
from xlate.features.block import FLOATS
from xlate.kernels.features.block_features import BlockArrays
from xlate.kernels.features.block_instances import (
    Filled,
    MatchedText,
    SuccessorArrays,
    linked_instances,
    neutral_instances,
)
from xlate.lm.model import NgramModel
from xlate.phrases.events import Events
from xlate.phrases.matching import Matches
from xlate.text.encoded import EncodedText

CHUNK_INSTANCES = 50_000
HELDOUT = ".heldout"
STORES = ("linked", f"linked{HELDOUT}", "neutral", f"neutral{HELDOUT}")


@dataclass(frozen=True)
class BlockInstances:
    """All that instances are made from.

    A *linked* instance belongs to one match as predecessor. Its candidates are the true successors, and for each of
    these its alternatives: other blocks in the same orientation. A *neutral* instance belongs to one match without
    predecessor; its candidates are this block and its alternatives, without orientation cost. A candidate that is both
    is true.

    Attributes:
        blocks: what dense and sparse features are computed from; dense_names: the names of the dense ones.
        features: the number of sparse features.
        lm: the language model.
        matches: of the text; events: which match follows which.
        target: the target side of the text in the word numbers of the language model, which need not be those of the
            blocks; it is the history before each candidate.
        heldout_S: sentences whose instances go into the stores held out, to measure P on.
        alternatives: how many of the most frequent blocks with its source phrase are alternatives of a block.
        listed_only: whether only blocks that are among these alternatives themselves count as true; other true
            successors are no candidates at all.
        by_span: whether the true successors of a match are split into an instance for each of their source spans.
        by_target: whether blocks that match the same target words elsewhere in the sentence are alternatives as well
            (*source+target*).
    """

    blocks: BlockArrays
    features: int
    lm: NgramModel
    matches: Matches
    events: Events
    target: EncodedText
    heldout_S: Bools
    alternatives: int = 9
    listed_only: bool = False
    by_span: bool = False
    by_target: bool = False
    dense_names: tuple[str, ...] = FLOATS

    def write(self, directory: Path, names: Sequence[str] = STORES) -> dict[str, int]:
        """Writes the stores of these instances alone; see `write_stores`."""
        return write_stores(directory, [self], names)

    def rows(self, name: str) -> Ints:
        """The groups or the neutral matches that a store gets: `linked`, `neutral`, or those of them held out."""
        if name.startswith("linked"):
            rows = np.unique(row_numbers(self._grouped.group_offsets_G1)[self._shown_E])
            match_X = self._grouped.group_G[rows]
        else:
            match_X = self.events.neutral_X[self._shown_M[self.events.neutral_X]]
            rows = match_X.astype(np.int64)
        out_X = self.heldout_S[self.text.sentence_M[match_X]]
        return rows[out_X if name.endswith(HELDOUT) else ~out_X]

    def batches(self, name: str) -> Iterator[CandidateBatch]:
        """The instances of a store, in pieces."""
        rows, fill = self.rows(name), self._linked if name.startswith("linked") else self._neutral
        for start in range(0, len(rows), CHUNK_INSTANCES):
            yield _batch(fill(rows[start : start + CHUNK_INSTANCES], self.text))

    @cached_property
    def text(self) -> MatchedText:
        """The matches and the target words as kernels take them."""
        m, target = self.matches, self.target
        return MatchedText(m.rows_M5, m.sentence_M, m.offsets_S1, target.ids_T, target.offsets_S1)

    def _linked(self, groups: Ints, text: MatchedText) -> Filled:
        e = self._grouped
        events = SuccessorArrays(e.group_G, e.group_offsets_G1, e.successor_E, e.orientation_E, self._shown_E)
        filled: Filled = linked_instances(
            self.blocks, self.lm.arrays, self.lm.begin_state, self._most, groups, events, text, self.by_target
        )
        return filled

    def _neutral(self, matches: Ints, text: MatchedText) -> Filled:
        filled: Filled = neutral_instances(self.blocks, self.lm.arrays, self.lm.begin_state, self._most, matches, text)
        return filled

    @cached_property
    def _most(self) -> int:
        """The most alternatives that a block has."""
        return min(self.alternatives, int(np.diff(self.blocks.options_P1).max(initial=0)))

    @cached_property
    def _grouped(self) -> Events:
        """The bigrams, grouped as `by_span` says."""
        return self.events.by_span(self.matches) if self.by_span else self.events

    @cached_property
    def _shown_M(self) -> Bools:
        """Which matches may count as true."""
        if not self.listed_only:
            return np.ones(len(self.matches), dtype=bool)
        return np.asarray(self._rank_B[self.matches.block_M] < self.alternatives)

    @cached_property
    def _shown_E(self) -> Bools:
        """Which successors may count as true."""
        return self._shown_M[self._grouped.successor_E]

    @property
    def _rank_B(self) -> Ints:
        """The place of each block among those of its source phrase, most frequent first, from 0."""
        options_P1, option_O = self.blocks.options_P1, self.blocks.option_O
        # A block that is no option of its source phrase ranks behind all.
        rank_B = np.full(len(self.blocks.source_B), len(option_O), dtype=np.int64)
        rank_B[option_O] = np.arange(len(option_O)) - np.repeat(options_P1[:-1], np.diff(options_P1))
        return rank_B


def sentences_of(matches: Matches) -> Ints32:
    """The sentence of every match, shape (M,)."""
    return np.repeat(np.arange(len(matches.offsets_S1) - 1, dtype=np.int32), np.diff(matches.offsets_S1))


def write_stores(directory: Path, parts: Iterable[BlockInstances], names: Sequence[str] = STORES) -> dict[str, int]:
    """Writes stores under a directory; returns their numbers of instances.

    Args:
        directory: where each store gets a folder.
        parts: instances of different sentences of one text, one part behind the other; they share the features.
        names: `linked…` and `neutral…`, held out where they end so.
    """
    sizes = dict.fromkeys(names, 0)
    with ExitStack() as stack:
        writers: dict[str, StoreWriter] = {}
        for part in parts:
            for name in names:
                if name not in writers:
                    features = part.features if name.startswith("linked") else 0
                    writers[name] = stack.enter_context(StoreWriter(directory / name, part.dense_names, features))
                for batch in part.batches(name):
                    writers[name].append(batch)
                    sizes[name] += len(batch)
    return sizes


def _batch(filled: Filled) -> CandidateBatch:
    used = int(filled.candidate_offsets_I1[-1])
    id_offsets_C1 = filled.id_offsets_C1[: used + 1]
    return CandidateBatch(
        candidate_offsets_I1=filled.candidate_offsets_I1,
        dense_CD=filled.dense_CD[:used],
        gain_CG=filled.gain_C[:used, None],
        part_id_offsets_P1=id_offsets_C1,
        part_ids_N=filled.ids_N[: int(id_offsets_C1[-1])],
    )
