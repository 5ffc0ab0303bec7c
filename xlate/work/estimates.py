"""Estimates from which the features of blocks are computed: of the training text, or of it without a fold.

Most blocks were extracted only once, from the one sentence pair where they match. So events whose features come from
estimates of the whole text do not look like new text: their true blocks are long, with hardly any alternatives.
Therefore the events of a fold use blocks, counts, language model, jumps and Model 1 of the other folds. Blocks keep
their numbers in the whole text. The word alignment is that of the whole text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.copies import balanced_folds, heldout_pairs
from xlate.align.lexical import lexical_table
from xlate.align.links import Links
from xlate.array_types import Bools, Floats32, Ints
from xlate.arrays.ranges import check_lengths, check_shapes
from xlate.arrays.scratch import Scratch
from xlate.arrays.stored import open_arrays, save_arrays
from xlate.errors import InputError
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet, counts_of
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import Matches, TableRows, collect_events
from xlate.phrases.table import DIRECT_LEXICAL, DIRECT_PHRASE, direct_lexical_weights, phrase_shares
from xlate.settings import Json
from xlate.text.vocabulary import EncodedText
from xlate.work.directory import WorkDirectory
from xlate.work.stages import Stage, identity_of, run_stage

# In place of a fold: estimates of the whole text are used.
WHOLE = -1


@dataclass(frozen=True)
class Folds:
    """The fold of each of S sentence pairs, `WHOLE` for those that use estimates of the whole text.

    All copies of a pair are in one fold (`align/copies.py`); otherwise estimates without the fold would have seen it.
    `heldout_S` marks the pairs that nothing is trained on, including their copies.
    """

    fold_S: Ints
    heldout_S: Bools
    identity: str

    @classmethod
    def of_events(cls, work: WorkDirectory, folds: int) -> Folds:
        """The folds in which events are made; with 0, as in the paper, the only fold is the held-out pairs.

        Raises:
            InputError: all pairs are copies of each other, so nothing is outside their fold.
        """
        every = work.plan["blocks"]["settings"]["heldout_every"]
        heldout_S = heldout_pairs(work.copies, every)
        fold_S = balanced_folds(work.copies, folds) if folds else np.where(heldout_S, 0, WHOLE)
        if folds and len(np.unique(fold_S)) == 1:
            raise InputError(
                "the training text cannot be divided into folds",
                f"{len(fold_S)} pairs, {len(np.unique(work.copies))} without their copies",
                "pairs that are not all copies of each other",
                "model.folds=0 creates events as in the paper",
                file=work.path,
            )
        (on,) = work.identities("corpus")
        return cls(fold_S, heldout_S, identity_of({"on": on, "folds": folds, "heldout_every": every, "version": 1}))

    @property
    def numbers(self) -> list[int]:
        """The folds that have pairs, ascending."""
        return [int(fold) for fold in np.unique(self.fold_S)]

    def rows(self, fold: int) -> Ints:
        """The pairs of a fold."""
        return np.flatnonzero(self.fold_S == fold)


KIND = "counts of blocks without a fold"
LAYOUT = {
    "known_B": ("|b1", 1),
    "count_B": ("<i4", 1),
    "left_B": ("<i4", 1),
    "right_B": ("<i4", 1),
    "lexical_B": ("<f4", 1),
    "scores_B2": ("<f4", 2),
}
COUNTS, LM = "counts", "lm"
LEAST_LEXICAL = 1e-7


@dataclass(frozen=True)
class Estimates:
    """Estimates of a work directory's whole training text."""

    work: WorkDirectory

    @property
    def folder(self) -> Path:
        """The folder for further estimates of the same text, inside the work directory."""
        return Path()

    @property
    def identity(self) -> str:
        """What was counted."""
        return identity_of({"on": self.work.identities("align", "blocks", "lm")})

    @cached_property
    def blocks(self) -> BlockSet:
        """The blocks and their counts."""
        return self.work.blocks

    @cached_property
    def lm(self) -> NgramModel:
        """The language model of the target."""
        return self.work.lm

    @cached_property
    def text(self) -> tuple[EncodedText, EncodedText, Links]:
        """Source, target and links of the sentence pairs behind the estimates."""
        return (*self.work.encoded, self.work.links)


