"""A phrase table of its own for every sentence, as extractors that look at one sentence at a time write them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from xlate.array_types import AnyInts, Floats
from xlate.errors import InputError
from xlate.formats.moses_table import MosesTable
from xlate.formats.sentence_tables import SentenceTable, TableFolder
from xlate.models.phrase.model import PhraseModel, Reordering
from xlate.models.phrase.sentence_scores import SentencePhrases
from xlate.models.unit_model import LOWEST_LOG


@dataclass(frozen=True)
class TableScores:
    """The logs of the scores behind the four; a pair that the table has not at a place is no option there.

    Attributes:
        names: of the scores.
        folder, number, given: the table of a line.
    """

    names: tuple[str, ...]
    folder: TableFolder
    number: int
    given: SentenceTable

    def of(self, phrases: SentencePhrases) -> Floats:
        """The floats of phrases, (O, E).

        Raises:
            InputError: the table was made for another sentence.
        """
        return _logs(self, phrases, slice(len(self.names)), -np.inf)

    def anywhere(self, pair_N: AnyInts) -> Floats:
        """None of them: every table is of one sentence."""
        return np.full((len(pair_N), len(self.names)), np.nan)


@dataclass(frozen=True)
class TablePlaces:
    """The logs of the scores behind those: what a phrase scores at each place.

    Attributes:
        name: of the float.
        reach: see `SentencePlaces`.
        first: how many scores stand between the four and these.
        folder, number, given: the table of a line.
    """

    name: str
    reach: int
    first: int
    folder: TableFolder
    number: int
    given: SentenceTable

    def of(self, phrases: SentencePhrases) -> Floats:
        """The floats of phrases at each place, (O, R).

        Raises:
            InputError: the table was made for another sentence.
        """
        part = slice(self.first, self.first + 2 * self.reach + 1)
        return _logs(self, phrases, part, 0.0)


def _logs(table: TableScores | TablePlaces, phrases: SentencePhrases, part: slice, missing: float) -> Floats:
    """The logs of some scores of phrases; 0 of words that stand for themselves, `missing` where the table lacks one."""
    named = table.folder.names(table.number, phrases.words)
    columns = (np.asarray(column).tolist() for column in phrases[1:])
    logs_OE = np.zeros((len(phrases.pair_O), part.stop - (part.start or 0)))
    for o, (start, end, pair) in enumerate(zip(*columns, strict=True)):
        if pair < 0:
            continue
        values = table.given.more.get((" ".join(named[start:end]), pair))
        if values is None:
            logs_OE[o] = missing
            continue
        with np.errstate(divide="ignore"):
            logs_OE[o] = np.maximum(np.log(values[part]), LOWEST_LOG)
    return logs_OE


@dataclass(frozen=True)
class SentenceTables:
    """Models whose phrases are those of one file each: `folder/0` or `folder/0.gz` for the first of `sentences`.

    The tables stand in place of the model's; its language model stays. Floats that the model gives
    phrases in their sentence are read as scores behind the four, then those of the places of phrases. Reordering scores
    may stand behind those; otherwise pairs that the model's own table has too keep theirs, and others have none.
    Words are taken as they stand in the files, but for those of `TableFolder`.

    Raises:
        InputError: a file is missing, or the model has sparse features, whose weights are those of its own table.
    """

    model: PhraseModel
    folder: Path
    sentences: int

    def __post_init__(self) -> None:
        """Looks for every file before the first sentence is translated."""
        if self.model.sparse is not None:
            raise InputError(
                "sparse features know the phrases of their own table only",
                seen=f"tables={self.folder}",
                expected="a run without sparse features",
            )
        assert self._tables is not None

    @cached_property
    def _tables(self) -> TableFolder:
        return TableFolder.open(self.folder, self.sentences)

    def of(self, number: int) -> PhraseModel:
        """The model of one sentence.

        Raises:
            InputError: whatever reading the table raises.
        """
        model = self.model
        first = 0 if model.in_sentence is None else len(model.in_sentence.names)
        floats = first + (0 if model.placed is None else 2 * model.placed.reach + 1)
        inside = (floats + 2 * model.orientations,) if model.reordering is not None else ()
        given = self._tables.read(number, (floats, *inside))
        model = with_table(model, given.pairs, _reordering(model, given, floats))
        if model.in_sentence is not None:
            scores = TableScores(model.in_sentence.names, self._tables, number, given)
            model = replace(model, in_sentence=scores)
        if model.placed is not None:
            name, reach = model.placed.name, model.placed.reach
            model = replace(model, placed=TablePlaces(name, reach, first, self._tables, number, given))
        return model


def _reordering(model: PhraseModel, given: SentenceTable, floats: int) -> Floats | None:
    """The reordering scores that stand in the table itself, None when there are none."""
    inside = {pair: values[floats:] for (_, pair), values in given.more.items()}
    if not any(inside.values()):
        return None
    probability_BK2 = np.array([inside[b] for b in range(len(given.pairs.table))])
    return probability_BK2.reshape(-1, 2 * model.orientations)


def with_table(model: PhraseModel, given: MosesTable, probability_BK2: Floats | None = None) -> PhraseModel:
    """The same model with other phrase pairs; those it had keep their reordering scores, unless others are given."""
    reordering = None
    if model.reordering is not None:
        if probability_BK2 is None:
            probability_BK2 = np.full((len(given.table), 2 * model.orientations), np.nan)
            for b in range(len(given.table)):
                pair = model.pair_number(*_words(given, b))
                if pair is not None:
                    probability_BK2[b] = model.reordering.probability_BK2[pair]
        reordering = Reordering(model.reordering.kind, probability_BK2)
    return replace(
        model,
        table=given.table,
        source_vocabulary=given.source_vocabulary,
        target_vocabulary=given.target_vocabulary,
        reordering=reordering,
    )


def _words(given: MosesTable, b: int) -> tuple[list[str], list[str]]:
    table = given.table
    source = table.source_phrases[int(table.source_B[b])].tolist()
    target = table.target_phrases[int(table.target_B[b])].tolist()
    return [given.source_vocabulary.word(w) for w in source], [given.target_vocabulary.word(w) for w in target]
