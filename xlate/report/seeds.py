"""Runs that differ only in their seed as one setting, with means and spread, as Clark et al. (2011) demand."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from xlate.report.names import named
from xlate.report.runs import Run, differing_settings

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


@dataclass(frozen=True)
class Setting:
    """Runs that differ only in their seed, in its order.

    Attributes:
        name: what their names have in common, and what tells it from other settings.
    """

    name: str
    runs: Sequence[Run]

    @property
    def first(self) -> Run:
        """The run of the least seed."""
        return self.runs[0]

    @property
    def finished(self) -> bool:
        """Whether every run is."""
        return all(run.finished for run in self.runs)

    def figure(self, key: str) -> Spread | None:
        """A figure of the runs that have it; None when none has."""
        values = [value for run in self.runs if (value := run.figure(key)) is not None]
        return Spread.of(values) if values else None


def by_setting(runs: Sequence[Run]) -> list[Setting]:
    """The settings of some runs, in the order of their first ones.

    Runs of the same settings and the same seed are no replicas of each other; each but the first is a setting of its
    own.
    """
    keys = settings_besides_seed(runs)
    groups: list[tuple[list[str], dict[object, Run]]] = []
    for run in runs:
        values, seed = [str(run.settings.get(key)) for key in keys], run.settings.get(SEED)
        for known, held in groups:
            if known == values and seed not in held:
                held[seed] = run
                break
        else:
            groups.append((values, {seed: run}))
    found = [sorted(held.values(), key=lambda run: int(run.settings.get(SEED) or 0)) for _, held in groups]
    return [Setting(name, some) for name, some in named(found)]
