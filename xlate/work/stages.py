"""Stages of a work directory: built aside, renamed when complete, and skipped if nothing they depend on changed."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from xlate.arrays.stored import HEADER, is_whole
from xlate.cluster import ClusterConfig, run_tasks, uses_cluster
from xlate.errors import InputError, refuse_if
from xlate.machine import peak_megabytes
from xlate.progress import speak_in_fork
from xlate.search.processes import Workers
from xlate.settings import Json
from xlate.text.folders import (
    Fields,
    Strangers,
    awaited,
    check_replaceable,
    holds,
    read_json,
    whole_folder,
    write_json,
)
from xlate.text.lines import unreadable
from xlate.text.opening import plain_file

log = logging.getLogger(__name__)
Result = TypeVar("Result")
MARK = "stage.json"
# The beginning of an identity distinguishes folders; it is of no use to a reader.
IDENTITY_IN_NAME = re.compile(r"/[0-9a-f]{12,}(?=/|$)")
# Stages in deeper folders than this are intermediate stages of folds.
MOST_DEPTH = 2
# A stage of another layout is made again.
LAYOUT = 2
FIELDS: Fields = {"identity": str, "figures": dict, "seconds": (int, float)}


@dataclass(frozen=True)
class Stage:
    """A finished stage: its folder, its identity (SHA-256 of all it was made from), its figures and its time."""

    folder: Path
    identity: str
    figures: Json
    seconds: float


def identity_of(value: Mapping[str, Any]) -> str:
    """The SHA-256 of a JSON-able mapping, independent of key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def file_hash(path: str | Path) -> str:
    """The SHA-256 of a file's bytes.

    Raises:
        InputError: the file cannot be read, or only once: it has to be read again later.
    """
    try:
        with plain_file(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error, "a readable file") from error


def finished_stage(work: Path, name: str, made_from: Mapping[str, Any]) -> Stage | None:
    """A stage that was made from these things, if there is one; its arrays are not looked at."""
    held, identity = _finished(work / name / MARK), identity_of(made_from)
    unchanged = held is not None and (held.get("layout"), held["identity"]) == (LAYOUT, identity)
    return Stage(work / name, identity, held["figures"], held["seconds"]) if held and unchanged else None


