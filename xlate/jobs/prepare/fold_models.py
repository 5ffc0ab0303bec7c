"""Phrase models of a training text without one of its folds.

The word alignment is that of the whole text; phrases, reordering and language model are counted without the fold.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xlate.align.lexical import lexical_table
from xlate.align.links import Links, read_links
from xlate.arrays.ragged import offsets_of, places_of
from xlate.jobs.prepare.stages import MARK, Stage, discard_stage, identity_of, read_stage, run_stage
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.systems.phrase_stage import reordering_model
from xlate.kernels.search.spans import find_rows
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.store import save_phrase_model
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import phrase_finder
from xlate.phrases.table import PhraseTable, score_phrases, select_phrases
from xlate.text.encoded import EncodedText
from xlate.text.json_files import check_fields, read_json
from xlate.text.locks import awaited


class WholeRows(NamedTuple):
    """Rows in the table of the whole text of a smaller table's P source phrases, Q target phrases and B pairs."""

    source_P: NDArray[np.int64]
    target_Q: NDArray[np.int64]
    pair_B: NDArray[np.int64]


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
    def fold_I(self) -> NDArray[np.int64]:
        """The fold of each sentence pair: folds are blocks of neighbouring pairs, since neighbours may be alike.

        Raises:
            InputError: documents are not known, or fewer than folds.
        """
        if self.by_document:
            return self.work.documents("train").folds(self.folds)
        sentences = len(self.source)
        return np.arange(sentences) * self.folds // max(sentences, 1)

    @property
    def identity(self) -> str:
        """What the models are made from."""
        on = [read_stage(self.work.path, name).identity for name in ("phrases", "lm")]
        made = {"on": on, "folds": self.folds, "reordering": self.reordering, "version": 1}
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
                discard_stage(folder)

    def whole_rows(self, table: PhraseTable) -> WholeRows:
        """Where the phrases and pairs of a fold's table stand in that of the whole text."""
        return rows_in(table, self._table)

    @cached_property
    def source(self) -> EncodedText:
        """The numbered source sentences."""
        return self.work.training_text("source")

    @cached_property
    def target(self) -> EncodedText:
        """The numbered target sentences."""
        return self.work.training_text("target")

    def _build(self, fold: int, folder: Path) -> dict[str, Any]:
        kept = np.flatnonzero(self.fold_I != fold)
        source, target = select_phrases(self.source, kept), select_phrases(self.target, kept)
        links = _rows_of_links(self._links, kept)
        table = score_phrases(
            extract_phrases(source, target, links, self._max_length), lexical_table(source, target, links)
        )
        # Pairs that the whole text's table lacks were filtered there.
        table = table.select(self.whole_rows(table).pair_B >= 0)
        reordering = reordering_model(table, source, target, links, self.reordering, self._max_length)
        arpa = estimate(self.work.lm_text(target), self.work.target_vocabulary, self._order)
        lm = NgramModel.from_arpa(arpa)
        model = PhraseModel(table, self.work.source_vocabulary, self.work.target_vocabulary, lm, reordering)
        save_phrase_model(folder / "model", model)
        return {"pairs": len(table), "sentences": len(kept)}

    @cached_property
    def _links(self) -> Links:
        lengths = [np.diff(text.offsets_S1).tolist() for text in (self.source, self.target)]
        return read_links(self.work.path / "align" / "links.gz", *lengths)

    @cached_property
    def _max_length(self) -> int:
        path, remedy = self.work.path / "phrases" / MARK, f"xlate prepare data=… work={self.work.path}"
        made = read_json(path, "the record of a finished stage", remedy, {"made_from": dict})["made_from"]
        check_fields(made, {"max_length": int}, path, remedy)
        return int(made["max_length"])

    @property
    def _order(self) -> int:
        return read_stage(self.work.path, "lm").number("order")

    @cached_property
    def _table(self) -> PhraseTable:
        return PhraseTable.load(self.work.path / "phrases" / "table", self.work.words)


def rows_in(table: PhraseTable, whole: PhraseTable) -> WholeRows:
    """Where the phrases and pairs of a table stand in another over the same vocabularies, -1 where they do not."""
    source_P = _same_phrases(table.source_phrases, whole.source_phrases)
    target_Q = _same_phrases(table.target_phrases, whole.target_phrases)
    keys_B = _pair_keys(source_P[table.source_B], target_Q[table.target_B])
    known = _pair_keys(np.asarray(whole.source_B), np.asarray(whole.target_B))
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], keys_B), len(known) - 1)
    return WholeRows(source_P, target_Q, np.where(known[order][place] == keys_B, order[place], -1))


def _pair_keys(source_B: NDArray[Any], target_B: NDArray[Any]) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = (source_B.astype(np.int64) << 32) | (target_B.astype(np.int64) & 0xFFFFFFFF)
    return keys


def _same_phrases(phrases: EncodedText, whole: EncodedText) -> NDArray[np.int64]:
    """The row in `whole` of each phrase, -1 where there is none."""
    finder = phrase_finder(whole)
    return find_rows(finder, np.asarray(phrases.ids_T), np.asarray(phrases.offsets_S1))


def _rows_of_links(links: Links, rows: NDArray[np.int64]) -> Links:
    places = places_of(links.offsets_S1, rows)
    return Links(links.source_L[places], links.target_L[places], offsets_of(np.diff(links.offsets_S1)[rows]))
