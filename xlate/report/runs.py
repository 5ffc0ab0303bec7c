"""Finds runs on disk, their results, names that distinguish them, and runs that differ only in their seed."""

from __future__ import annotations

import math
import os
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.report.run_directory import MARK, RunDirectory, flat


@dataclass(frozen=True)
class Run:
    """One run: its settings, final figures (None before there are any) and curves.

    Attributes:
        name: the path of its folder inside the folder it was found in.
        settings: the settings, with dotted keys.
    """

    path: Path
    name: str
    settings: Mapping[str, Any]
    summary: Mapping[str, Any] | None

    @property
    def finished(self) -> bool:
        """Whether its summary marks it as finished."""
        return self.summary is not None and self.summary.get("finished") is True

    @cached_property
    def curves(self) -> dict[str, list[tuple[int, float]]]:
        """The pairs (step, value) of each tag."""
        return RunDirectory.open(self.path).records.curves()

    def figure(self, name: str) -> float | None:
        """A number of the summary; None when absent."""
        value = (self.summary or {}).get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            return None
        return float(value)

    def last(self, tag: str) -> float | None:
        """The last value reported under a tag or under one that continues it (`valid/P/floats`); None when there is
        none.
        """
        curves = [curve for key, curve in self.curves.items() if f"{key}/".startswith(f"{tag}/")]
        return max((point for curve in curves for point in curve), key=lambda point: point[0], default=(0, None))[1]


def collect_runs(paths: Sequence[str | Path]) -> list[Run]:
    """All runs in some folders, at any depth, each once, sorted by name with numbers in numeric order.

    Raises:
        InputError: a folder is missing or contains no run, or the files of a run are damaged.
    """
    found: dict[Path, Run] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            raise InputError(
                "no such folder", "nothing with this name", "a folder of runs", "check the name", file=path
            )
        folders = []
        for folder, below, files in os.walk(path):
            if MARK in files:
                below.clear()
                folders.append(Path(folder))
        if not folders:
            raise InputError(
                "no runs here",
                "no run.json in this folder or below it",
                "a run of xlate train, or a folder of runs",
                "xlate train run=… creates one",
                file=path,
            )
        for place in folders:
            run = RunDirectory.open(place)
            name = str(place.relative_to(path)) if place != path else place.name or place.resolve().name
            found.setdefault(place.resolve(), Run(place, name, flat(run.identity), run.summary))

    def natural(run: Run) -> list[tuple[int, str]]:
        """row2 comes before row10."""
        return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", run.name)]

    return sorted(found.values(), key=natural)


ONLY_SEED = re.compile(r"seed=\d+")


def named(groups: Sequence[Sequence[Run]]) -> list[tuple[str, list[Run]]]:
    """The name of each group of runs, and its runs.

    Runs whose names give only their seed are named with the folder they are in, as a sweep over seeds is known by its
    folder. Groups that would have the same name also get folders, as many as distinguish them.
    """
    found = [[_deeper(run) if ONLY_SEED.fullmatch(run.name) else run for run in runs] for runs in groups]
    names = _common_names(found)
    for name, times in Counter(names).items():
        alike = [place for place, other in enumerate(names) if other == name]
        deeper = [found[place] for place in alike]
        while len(set(_common_names(deeper))) < times:
            before, deeper = deeper, [[_deeper(run) for run in runs] for runs in deeper]
            if before == deeper:
                # No folders distinguish them.
                break
        else:
            for place, runs in zip(alike, deeper, strict=True):
                found[place] = runs
    names = _common_names(found)
    times_of = Counter(names)
    names = [name if times_of[name] == 1 else runs[0].name for name, runs in zip(names, found, strict=True)]
    # Folders that all of them share say nothing.
    shared = len(Path(os.path.commonpath(map(os.path.dirname, names))).parts) if names else 0
    return [("/".join(name.split("/")[shared:]), runs) for name, runs in zip(names, found, strict=True)]


