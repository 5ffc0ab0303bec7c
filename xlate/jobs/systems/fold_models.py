"""Phrase models of a training text without one of its folds.

The word alignment is that of the whole text; phrases, reordering and language model are counted without the fold.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.copies import balanced_folds
from xlate.align.lexical import lexical_table
from xlate.array_types import Ints
from xlate.jobs.systems.phrase_stage import reordering_model
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.store import save_phrase_model
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import TableRows, WholeRows
from xlate.phrases.table import PhraseTable, score_phrases, select_phrases
from xlate.text.folders import remove_folder
from xlate.text.locks import awaited
from xlate.work.directory import WorkDirectory
from xlate.work.stages import Stage, identity_of, read_stage, run_stage


@dataclass(frozen=True)
class FoldModels:
    """The models of a work directory without each of its folds.

    Attributes:
        work: the work directory.
        reordering: kind of the reordering model, as in `phrase_stage`.
        folds: how many folds.
        by_document: whether no document of the training text is cut by a fold.
    """

    work: WorkDirectory
    reordering: str
    folds: int
    by_document: bool = False

    @cached_property
    def fold_I(self) -> Ints:
        """The fold of each sentence pair.

        Copies of a pair are in one fold, or a system would have seen what it is to translate. Pairs without copies make
        folds of neighbours, since neighbours may be alike. Documents that stay whole may part copies.

        Raises:
            InputError: documents are not known, or fewer than folds.
        """
        if self.by_document:
            return self.work.documents("train").folds(self.folds)
        return balanced_folds(self.work.copies, self.folds)

    @property
    def identity(self) -> str:
        """What the models are made from."""
        on = [read_stage(self.work.path, name).identity for name in ("phrases", "lm")]
        made = {"on": on, "folds": self.folds, "reordering": self.reordering, "version": 2}
        return identity_of({**made, "by_document": True} if self.by_document else made)

    @cached_property
    def folder(self) -> Path:
        """Where the models are, below the work directory."""
        return Path("folds") / self.identity[:16]

    def stage(self, fold: int) -> Stage:
        """The model of everything but a fold, made when it is not there."""
        settings = {"on": self.identity, "fold": fold, "version": 1}
        return run_stage(self.work.path, f"{self.folder}/{fold}", settings, lambda folder: self._build(fold, folder))

    def kept(self, fold: int) -> contextlib.AbstractContextManager[None]:
        """While a fold's model is made and opened: another process that uses it must not remove it meanwhile.

        Once it is open it may go, as its files stay until nobody has them open.
        """
        return awaited(self.work.path / self.folder / f"{fold}-opened")

    def discard(self, fold: int) -> None:
        """Removes a fold's model, if it is there: it is large and made in seconds."""
        folder = self.work.path / self.folder / str(fold)
        if folder.exists():
            with self.kept(fold):
                remove_folder(folder)

    def whole_rows(self, table: PhraseTable) -> WholeRows:
        """Where the phrases and pairs of a fold's table stand in that of the whole text."""
        return self._rows.of(table)

    def _build(self, fold: int, folder: Path) -> dict[str, Any]:
        kept = np.flatnonzero(self.fold_I != fold)
        source, target = (select_phrases(text, kept) for text in self.work.encoded)
        links, longest = self.work.links.select(kept), self.work.settings("phrases", {"max_length": int})["max_length"]
        table = score_phrases(extract_phrases(source, target, links, longest), lexical_table(source, target, links))
        # Pairs that the whole text's table lacks were filtered there.
        table = table.select(self.whole_rows(table).pair_B >= 0)
        reordering = reordering_model(table, source, target, links, self.reordering, longest)
        arpa = estimate(self.work.lm_text(target), self.work.target_vocabulary, self._order)
        lm = NgramModel.from_arpa(arpa)
        model = PhraseModel(table, self.work.source_vocabulary, self.work.target_vocabulary, lm, reordering)
        save_phrase_model(folder / "model", model)
        return {"pairs": len(table), "sentences": len(kept)}

    @property
    def _order(self) -> int:
        return read_stage(self.work.path, "lm").number("order")

    @cached_property
    def _rows(self) -> TableRows:
        return TableRows(PhraseTable.load(self.work.path / "phrases" / "table", self.work.words))
