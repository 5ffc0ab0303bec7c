"""What phrases score in their sentence as the table of that sentence says it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.array_types import AnyInts, Floats
from xlate.formats.sentence_tables import SentenceTable, TableFolder
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
