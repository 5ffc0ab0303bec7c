"""Stages of a work directory: each built aside, renamed when whole, and skipped when nothing it stands on changed."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.text.lines import atomic_write
from xlate.text.locks import awaited

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stage:
    """A finished stage: its folder, its identity (SHA-256 of all it was made from) and what it said of itself."""

    folder: Path
    identity: str
    figures: dict[str, Any]
    seconds: float


def identity_of(value: Mapping[str, Any]) -> str:
    """The SHA-256 of a JSON-able mapping, independent of key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8")).hexdigest()


def file_hash(path: str | Path) -> str:
    """The SHA-256 of a file's bytes.

    Raises:
        InputError: the file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    except OSError as error:
        raise InputError(
            "cannot be read", file=path, seen=error.strerror, expected="a readable file", remedy="check the name"
        ) from error
    return digest.hexdigest()


def peak_megabytes() -> float:
    """The largest resident memory this process has had so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def run_stage(work: Path, name: str, identity: Mapping[str, Any], build: Callable[[Path], dict[str, Any]]) -> Stage:
    """Runs one stage unless its folder was made from the same things before.

    `build` gets an empty folder and returns figures to record; the folder takes its final name only after it returned.
    Where another process makes the stage, it is waited for.
    """
    wanted = identity_of(identity)
    if (there := _unchanged(work, name, wanted)) is not None:
        return there
    final = work / name
    with awaited(final):
        return _unchanged(work, name, wanted) or _build_stage(final, name, identity, wanted, build)


def _unchanged(work: Path, name: str, wanted: str) -> Stage | None:
    finished = _finished(work / name / "stage.json")
    if finished is None or finished["identity"] != wanted:
        return None
    log.info("%-8s unchanged", name)
    return Stage(work / name, wanted, finished["figures"], finished["seconds"])


def _build_stage(
    final: Path, name: str, identity: Mapping[str, Any], wanted: str, build: Callable[[Path], dict[str, Any]]
) -> Stage:
    aside = final.with_name(f".{final.name}.{os.getpid()}.partial")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    start = time.perf_counter()
    try:
        figures = build(aside)
        seconds = time.perf_counter() - start
        record = {
            "identity": wanted,
            "made_from": dict(identity),
            "figures": figures,
            "seconds": seconds,
            "peak_mb": peak_megabytes(),
        }
        with atomic_write(aside / "stage.json") as stream:
            stream.write(json.dumps(record, indent=2, ensure_ascii=False).encode("utf-8"))
        _replace(aside, final, wanted)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    log.info("%-8s %.1f s  %s", name, seconds, ", ".join(f"{k} {_short(v)}" for k, v in figures.items()))
    return Stage(final, wanted, figures, seconds)


def _replace(aside: Path, final: Path, wanted: str) -> None:
    """Gives a finished stage its name; another process may have finished the same stage meanwhile."""
    shutil.rmtree(final, ignore_errors=True)
    try:
        os.rename(aside, final)
    except OSError:
        there = _finished(final / "stage.json")
        if there is None or there["identity"] != wanted:
            raise
        shutil.rmtree(aside, ignore_errors=True)


def read_stage(work: Path, name: str) -> Stage:
    """A stage finished before.

    Raises:
        InputError: the work directory lacks it.
    """
    finished = _finished(work / name / "stage.json")
    if finished is None:
        raise InputError(
            "not a prepared work directory",
            file=work,
            seen=f"no finished stage {name!r}",
            expected="what xlate prepare writes",
            remedy=f"xlate prepare data=… work={work}",
        )
    return Stage(work / name, finished["identity"], finished["figures"], finished["seconds"])


def discard_stage(folder: Path) -> None:
    """Removes a stage's folder; killed half-way, what is left of it does not count as finished."""
    (folder / "stage.json").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _finished(marker: Path) -> dict[str, Any] | None:
    if not marker.exists():
        return None
    try:
        record: dict[str, Any] = json.loads(marker.read_text(encoding="utf-8"))
        return record if {"identity", "figures", "seconds"} <= record.keys() else None
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
