"""Scores of sentences that were computed elsewhere: a file with one number for each sentence, COMET's for example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.metrics.measures import MEASURES
from xlate.metrics.score import Evaluation, Figure
from xlate.metrics.statistics import Stats, bootstrap_scores, interval
from xlate.text.lines import iterate_lines
from xlate.text.numbers import parse_float


def read_column(path: str | Path) -> list[float]:
    """The numbers of a file, one a line.

    Raises:
        InputError: a line that is no number, with its place; a file that cannot be read.
    """
    values: list[float] = []
    for number, line in enumerate(iterate_lines(path), start=1):
        try:
            values.append(parse_float(line.strip(" \t\r")))
        except ValueError as error:
            raise InputError(
                str(error), file=path, line=number, seen=line, expected="one number a line, of the sentence there"
            ) from error
    return values


def column_statistics(name: str, values: Sequence[float]) -> Stats:
    """Rows (value, 1), whose score is the mean; shape (S, 2)."""
    return Stats(name, np.column_stack([np.asarray(values, dtype=np.float64), np.ones(len(values))]), _means)


def with_column(
    evaluation: Evaluation, name: str, path: str | Path, bootstrap: int = 1000, seed: int = 12345
) -> Evaluation:
    """An evaluation with the mean of a file's numbers as one more figure, its interval and its statistics.

    Raises:
        InputError: the file has another number of lines than there are sentences, or the name is that of a measure.
    """
    if name in MEASURES or name in evaluation.figures:
        raise InputError("a column needs a name of its own", seen=name, expected="none of " + ", ".join(MEASURES))
    values = read_column(path)
    if len(values) != evaluation.sentences:
        raise InputError(
            "not as many numbers as sentences",
            file=path,
            seen=f"{len(values)} numbers and {evaluation.sentences} sentences",
            expected="one for each sentence, in their order",
            remedy="compute them from this very output",
        )
    stats = column_statistics(name, values)
    held = interval(bootstrap_scores(stats, bootstrap, seed)) if bootstrap else None
    figure = Figure(stats.score(), f"mean of {Path(path).name}", held)
    return replace(evaluation, figures={**evaluation.figures, name: figure}, stats={**evaluation.stats, name: stats})


def _means(sums_BK: Floats) -> Floats:
    return np.asarray(sums_BK[:, 0] / sums_BK[:, 1])
