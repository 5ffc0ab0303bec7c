"""A small text added to a prepared one: its links, and mixtures of both language models and phrase tables."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from xlate.align.aligner import align
from xlate.align.links import Links, joined_links, read_links, write_links
from xlate.array_types import Floats, Ints
from xlate.arrays.scratch import Scratch
from xlate.lm.arpa import ArpaModel
from xlate.lm.kneser_ney import Windows
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import TableRows
from xlate.phrases.mixture import mixed_lm, mixed_table
from xlate.phrases.runs import PairCounts, Runs
from xlate.phrases.table import PhraseTable
from xlate.settings import Json
from xlate.text.vocabulary import EncodedText
from xlate.work.corpus_files import SIDES
from xlate.work.directory import WorkDirectory

log = logging.getLogger(__name__)
DEV_LINKS = "dev.gz"
# About so many pairs of the prepared text help to align the new ones.
ALIGNED_WITH = 20_000


@dataclass(frozen=True)
class MixedDirectory(WorkDirectory):
    """A work directory with the text of another one and new pairs after it.

    Attributes:
        base: the other work directory.
        weights_I: of its text and of the new one; None: those that make the dev set most likely.
    """

    base: WorkDirectory
    weights_I: Floats | None

    def align(self, folder: Path, settings: Json, scratch: Scratch) -> Links:
        """The links of all training pairs; those of the dev set are written into the folder.

        New pairs and dev set are aligned together with evenly spaced pairs of the other text.
        """
        size, known = len(self.base.copies), self.base.links
        every = 1 + size // ALIGNED_WITH
        sides = [(self.training_tokens(side), dev) for side, dev in zip(SIDES, self._dev, strict=True)]
        source, target = ([*tokens[:size:every], *tokens[size:], *dev] for tokens, dev in sides)
        links = align(source, target, **settings)
        last = len(links) - len(self._dev[0])
        write_links(folder / DEV_LINKS, links.select(np.arange(last, len(links))))
        new = links.select(np.arange(len(range(0, size, every)), last))
        return joined_links([known, new], scratch)

    def whole_lm(self, order: int, scratch: Scratch, counted: Sequence[Windows]) -> ArpaModel:  # noqa: ARG002
        """The mixture of the language models of both texts."""
        words, (before, new) = self.target_vocabulary, (self.pairs(rows)[1] for rows in self._rows)
        models = [
            self.base.estimated_lm(before, order, words, scratch),
            self.estimated_lm(new, order, scratch=scratch),
        ]
        return mixed_lm(models, EncodedText.encode(self._dev[1], words), self.weights_I)

    def whole_table(self, counts: PairCounts, runs: Runs) -> PhraseTable:
        """The phrase table of all pairs with the mixture of the scores of both texts."""
        whole, longest = super().whole_table(counts, runs), self.plan["phrases"]["max_length"]
        source, target = map(EncodedText.encode, self._dev, (self.source_vocabulary, self.target_vocabulary))
        lengths = np.diff(source.offsets_S1), np.diff(target.offsets_S1)
        dev = source, target, read_links(self.path / "align" / DEV_LINKS, *lengths)
        rows, (new_B, dev_B) = TableRows(whole), np.zeros((2, len(whole)))
        for count_B, text in ((new_B, self.pairs(self._rows[1])), (dev_B, dev)):
            part = extract_phrases(*text, longest)
            pair_X = rows.of(part).pair_B
            count_B[pair_X[pair_X >= 0]] = part.count_B[pair_X >= 0]
        table, weights_I = mixed_table(whole, np.stack([whole.count_B - new_B, new_B]), dev_B, self.weights_I)
        log.info("phrase table: the new text weighs %.2f", weights_I[1])
        return table

    @cached_property
    def _rows(self) -> list[Ints]:
        """The rows of the other text, and those of the new one."""
        return np.split(np.arange(len(self.copies)), [len(self.base.copies)])

    @cached_property
    def _dev(self) -> list[list[list[str]]]:
        """The tokens of the dev set and of its first reference."""
        lines = self.source_lines("dev"), self.references("dev")[0]
        return [[*map(self.source_tokens, lines[0])], [*map(self.target_tokens, lines[1])]]
