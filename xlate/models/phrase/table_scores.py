"""What phrases score in their sentence as the table of that sentence says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xlate.formats.sentence_tables import SentenceTable, TableFolder
from xlate.models.phrase.model import LOWEST_LOG


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

    def of(
        self,
        words: Sequence[str],
        start_O: NDArray[np.integer],
        end_O: NDArray[np.integer],
        pair_O: NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """The floats of phrases, (O, E).

        Raises:
            InputError: the table was made for another sentence.
        """
        named = self.folder.names(self.number, words)
        logs_OE = np.zeros((len(pair_O), len(self.names)))
        spans = zip(np.asarray(start_O).tolist(), np.asarray(end_O).tolist(), np.asarray(pair_O).tolist(), strict=True)
        for o, (start, end, pair) in enumerate(spans):
            if pair < 0:
                continue
            values = self.given.more.get((" ".join(named[start:end]), pair))
            if values is None:
                logs_OE[o] = -np.inf
                continue
            with np.errstate(divide="ignore"):
                logs_OE[o] = np.maximum(np.log(values[: len(self.names)]), LOWEST_LOG)
        return logs_OE
