"""Means and spread over runs that differ only in their seed, as Clark et al. (2011) demand for tuned systems."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xlate.report.runs import Run, differing_settings
from xlate.report.tables import FIGURES, Column, Table, setting_text

SEED = "seed"
# Checksums of the run that another one starts from: with each seed there is another.
BASE = "base."


@dataclass(frozen=True)
class Spread:
    """The mean of a figure over runs, its deviation, that of a sample (n - 1; None of one run), and their number."""

    mean: float
    deviation: float | None
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of one value or more."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))

    def text(self, digits: int) -> str:
        """Mean ± deviation (n); of one run the value alone."""
        mean = f"{self.mean:,.{digits}f}"
        return mean if self.deviation is None else f"{mean} ± {self.deviation:,.{digits}f} ({self.runs})"


def settings_besides_seed(runs: Sequence[Run]) -> list[str]:
    """The settings that differ between runs, without the seed and what follows from it."""
    return [key for key in differing_settings(runs) if key != SEED and not key.startswith(BASE)]


def by_seed(runs: Sequence[Run]) -> dict[int, Run]:
    """Runs by their seed, in its order; of several with the same one the last counts."""
    held = {int(run.settings.get(SEED) or 0): run for run in runs}
    return {seed: held[seed] for seed in sorted(held)}


def of_common_seeds(runs: Sequence[Run], against: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The runs of two systems that can be paired: those of seeds that both have; a system of one run stays as it is,
    since it is compared with every run of the other.
    """
    ours, theirs = by_seed(runs), by_seed(against)
    if 1 in (len(ours), len(theirs)):
        return list(ours.values()), list(theirs.values())
    common = [seed for seed in ours if seed in theirs]
    return [ours[seed] for seed in common], [theirs[seed] for seed in common]


def seeds_table(runs: Sequence[Run], title: str = "") -> Table | None:
    """One row for all runs with the same settings but the seed: their number, and mean, deviation and range of each
    measure.

    The deviation is that of a sample (n - 1). None when no two finished runs differ only in the seed.
    """
    done = [run for run in runs if run.finished]
    keys = [key for key in differing_settings(done) if key != SEED]
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in done:
        groups.setdefault(tuple(str(setting_text(run.settings.get(key))) for key in keys), []).append(run)
    rows = list(groups.values())
    if not any(len({run.settings.get(SEED) for run in row}) > 1 for row in rows):
        return None
    columns = [Column(key, [names[place] for names in groups]) for place, key in enumerate(keys)]
    columns.append(Column("seeds", [len(row) for row in rows], 0))
    for key, heading, digits, better in FIGURES:
        values = [[value for run in row if (value := run.figure(key)) is not None] for row in rows]
        if not better or not any(values):
            continue
        for name, reduce in MEASURES.items():
            found = [reduce(some) if some else None for some in values]
            columns.append(Column(f"{heading}, {name}", found, digits, better=better if name == "mean" else 0))
    return Table(columns, title)


def _deviation(values: list[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


MEASURES: dict[str, Callable[[list[float]], float | None]] = {
    "mean": statistics.fmean,
    "deviation": _deviation,
    "least": min,
    "most": max,
}
