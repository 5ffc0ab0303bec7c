"""Candidate stores of the block bigram model: from matches and orientation bigrams (A2), or from n-best lists.

N-best lists give the block bigrams of the oracle, against the other blocks of the list (TZ07 section 5.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Ints
from xlate.arrays.ragged import offsets_of, places_in_rows, row_numbers
from xlate.arrays.ranges import pieces
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import StoreWriter
from xlate.features.block import FLOATS
from xlate.kernels.features.blocks import (
    NOBODY,
    Before,
    BlockArrays,
    Filled,
    MatchedText,
    Placed,
    SuccessorArrays,
    block_costs,
    linked_instances,
    neutral_instances,
    put_bigrams,
)
from xlate.kernels.pairs import NEUTRAL
from xlate.lm.model import NgramModel
from xlate.phrases.matching import Events, Matches
from xlate.text.vocabulary import EncodedText

CHUNK_INSTANCES = 50_000
HELDOUT = ".heldout"
STORES = ("linked", f"linked{HELDOUT}", "neutral", f"neutral{HELDOUT}")


@dataclass(frozen=True)
class BlockInstances:
    """The data from which instances are made.

    A *linked* instance belongs to one match as predecessor. Its candidates are the true successors, and the
    alternatives of each: other blocks in the same orientation. A *neutral* instance belongs to one match without
    predecessor; its candidates are this block and its alternatives, without orientation cost. A candidate that is both
    counts as true.

    Attributes:
        blocks: the source of dense and sparse features; dense_names: the names of the dense ones.
        features: the number of sparse features.
        lm: the language model.
        matches: of the text; events: which match follows which.
        target: the target side of the text in the word numbers of the language model, which may differ from those of
            the blocks; it is the history before each candidate.
        heldout_S: sentences whose instances go into the held-out stores, for measuring P.
        alternatives: how many of the most frequent blocks with its source phrase are alternatives of a block.
        listed_only: whether only blocks that are among these alternatives themselves count as true; other true
            successors are then no candidates at all.
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

    def rows(self, name: str) -> Ints:
        """The groups or neutral matches of a store: `linked`, `neutral`, or the held-out ones of these."""
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
        rows, grouped = self.rows(name), self._grouped
        successors = grouped.group_G, grouped.group_offsets_G1, grouped.successor_E, grouped.orientation_E
        events = SuccessorArrays(*successors, self._shown_E)
        most = min(self.alternatives, int(np.diff(self.blocks.options_P1).max(initial=0)))
        known = self.blocks, self.lm.arrays, self.lm.begin_state, most
        for piece in pieces(len(rows), CHUNK_INSTANCES):
            some = rows[piece]
            if name.startswith("linked"):
                filled: Filled = linked_instances(*known, some, events, self.text, self.by_target)
            else:
                filled = neutral_instances(*known, some, self.text)
            used = int(filled.candidate_offsets_I1[-1])
            id_offsets_C1 = filled.id_offsets_C1[: used + 1]
            yield CandidateBatch(
                candidate_offsets_I1=filled.candidate_offsets_I1,
                dense_CD=filled.dense_CD[:used],
                gain_CG=filled.gain_C[:used, None],
                part_id_offsets_P1=id_offsets_C1,
                part_ids_N=filled.ids_N[: int(id_offsets_C1[-1])],
            )

    @cached_property
    def text(self) -> MatchedText:
        """The matches and the target words in the form for kernels."""
        m = self.matches
        return MatchedText(m.rows_M5, m.sentence_M, m.offsets_S1, *self.target.arrays)

    @cached_property
    def _grouped(self) -> Events:
        """The bigrams, grouped as `by_span` says."""
        return self.events.by_span(self.matches) if self.by_span else self.events

    @cached_property
    def _shown_M(self) -> Bools:
        """Which matches may count as true."""
        if not self.listed_only:
            return np.ones(len(self.matches), bool)
        options_P1, option_O = self.blocks.options_P1, self.blocks.option_O
        # The rank of each block among the options of its source phrase; a block that is no option ranks last.
        rank_B = np.full(len(self.blocks.source_B), len(option_O), np.int64)
        rank_B[option_O] = places_in_rows(options_P1)
        return rank_B[self.matches.block_M] < self.alternatives

    @cached_property
    def _shown_E(self) -> Bools:
        """Which successors may count as true."""
        return self._shown_M[self._grouped.successor_E]


def write_stores(directory: Path, parts: Iterable[BlockInstances], names: Sequence[str] = STORES) -> dict[str, int]:
    """Writes stores under a directory; returns their numbers of instances.

    Args:
        directory: where each store gets a folder.
        parts: instances of different sentences of one text, one part after the other; they share the features.
        names: `linked…` and `neutral…`; the ending `HELDOUT` means held out.
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


class OracleStep(NamedTuple):
    """One block of an oracle block sequence, its predecessor, and the blocks of the list that cover the same words.

    Attributes:
        before: the block before it, negative if there is none or it is an unknown word, and where that ends.
        placed: the block itself.
        others: other blocks that some translation of the list uses for the same source words.
    """

    before: Before
    placed: Placed
    others: Sequence[int]


def write_events(
    directory: Path,
    steps: Iterable[OracleStep],
    blocks: BlockArrays,
    lm: NgramModel,
    names: Sequence[str],
    features: int,
) -> dict[str, int]:
    """Writes the stores `linked` and `neutral` of oracle steps; returns their numbers of instances.

    Without neutral orientation, as in the phrase-distortion model, `neutral` stays empty. Steps whose predecessor is
    unknown are left out unless they are neutral.

    Args:
        directory: where each store gets a folder.
        steps: of all sentences.
        blocks: the source of features; lm: the language model; names: of the floats.
        features: the number of sparse features.
    """
    rows = [(step, step.placed.orientation == NEUTRAL and blocks.oriented) for step in steps]
    sizes = {}
    for name, neutral in (("linked", False), ("neutral", True)):
        kept = [step for step, is_neutral in rows if is_neutral == neutral and (neutral or step.before.block >= 0)]
        with StoreWriter(directory / name, names, 0 if neutral else features) as writer:
            for piece in pieces(len(kept), 1000):
                writer.append(_oracle_batch(kept[piece], blocks, lm, neutral))
        sizes[name] = len(kept)
    return sizes


def _oracle_batch(steps: Sequence[OracleStep], blocks: BlockArrays, lm: NgramModel, neutral: bool) -> CandidateBatch:
    offsets_I1 = offsets_of([1 + len(step.others) for step in steps])
    total = int(offsets_I1[-1])
    dense_CD = np.zeros((total, blocks.dense), np.float32)
    gain_C = np.full(total, -1, np.float32)
    gain_C[offsets_I1[:-1]] = 1
    ids_N = np.zeros(total * max(1, len(blocks.bigrams.tag_A)), np.int32)
    id_offsets_C1 = np.zeros(total + 1, np.int64)
    c = 0
    for step in steps:
        before = step.before._replace(block=NOBODY) if neutral else step.before
        for block in (step.placed.block, *step.others):
            block_costs(blocks, lm.arrays, before, step.placed._replace(block=block), dense_CD[c])
            n = int(id_offsets_C1[c])
            id_offsets_C1[c + 1] = n if before.block < 0 else put_bigrams(blocks.bigrams, before.block, block, ids_N, n)
            c += 1
    return CandidateBatch(offsets_I1, dense_CD, gain_C[:, None], id_offsets_C1, ids_N[: id_offsets_C1[-1]])
