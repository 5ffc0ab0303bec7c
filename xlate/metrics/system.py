"""How good a system is of which there are several runs: mean and deviation of every figure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xlate.errors import InputError
from xlate.metrics.score import Evaluation, digits_of
from xlate.metrics.statistics import Stats


@dataclass(frozen=True)
class SystemEvaluation:
    """The figures of R runs of one system on the same sentences.

    Attributes:
        runs_R: the figures of each run; at least one, all with the same measures.
    """

    runs_R: Sequence[Evaluation]

    def __post_init__(self) -> None:
        if not self.runs_R:
            raise InputError("nothing to score", seen="no output", expected="one file or run, or more")

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
        return [f"run {number}: {note}" for number, run in enumerate(self.runs_R, start=1) for note in run.notes]
