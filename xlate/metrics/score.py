"""How good translations are: BLEU, chrF and TER as sacrebleu computes them, NIST and LexAcc, each with its interval."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.errors import InputError
from xlate.metrics.measures import MEASURES, TEXT_ENDINGS, checked_references, measure_sentences
from xlate.metrics.statistics import Interval, Stats, bootstrap_scores, interval
from xlate.text.lines import iterate_lines
from xlate.text.numbers import parse_float

TOKENIZED_ENDINGS = 100


@dataclass(frozen=True)
class Figure:
    """A score with its signature and interval.

    Attributes:
        score: BLEU, chrF, TER and LexAcc from 0 to 100, NIST in bits; TER is better when lower.
        signature: every setting the number depends on.
        interval: mean and half width of the 95 % bootstrap interval, None when not asked for.
    """

    score: float
    signature: str
    interval: Interval | None = None


@dataclass(frozen=True)
class Evaluation:
    """The figures of one system on one text.

    Attributes:
        figures: the figure of each measure, in the order asked for.
        stats: for each measure, the statistics of each sentence.
        sentences: how many there are. references: how many streams there are.
        notes: what looks odd about the input, in words.
    """

    figures: Mapping[str, Figure]
    stats: Mapping[str, Stats]
    sentences: int
    references: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, measure: str) -> float:
        return self.figures[measure].score

    def to_json(self) -> dict[str, Any]:
        """Plain values: `sentences`, `references`, and `bleu`, `bleu_interval`, `bleu_mean`, `bleu_signature`, …

        `_interval` is half the width of the 95 % interval. It and `_mean` are left out when no interval was asked for.
        """
        plain: dict[str, Any] = {"sentences": self.sentences, "references": self.references}
        for measure, figure in self.figures.items():
            plain[measure] = figure.score
            if figure.interval is not None:
                plain[f"{measure}_interval"] = figure.interval.half_width
                plain[f"{measure}_mean"] = figure.interval.mean
            plain[f"{measure}_signature"] = figure.signature
        if self.notes:
            plain["notes"] = list(self.notes)
        return plain

    def summary(self) -> str:
        """One short line for each figure, for people; what the figures depend on is in `to_json`."""
        lines = []
        for measure, figure in self.figures.items():
            digits = digits_of(measure)
            around = "" if figure.interval is None else f" ± {figure.interval.half_width:.{digits}f}"
            lines.append(f"{measure:<7}{figure.score:7.{digits}f}{around}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
    bootstrap: int = 1000,
    seed: int = 12345,
    measures: Sequence[str] = MEASURES,
) -> Evaluation:
    """Scores detokenised hypotheses (S sentences) against one reference stream or more.

    A blank reference line counts as missing, see `references.checked_references`.

    Args:
        hypotheses: S sentences.
        references: one list of S sentences for each reference stream.
        lowercase: whether to ignore case (TER always does).
        tokenize: sacrebleu's tokeniser for BLEU, NIST and LexAcc; TER splits at blanks, chrF needs none.
        bootstrap: samples for the intervals, 0 for none. seed: the seed of the samples.
        measures: which of bleu, chrf, ter, nist, lexacc. Where there is none, references are not needed.

    Raises:
        InputError: counts differ (both are named), there is nothing to score, or a measure or tokeniser is unknown.

    Example:
        >>> evaluate(["the cat sat"], [["the cat sat"]], bootstrap=0, measures=["ter"])["ter"]
        0.0
    """
    streams = checked_references(hypotheses, references) if measures else []
    if bootstrap < 0:
        raise InputError("too few bootstrap samples", bootstrap, "0 for none, or 1 and more")
    figures: dict[str, Figure] = {}
    stats: dict[str, Stats] = {}
    for measure in measures:
        measured = measure_sentences(
            measure, hypotheses, streams, lowercase=lowercase, tokenize=tokenize, bootstrap=bootstrap, seed=seed
        )
        stats[measure] = measured.stats
        held = interval(bootstrap_scores(measured.stats, bootstrap, seed)) if bootstrap else None
        figures[measure] = Figure(measured.score, measured.signature, held)
    notes: list[str] = []
    tokenized = sum(line.endswith(TEXT_ENDINGS) for line in hypotheses)
    if tokenize != "none" and tokenized >= TOKENIZED_ENDINGS:
        notes.append(
            f"{tokenized} lines end in a full stop behind a blank: score detokenised text, "
            "or say tokenize=none where hypotheses and references are tokenised alike"
        )
    empty = sum(not line.strip() for line in hypotheses)
    if empty:
        notes.append(f"{empty} hypotheses are empty")
    return Evaluation(figures, stats, len(hypotheses), len(streams), tuple(notes))


def digits_of(measure: str) -> int:
    """The digits shown behind the point: those of columns made elsewhere are often below 1."""
    return 2 if measure in MEASURES else 4


def read_column(path: str | Path) -> list[float]:
    """The numbers of a file, one a line.

    Raises:
        InputError: a line that is no number, with its place; a file that cannot be read.
    """
    values: list[float] = []
    for number, line in enumerate(iterate_lines(path), 1):
        try:
            values.append(parse_float(line.strip(" \t\r")))
        except ValueError as error:
            raise InputError(
                str(error), line, "one number a line, of the sentence there", file=path, line=number
            ) from error
    return values


def with_column(
    evaluation: Evaluation, name: str, path: str | Path, bootstrap: int = 1000, seed: int = 12345
) -> Evaluation:
    """An evaluation with the mean of a file's numbers as one more figure, its interval and its statistics.

    Raises:
        InputError: the file has another number of lines than there are sentences, or the name is that of a measure.
    """
    if name in MEASURES or name in evaluation.figures:
        raise InputError("a column needs a name of its own", name, "none of " + ", ".join(MEASURES))
    values = read_column(path)
    if len(values) != evaluation.sentences:
        raise InputError(
            "not as many numbers as sentences",
            f"{len(values)} numbers and {evaluation.sentences} sentences",
            "one for each sentence, in their order",
            "compute them from this very output",
            file=path,
        )
    # Rows (value, 1), whose score is the mean.
    stats = Stats(name, np.column_stack([values, np.ones(len(values))]), lambda sums_BK: sums_BK[:, 0] / sums_BK[:, 1])
    held = interval(bootstrap_scores(stats, bootstrap, seed)) if bootstrap else None
    figure = Figure(stats.score(), f"mean of {Path(path).name}", held)
    return replace(evaluation, figures={**evaluation.figures, name: figure}, stats={**evaluation.stats, name: stats})


@dataclass(frozen=True)
class SystemEvaluation:
    """The figures of R runs of one system on the same sentences.

    Attributes:
        runs_R: the figures of each run; at least one, all with the same measures.
    """

    runs_R: Sequence[Evaluation]

    def __post_init__(self) -> None:
        if not self.runs_R:
            raise InputError("nothing to score", "no output", "one file or run, or more")

    def __getitem__(self, measure: str) -> float:
        """The mean of a measure over the runs."""
        return statistics.fmean(self.values(measure))

    @property
    def stats_R(self) -> list[Mapping[str, Stats]]:
        """The statistics of each run, for `significance.paired_runs`."""
        return [run.stats for run in self.runs_R]

    def values(self, measure: str) -> list[float]:
        """A measure of each run."""
        return [run[measure] for run in self.runs_R]

    def deviation(self, measure: str) -> float | None:
        """The standard deviation over runs, that of a sample (n - 1); None of one run."""
        return statistics.stdev(self.values(measure)) if len(self.runs_R) > 1 else None

    def to_json(self) -> dict[str, Any]:
        """Plain values: of one run what `Evaluation.to_json` gives.

        Of several `runs`, and for each measure its mean under its name, `_deviation`, `_runs` (the figure of each) and
        `_signature`.
        """
        first = self.runs_R[0]
        if len(self.runs_R) == 1:
            return first.to_json()
        plain: dict[str, Any] = {
            "runs": len(self.runs_R), "sentences": first.sentences, "references": first.references
        }  # fmt: skip
        for measure, figure in first.figures.items():
            plain[measure] = self[measure]
            plain[f"{measure}_deviation"] = self.deviation(measure)
            plain[f"{measure}_runs"] = self.values(measure)
            plain[f"{measure}_signature"] = figure.signature
        notes = self._notes()
        return {**plain, "notes": notes} if notes else plain

    def summary(self) -> str:
        """One line for each figure, for people: of several runs mean ± deviation (n)."""
        first = self.runs_R[0]
        if len(self.runs_R) == 1:
            return first.summary()
        lines = [
            f"{measure:<7}{self[measure]:7.{digits_of(measure)}f}"
            f" ± {self.deviation(measure):.{digits_of(measure)}f} ({len(self.runs_R)})"
            for measure in first.figures
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self._notes())])

    def _notes(self) -> list[str]:
        return [f"run {number}: {note}" for number, run in enumerate(self.runs_R, 1) for note in run.notes]
