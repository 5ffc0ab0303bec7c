"""Candidate stores of the block bigram model, from matches and orientation bigrams (A2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import StoreWriter
from xlate.features.block import DISTORTION_FLOATS, FLOATS
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
from xlate.progress import track
from xlate.text.encoded import EncodedText

CHUNK_INSTANCES = 50_000
STORES = ("linked", "linked.heldout", "neutral", "neutral.heldout")


@dataclass(frozen=True)
class BlockInstances:
    """All that instances are made from.

    A *linked* instance belongs to one match as predecessor. Its candidates are the true successors, and for each of
    these its alternatives: other blocks in the same orientation. A *neutral* instance belongs to one match without
    predecessor; its candidates are this block and its alternatives, without orientation cost. A candidate that is both
    is true.

    Attributes:
        blocks: what dense and sparse features are computed from.
        features: the number of sparse features.
        lm: the language model.
        matches: of the text; events: which match follows which.
        target: the target side of the text in the word numbers of the language model, which need not be those of the
            blocks; it is the history before each candidate.
        heldout_every: see `write`.
        alternatives: how many of the most frequent blocks with its source phrase are alternatives of a block.
        listed_only: whether only blocks that are among these alternatives themselves count as true.
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
    heldout_every: int
    alternatives: int = 9
    listed_only: bool = False
    by_span: bool = False
    by_target: bool = False

    def write(self, directory: Path, names: Sequence[str] = STORES) -> dict[str, int]:
        """Writes stores under a directory; returns their numbers of instances.

        Every `heldout_every`-th sentence goes into the stores held out, to measure P on (0: none).

        Args:
            directory: where each store gets a folder.
            names: of the linked store, the linked store held out, the neutral store and the neutral store held out;
                two names stand for linked and neutral when nothing is held out.
        """
        if self.listed_only:
            listed_M = self._rank_B[self.matches.block_M] < self.alternatives
            return replace(self, events=self.events.select(listed_M), listed_only=False).write(directory, names)
        if self.by_span:
            return replace(self, events=self.events.by_span(self.matches), by_span=False).write(directory, names)
        sentence_M = sentences_of(self.matches)
        heldout_M = heldout(sentence_M, self.heldout_every)
        linked = np.arange(len(self.events.group_G), dtype=np.int64)
        linked_out = heldout_M[self.events.group_G]
        neutral = self.events.neutral_X.astype(np.int64)
        neutral_out = heldout_M[neutral]
        chosen = [linked[~linked_out], linked[linked_out], neutral[~neutral_out], neutral[neutral_out]]
        if len(names) == 2:
            chosen = [linked, neutral]
        m, target = self.matches, self.target
        text = MatchedText(m.rows_M5, sentence_M, m.offsets_S1, target.ids_T, target.offsets_S1)
        sizes: dict[str, int] = {}
        for name, rows in zip(names, chosen, strict=True):
            is_linked = name.startswith("linked")
            fill = self._linked if is_linked else self._neutral
            with StoreWriter(directory / name, self.dense_names, self.features if is_linked else 0) as writer:
                for batch in self._batches(rows, text, fill, name):
                    writer.append(batch)
            sizes[name] = len(rows)
        return sizes

    def _batches(
        self,
        rows: NDArray[np.int64],
        text: MatchedText,
        fill: Callable[[NDArray[np.int64], MatchedText], Filled],
        name: str,
    ) -> Iterator[CandidateBatch]:
        starts = range(0, max(1, len(rows)), CHUNK_INSTANCES)
        for start in track(starts, f"candidates: {name}"):
            yield _batch(fill(rows[start : start + CHUNK_INSTANCES], text))

    def _linked(self, groups: NDArray[np.int64], text: MatchedText) -> Filled:
        e = self.events
        events = SuccessorArrays(e.group_G, e.group_offsets_G1, e.successor_E, e.orientation_E)
        filled: Filled = linked_instances(
            self.blocks, self.lm.arrays, self.lm.begin_state, self.alternatives, groups, events, text, self.by_target
        )
        return filled

    def _neutral(self, matches: NDArray[np.int64], text: MatchedText) -> Filled:
        filled: Filled = neutral_instances(
            self.blocks, self.lm.arrays, self.lm.begin_state, self.alternatives, matches, text
        )
        return filled

    @property
    def dense_names(self) -> tuple[str, ...]:
        """The names of the dense features of the model that `blocks` was made for."""
        return FLOATS if self.blocks.dense == len(FLOATS) else DISTORTION_FLOATS

    @property
    def _rank_B(self) -> NDArray[np.int64]:
        """The place of each block among those of its source phrase, most frequent first, from 0."""
        options_P1, option_O = self.blocks.options_P1, self.blocks.option_O
        rank_B = np.empty(len(option_O), dtype=np.int64)
        rank_B[option_O] = np.arange(len(option_O)) - np.repeat(options_P1[:-1], np.diff(options_P1))
        return rank_B


def sentences_of(matches: Matches) -> NDArray[np.int32]:
    """The sentence of every match, shape (M,)."""
    return np.repeat(np.arange(len(matches.offsets_S1) - 1, dtype=np.int32), np.diff(matches.offsets_S1))


def heldout(sentence_X: NDArray[np.int32], every: int) -> NDArray[np.bool_]:
    """Which of these sentences are held out: the last of every so many, none when `every` is 0."""
    if not every:
        return np.zeros(len(sentence_X), dtype=bool)
    return np.asarray(sentence_X % every == every - 1)


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