def run_stage(work: Path, name: str, identity: Mapping[str, Any], build: Callable[[Path], Json]) -> Stage:
    """Runs one stage unless its folder was already made from the same things.

    `build` gets an empty folder and returns figures to record; only then does the folder take its final name. A stage
    with damaged arrays, or from an earlier version, is made again. If another process is making the stage, this one
    waits for it.
    """
    if (there := _unchanged(work, name, identity)) is not None:
        return there
    final, wanted = work / name, identity_of(identity)
    with awaited(final):
        if (there := _unchanged(work, name, identity)) is not None:
            return there
        start, figures = time.perf_counter(), Json()
        try:
            with whole_folder(final, *_asked(work, name)) as aside:
                figures = build(aside)
                seconds = time.perf_counter() - start
                record = {
                    "layout": LAYOUT,
                    "identity": wanted,
                    "stage": name,
                    "arrays": sorted(str(header.parent.relative_to(aside)) for header in aside.rglob(HEADER)),
                    "made_from": dict(identity),
                    "figures": figures,
                    "seconds": seconds,
                    "peak_mb": peak_megabytes(),
                }
                write_json(aside / MARK, record)
        except OSError as error:
            # Another process may have finished the same stage just before this one was renamed.
            made = _finished(final / MARK)
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or made is None or made["identity"] != wanted:
                raise
    # Stages of folds and parts come by the dozen, and the work that uses them shows its own progress.
    level = logging.DEBUG if name.count("/") > MOST_DEPTH or "-parts/" in name else logging.INFO
    told = ", ".join(f"{k} {_short(v)}" for k, v in figures.items())
    log.log(level, "%-8s %.1f s  %s", IDENTITY_IN_NAME.sub("", name), seconds, told)
    return Stage(final, wanted, figures, seconds)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Runs tasks in forked processes, at most one per core, and returns their results.

    The results are the same as if they ran one after the other; tasks must not depend on each other. None runs in this
    process: processes forked later would lack the threads that a task started for its loops, and wait for them.

    Raises:
        InputError: a process died; also whatever a task raises.
    """
    if cores() < 2 or len(tasks) < 2:
        return [task() for task in tasks]

    def work(start: int, chunk: Sequence[Any]) -> list[Result]:
        del start
        speak_in_fork()
        return [tasks[number]() for number in chunk]

    with Workers(work, min(cores(), len(tasks)), "prepared") as workers:
        try:
            return [found for (found,) in workers.each((number, [number]) for number in range(len(tasks)))]
        except BaseException:
            # After a signal or an error, the results of the others are not needed.
            workers.end()
            raise


# Makes a part in an empty folder, given the work directory and what it is made from; returns figures to record.
BuildPart = Callable[[Path, Json, Path], Json]


def make_parts(work: Path, cluster: ClusterConfig, build: BuildPart, parts: Mapping[str, Json], words: str) -> None:
    """Makes stages that do not depend on each other: in a cluster, or else in forked processes on this machine.

    Args:
        build: makes one; a function of a module.
        parts: what each is made from, by name. Those that are finished are left alone.
        words: what they are, for the progress.

    Raises:
        InputError: see `run_tasks` and `side_by_side`.
    """
    left = [
        (build.__module__, build.__name__, str(work), name, dict(made_from))
        for name, made_from in parts.items()
        if finished_stage(work, name, made_from) is None
    ]
    if uses_cluster(cluster):
        run_tasks(cluster, (work / next(iter(parts), "")).parent / "jobs", make_part, left, words)
    else:
        side_by_side([partial(make_part, *task) for task in left])


def make_part(module: str, function: str, work: str, name: str, made_from: Json) -> None:
    """Makes one of them: a task of `make_parts`."""
    build: BuildPart = getattr(import_module(module), function)
    run_stage(Path(work), name, made_from, partial(build, Path(work), made_from))


def _unchanged(work: Path, name: str, made_from: Mapping[str, Any]) -> Stage | None:
    """A finished stage whose folders of arrays are all there and unchanged; logs which is not."""
    stage, final = finished_stage(work, name, made_from), work / name
    if stage is None:
        return None
    named = {final / str(folder) for folder in (_finished(final / MARK) or {}).get("arrays", [])}
    for folder in sorted(named | {path.parent for path in final.rglob("*.npy")}):
        if not is_whole(folder):
            log.warning("%s is damaged or of an earlier version; %s is made again", folder, final)
            return None
    # Stages within others are made when first needed; their reuse is logged only with -v.
    log.log(logging.DEBUG if "/" in name else logging.INFO, "%-8s unchanged", name)
    return stage


def check_stage(work: Path, name: str) -> None:
    """Checks that a stage may be made in its place.

    Raises:
        InputError: the place is taken by something other than that stage or an empty folder.
    """
    check_replaceable(work / name, *_asked(work, name))


def _asked(work: Path, name: str) -> tuple[str, Strangers, str]:
    """A stage's name, how to recognise it, and the remedy if something else is in its place."""
    return f"the stage {name}", partial(_strangers, name), f"move it away, or name another folder than {work}"


def _strangers(name: str, folder: Path) -> list[str]:
    """All that a folder holds if it is not this stage; a damaged stage counts as this one."""
    finished = _finished(folder / MARK)
    if finished is None:
        known = holds(folder / MARK, '"identity": ') and not _is_json(folder / MARK)
    else:
        known = finished.get("stage", name) == name
    return [] if known else sorted(os.listdir(folder))


def read_stage(work: Path, name: str) -> Stage:
    """Reads a finished stage.

    Raises:
        InputError: the work directory lacks it, or its `stage.json` is damaged.
    """
    marker, remedy = work / name / MARK, f"xlate prepare data=… work={work}"
    refuse_if(
        not marker.exists(),
        "not a prepared work directory",
        f"no finished stage {name!r}",
        "what xlate prepare writes",
        remedy,
        work,
    )
    held = read_json(marker, "the record of a finished stage", remedy, {"layout": int, **FIELDS})
    return Stage(work / name, held["identity"], held["figures"], held["seconds"])


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return True


def _finished(marker: Path) -> Json | None:
    """The record of a stage; None if it is missing or damaged: then the stage is made again."""
    if not marker.exists():
        return None
    try:
        return read_json(marker, "the record of a finished stage", "", FIELDS)
    except InputError:
        return None


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