@dataclass(frozen=True)
class WithoutFold(Estimates):
    """Estimates of the training text without a fold; made once per work directory.

    Attributes:
        folds: of the training text; fold: the one left out.
        rows: finds the blocks in the table of the whole text; share it, as it is slow to build.
    """

    folds: Folds
    fold: int
    rows: TableRows

    @property
    def folder(self) -> Path:
        """The folder for estimates without this fold."""
        return Path("without") / self.folds.identity[:12] / str(self.fold)

    @property
    def identity(self) -> str:
        """What was counted."""
        whole = Estimates(self.work).identity
        return identity_of({"on": whole, "folds": self.folds.identity, "fold": self.fold, "version": 1})

    @cached_property
    def text(self) -> tuple[EncodedText, EncodedText, Links]:
        """The pairs of the other folds."""
        return self.work.pairs(np.flatnonzero(self.folds.fold_S != self.fold))

    @cached_property
    def blocks(self) -> BlockSet:
        """The blocks of the whole text, with those of the other folds marked as known, and the counts there."""
        stored = open_arrays(self._stage(COUNTS, self._count).folder, KIND, LAYOUT, check_shapes, mapped=False)
        arrays = dict(stored.arrays)
        table = self.work.blocks.table
        scores_B4 = np.array(table.scores_B4)
        scores_B4[:, [DIRECT_PHRASE, DIRECT_LEXICAL]] = arrays.pop("scores_B2")
        check_lengths(stored, known_B=(len(table),))
        return replace(self.work.blocks, table=replace(table, scores_B4=scores_B4), **arrays)

    @cached_property
    def lm(self) -> NgramModel:
        """The language model of the other folds and, if it was prepared, of further text."""
        return NgramModel.load(self._stage(LM, self._estimate_lm).folder / LM)

    def _stage(self, name: str, build: Any) -> Stage:
        return run_stage(self.work.path, str(self.folder / name), {"on": self.identity, "name": name}, build)

    def _count(self, folder: Path) -> Json:
        table, plan = self.work.blocks.table, self.work.plan
        # The number of times each block was extracted from the other folds.
        here = extract_phrases(*self.work.pairs(self.folds.rows(self.fold)), plan["phrases"]["max_length"])
        row_X = self.rows.of(here).pair_B
        elsewhere_B = np.array(table.count_B, np.int64)
        elsewhere_B[row_X[row_X >= 0]] -= here.count_B[row_X >= 0]
        known_B = elsewhere_B >= plan["phrases"]["min_count"]
        matches = part_of(self.work.matches, self.folds.fold_S != self.fold, known_B)
        arrays = counts_of(table, matches, collect_events(matches), plan["blocks"]["settings"]["lexical_floor"])
        save_arrays(folder, KIND, {"known_B": known_B, **arrays, "scores_B2": self._scores(elsewhere_B)})
        return {"blocks": int(known_B.sum()), "of": len(table)}

    def _scores(self, elsewhere_B: Ints) -> Floats32:
        """p(T|S) and lex(T|S) of the other folds, (B, 2)."""
        table = self.work.blocks.table
        rows = table.source_B, table.target_B
        sizes = len(table.source_phrases), len(table.target_phrases)
        totals = [np.bincount(row_B, elsewhere_B, size) for row_B, size in zip(rows, sizes, strict=True)]
        share_B, _ = phrase_shares(elsewhere_B, rows, (totals[0], totals[1]), self.work.smoothing)(slice(None))
        lexical_B = direct_lexical_weights(table, lexical_table(*self.text))
        # A link inside a block that occurs nowhere else has no probability.
        return np.stack([share_B, np.nan_to_num(lexical_B, nan=LEAST_LEXICAL)], axis=1).astype(np.float32)

    def _estimate_lm(self, folder: Path) -> Json:
        with Scratch(self.work.plan["memory_mb"], folder) as scratch:
            arpa = self.work.estimated_lm(self.text[1], scratch=scratch)
            NgramModel.from_arpa(arpa, scratch).save(folder / LM)
            return {"ngrams": sum(arpa.counts)}


def estimates_of(work: WorkDirectory, folds: Folds) -> dict[int, Estimates]:
    """The estimates for the events of each fold."""
    rows = TableRows(work.blocks.table)
    return {f: Estimates(work) if f == WHOLE else WithoutFold(work, folds, f, rows) for f in folds.numbers}


def part_of(matches: Matches, chosen_S: Bools, known_B: Bools | None) -> Matches:
    """The matches of known blocks in some sentences."""
    kept_M = chosen_S[matches.sentence_M]
    return matches.select(kept_M if known_B is None else kept_M & known_B[matches.block_M])