def common_name(names: Sequence[str]) -> str:
    """`eta=1,seed=1` and `eta=1,seed=2` are `eta=1`, `mira1` and `mira2` are `mira`; otherwise the shortest name."""
    if len(names) == 1:
        return names[0]
    for seed in (r"[,_\-/]?seed=?\d+(?=$|[,_\-/])", r"[=,_\-/.]?\d+$"):
        without = {re.sub(seed, "", name).strip(",_-/") for name in names}
        if len(without) == 1 and without != {""}:
            return without.pop()
    return min(names, key=len)


def _common_names(groups: Sequence[Sequence[Run]]) -> list[str]:
    return [common_name([run.name for run in runs]) for runs in groups]


def _deeper(run: Run) -> Run:
    """A run with one more folder in its name, if there is one."""
    parts = Path(os.path.abspath(run.path)).parts[1:]
    return replace(run, name="/".join(parts[-(len(Path(run.name).parts) + 1) :]))


SEED = "seed"
# Checksums of the run that another one starts from; they differ for each seed.
BASE = "base."


@dataclass(frozen=True)
class Spread:
    """The mean of a figure over runs, its sample deviation (n - 1; None for one run), and the number of runs."""

    mean: float
    deviation: float | None
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of one or more values."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))

    def text(self, digits: int) -> str:
        """Mean ± deviation (n); for one run the value alone."""
        mean = f"{self.mean:,.{digits}f}"
        return mean if self.deviation is None else f"{mean} ± {self.deviation:,.{digits}f} ({self.runs})"


def settings_besides_seed(runs: Sequence[Run]) -> list[str]:
    """The settings that differ between runs, in the order of the first run that has them, without the seed and what
    follows from it, and without the identity of a work directory, which is not a choice.

    A setting that a run does not have counts as null.
    """
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    chosen = [key for key in keys if key != SEED and not key.startswith(BASE) and not key.endswith("_identity")]
    return [key for key in chosen if any(run.settings.get(key) != runs[0].settings.get(key) for run in runs)]


def by_seed(runs: Sequence[Run]) -> dict[int, Run]:
    """Runs by seed, in order of seeds; of several with the same seed the last counts."""
    return dict(sorted({int(run.settings.get(SEED) or 0): run for run in runs}.items()))


def of_common_seeds(runs: Sequence[Run], against: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The runs of two systems that can be paired: those whose seeds both have; a system of one run stays as it is,
    since it is compared with every run of the other.
    """
    ours, theirs = by_seed(runs), by_seed(against)
    if 1 in (len(ours), len(theirs)):
        return list(ours.values()), list(theirs.values())
    common = [seed for seed in ours if seed in theirs]
    return [ours[seed] for seed in common], [theirs[seed] for seed in common]


@dataclass(frozen=True)
class Setting:
    """Runs that differ only in their seed, in order of seeds.

    Attributes:
        name: the common part of their names, which distinguishes this setting from others.
    """

    name: str
    runs: Sequence[Run]

    @property
    def first(self) -> Run:
        """The run with the lowest seed."""
        return self.runs[0]

    @property
    def finished(self) -> bool:
        """Whether every run is."""
        return all(run.finished for run in self.runs)

    def figure(self, key: str) -> Spread | None:
        """A figure over the runs that have it; None when none has."""
        values = [value for run in self.runs if (value := run.figure(key)) is not None]
        return Spread.of(values) if values else None

    def around(self, key: str, several: bool) -> float | None:
        """The number after ± of a figure: the deviation where settings have several seeds, else half the interval."""
        spread = self.figure(key)
        return (None if spread is None else spread.deviation) if several else self.first.figure(f"{key}_interval")


def by_setting(runs: Sequence[Run]) -> list[Setting]:
    """The settings of some runs, in the order of their first ones.

    Runs with the same settings and the same seed are not replicas; each but the first is a separate setting.
    """
    keys = settings_besides_seed(runs)
    groups: dict[tuple[object, ...], dict[object, Run]] = {}
    for run in runs:
        values, seed = [str(run.settings.get(key)) for key in keys], run.settings.get(SEED)
        copy = next(number for number in count() if seed not in groups.get((*values, number), {}))
        groups.setdefault((*values, copy), {})[seed] = run
    found = [sorted(held.values(), key=lambda run: int(run.settings.get(SEED) or 0)) for held in groups.values()]
    return [Setting(name, some) for name, some in named(found)]
