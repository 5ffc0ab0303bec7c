"""Names that tell runs and settings apart: what the seeds of a setting have in common, with folders where needed."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from xlate.report.runs import Run

ONLY_SEED = re.compile(r"seed=\d+")


def named(groups: Sequence[Sequence[Run]]) -> list[tuple[str, list[Run]]]:
    """The name of each group of runs, and its runs.

    Runs whose names say only their seed are named with the folder they are in, as a sweep over seeds is known by its
    folder. So are those of groups that would have the same name, with as many folders as tell them apart.
    """
    found = [[_deeper(run) if ONLY_SEED.fullmatch(run.name) else run for run in runs] for runs in groups]
    names = _common_names(found)
    for name, times in Counter(names).items():
        if times > 1:
            alike = [place for place, other in enumerate(names) if other == name]
            for place, runs in zip(alike, _told_apart([found[place] for place in alike]), strict=True):
                found[place] = runs
    names = _common_names(found)
    times_of = Counter(names)
    names = [name if times_of[name] == 1 else runs[0].name for name, runs in zip(names, found, strict=True)]
    return list(zip(_without_folder(names), found, strict=True))


def common_name(names: Sequence[str]) -> str:
    """`eta=1,seed=1` and `eta=1,seed=2` are `eta=1`, `mira1` and `mira2` are `mira`; else it is the shortest name."""
    if len(names) == 1:
        return names[0]
    for seed in (r"[,_\-/]?seed=?\d+(?=$|[,_\-/])", r"[=,_\-/.]?\d+$"):
        without = {re.sub(seed, "", name).strip(",_-/") for name in names}
        if len(without) == 1 and without != {""}:
            return without.pop()
    return min(names, key=len)


def _common_names(groups: Sequence[Sequence[Run]]) -> list[str]:
    return [common_name([run.name for run in runs]) for runs in groups]


def _told_apart(groups: Sequence[Sequence[Run]]) -> list[list[Run]]:
    """Groups of one name, with folders before the names of their runs; as they are where no folders tell them apart."""
    before: list[list[Run]] = []
    deeper = [list(runs) for runs in groups]
    while before != deeper:
        before, deeper = deeper, [[_deeper(run) for run in runs] for runs in deeper]
        if len(set(_common_names(deeper))) == len(groups):
            return deeper
    return [list(runs) for runs in groups]


def _deeper(run: Run) -> Run:
    """A run with one folder more in its name, if there is one."""
    parts = Path(os.path.abspath(run.path)).parts[1:]
    return replace(run, name="/".join(parts[-(len(Path(run.name).parts) + 1) :]))


def _without_folder(names: Sequence[str]) -> list[str]:
    """Names without the folders that all of them are in."""
    folders = [name.split("/")[:-1] for name in names]
    shared = 0
    while all(len(folder) > shared and folder[shared] == folders[0][shared] for folder in folders):
        shared += 1
    return ["/".join(name.split("/")[shared:]) for name in names]
