"""Features of a list that are not on every line: what they are taken for, and what is said of them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xlate.array_types import Ints
from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest import NbestArrays

# A feature on this share of the lines or more is a score that some lines lack.
MOST_LINES = 0.95
# So many features are named.
NAMED = 5
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Gaps:
    """Features that are on some lines only, each with the number of those lines, the most frequent first.

    Attributes:
        lines: how many lines there are.
        nearly: float features, which few lines lack, or which have several values: they count 0 there.
        seldom: features of some hypotheses.
    """

    lines: int
    nearly: dict[str, int]
    seldom: dict[str, int]

    @classmethod
    def of(cls, arrays: NbestArrays) -> Gaps:
        """Those of a list."""
        lines, count_M = len(arrays.total_C), np.bincount(arrays.columns_V, minlength=len(arrays.names))
        found = cls(lines, {}, {})
        for column in np.argsort(-count_M, kind="stable").tolist():
            count = int(count_M[column])
            if count < lines:
                dense = column in arrays.several or count >= MOST_LINES * lines
                (found.nearly if dense else found.seldom)[arrays.names[column]] = count
        return found

    def warn_of_lacking(self, arrays: NbestArrays, names: Iterable[str], file: str | Path, line_C: Ints) -> None:
        """Says of float features where the first line is that lacks them; `line_C` is the line of each hypothesis."""
        counts = {**self.nearly, **self.seldom}
        lacking = [name for name in names if name in counts]
        for name in lacking[:NAMED]:
            present_C = np.zeros(self.lines, dtype=np.bool_)
            present_C[row_numbers(arrays.value_offsets_C1)[arrays.columns_V == arrays.names.index(name)]] = True
            log.warning(
                "warning: %s:%d: %s is missing here and on %d other lines of %d; it counts 0 there: give each "
                "its value, unless that is 0",
                file, line_C[np.argmin(present_C)], name, self.lines - counts[name] - 1, self.lines,
            )  # fmt: skip
        if len(lacking) > NAMED:
            log.warning("warning: %s: %d more features are missing on some lines", file, len(lacking) - NAMED)

    def tell_seldom(self, file: str | Path, learned: bool) -> None:
        """Says which features some hypotheses have, and whether they are learned from; a warning where they are not."""
        if not self.seldom:
            return
        counted = [f"{name} ({count})" for name, count in list(self.seldom.items())[:NAMED]]
        named = f"{', '.join(counted)}{', …' if len(self.seldom) > NAMED else ''}"
        held = f"{file}: {len(self.seldom)} features are on some of the {self.lines} lines only: {named}"
        if learned:
            log.info("%s; those that tell enough lists apart are learned, 0 where they are missing", held)
        else:
            remedy = "model.rerank.given_sparse=true learns them"
            log.warning("warning: %s; nothing is learned from them: %s", held, remedy)
