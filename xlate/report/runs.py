"""Finds runs on disk, and the figures that each has reached."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.report.identity import flat
from xlate.report.run_directory import MARK, RunDirectory

# The identity of a work directory is not a setting that anyone chose.
CHOSEN = re.compile(r"^(?!.*_identity$)")


@dataclass(frozen=True)
class Run:
    """One run: its settings, final figures (None before there are any) and curves.

    Attributes:
        name: the path of its folder inside the folder it was found in.
        settings: its settings, with dotted keys.
    """

    path: Path
    name: str
    settings: Mapping[str, Any]
    summary: Mapping[str, Any] | None

    @property
    def finished(self) -> bool:
        """Whether its summary says so."""
        return self.summary is not None and self.summary.get("finished") is True

    @property
    def imported(self) -> str | None:
        """The file of other software that its system came from, of which nothing was trained or measured here."""
        held = self.settings.get("imported")
        return None if held is None else str(held)

    @cached_property
    def curves(self) -> dict[str, list[tuple[int, float]]]:
        """The pairs (step, value) of each tag."""
        return RunDirectory.open(self.path).records.curves()

    def figure(self, name: str) -> float | None:
        """A number of the summary; None when it is not there."""
        value = (self.summary or {}).get(name)
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return float(value) if number and value is not None else None

    def last(self, tag: str) -> float | None:
        """The last value reported under a tag or under one that continues it (`valid/P/floats`); None when there is
        none.
        """
        points = [(step, value) for key, curve in self.curves.items() if _under(key, tag) for step, value in curve]
        return max(points, key=lambda point: point[0])[1] if points else None


def collect_runs(paths: Sequence[str | Path]) -> list[Run]:
    """All runs in some folders and inside them, each once, sorted by name with numbers in their order.

    Raises:
        InputError: a folder is missing or holds no run at any depth, or the files of a run are damaged.
    """
    found: dict[Path, Run] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            raise InputError(
                "no such folder", file=path, seen="nothing there", expected="a folder of runs", remedy="check the name"
            )
        here = [_read(folder, path) for folder in _marked(path)]
        if not here:
            raise InputError(
                "no runs here",
                file=path,
                seen="no run.json in it or below it",
                expected="a run of xlate train, or a folder of runs",
                remedy="xlate train run=… makes one",
            )
        for run in here:
            found.setdefault(run.path.resolve(), run)
    return sorted(found.values(), key=lambda run: natural(run.name))


def differing_settings(runs: Sequence[Run]) -> list[str]:
    """The settings that differ between runs, in the order of the first run that has them.

    A setting that a run does not have counts as null.
    """
    keys = list(dict.fromkeys(key for run in runs for key in run.settings if CHOSEN.match(key)))
    rows = [[run.settings.get(key) for run in runs] for key in keys]
    return [key for key, values in zip(keys, rows, strict=True) if any(value != values[0] for value in values)]


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key by which row2 comes before row10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _marked(path: Path) -> Iterator[Path]:
    for folder, below, files in os.walk(path):
        if MARK in files:
            below.clear()
            yield Path(folder)


def _read(folder: Path, root: Path) -> Run:
    run = RunDirectory.open(folder)
    name = folder.name if folder == root else str(folder.relative_to(root))
    return Run(folder, name or folder.resolve().name, flat(run.identity), run.summary)


def _under(key: str, tag: str) -> bool:
    return key == tag or key.startswith(tag + "/")
