"""Means and spread over runs that differ only in their seed, as Clark et al. (2011) demand for tuned systems."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from xlate.report.runs import Run, differing_settings
from xlate.report.tables import FIGURES, Column, Table, setting_text

SEED = "seed"


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
