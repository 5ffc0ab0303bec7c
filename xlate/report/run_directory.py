"""The folder of a run: its identity, its versions, its measurements, and whether it is finished."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import xlate
from xlate.array_types import AnyFloats, Bytes
from xlate.errors import InputError
from xlate.text.folders import check_is_folder, foreign_files, read_json, write_json
from xlate.text.lines import naming_file, write_file, write_lines
from xlate.text.opening import checked_name, plain_file

log = logging.getLogger(__name__)
# Settings that change where a run is stored, what it prints or how it is scored, but not what is trained.
VOLATILE = ("run", "checkpoint_seconds", "dev_every", "measures", "reporter", "debug", "cluster")
ABSENT = "nothing"


def plain(identity: Mapping[str, Any]) -> dict[str, Any]:
    """The identity as it reads back from JSON, without the volatile keys."""
    kept = {key: value for key, value in identity.items() if key not in VOLATILE}
    loaded: dict[str, Any] = json.loads(json.dumps(kept, default=str))
    return loaded


def identity_hash(identity: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits that equal identities share, whatever the order of their keys."""
    text = json.dumps(plain(identity), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as one level with dotted keys.

    Example: `{"loss": {"eta": 0.1}}` becomes `{"loss.eta": 0.1}`.
    """
    held: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        held |= flat(value, f"{name}.") if isinstance(value, Mapping) and value else {name: value}
    return held


def differing_keys(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The dotted keys in which two settings differ, with both values; `ABSENT` where one has none."""
    old, new = flat(before), flat(now)
    pairs = [(key, old.get(key, ABSENT), new.get(key, ABSENT)) for key in old | new]
    return [(key, there, here) for key, there, here in pairs if there != here]


class Records:
    """A file of scalars as JSON lines, which grows line by line and stays readable when cut off anywhere.

    A line is `{"tag": "train/loss", "value": 0.5, "step": 100}`; a value that is not finite is written as null.
    """

    def __init__(self, path: str | Path) -> None:
        """The file is read or made only when needed."""
        self.path = Path(path)

    def append(self, tag: str, value: float, step: int) -> None:
        """Adds a scalar and flushes its line to the operating system."""
        record = {"tag": tag, "value": value if math.isfinite(value) else None, "step": step}
        with naming_file(self.path), self.path.open("ab") as stream:
            stream.write(f"{json.dumps(record, ensure_ascii=False)}\n".encode())

    def read(self) -> list[dict[str, Any]]:
        """All complete lines; an incomplete last line, such as a kill leaves, is skipped.

        Raises:
            InputError: any other line is damaged.
        """
        if not self.path.exists():
            return []
        *lines, _ = plain_file(self.path).read_bytes().split(b"\n")
        records, remedy = [], None
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record, remedy = line[:100], "remove the line"
            if not _is_scalar(record):
                expected = "a JSON object of a tag, a step, and a number or null as value"
                raise InputError("a damaged record", record, expected, remedy, file=self.path, line=number)
            records.append(record)
        return records

    def repair(self) -> None:
        """Removes an incomplete last line."""
        if self.path.exists():
            whole = plain_file(self.path).read_bytes().rfind(b"\n") + 1
            if whole < self.path.stat().st_size:
                os.truncate(self.path, whole)

    def replace(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Writes other records, as they were read, in place of all."""
        write_lines(self.path, (json.dumps(record, ensure_ascii=False) for record in records))

    def curves(self) -> dict[str, list[tuple[int, float]]]:
        """The pairs (step, value) of each tag in order of steps; of several values for a step the last counts."""
        held: dict[str, dict[int, float]] = {}
        for record in self.read():
            value = record["value"]
            held.setdefault(record["tag"], {})[record["step"]] = math.nan if value is None else float(value)
        return {tag: sorted(points.items()) for tag, points in held.items()}


def _is_scalar(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    tag, value, step = record.get("tag"), record.get("value", False), record.get("step")
    number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    return isinstance(tag, str) and type(step) is int and number


PACKAGES = ("torch", "numpy", "numba", "sacrebleu", "sil-thot")


def versions() -> dict[str, Any]:
    """The versions of Python, xlate and the libraries that results depend on, the platform, and the git commit if
    there is one.
    """
    held: dict[str, Any] = {"xlate": xlate.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        held[package] = None
        with contextlib.suppress(PackageNotFoundError):
            held[package] = version(package)
    held |= {"platform": platform.platform(), "machine": platform.machine(), "processors": os.cpu_count()}
    return held | git_commit(Path(xlate.__file__).resolve().parents[1])


def git_commit(folder: Path) -> dict[str, Any]:
    """The commit checked out in a folder, and whether tracked files differ from it; empty outside a repository."""
    if not (folder / ".git").exists():
        return {}
    told = []
    for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]):
        try:
            command = ["git", "-C", str(folder), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        except (OSError, subprocess.SubprocessError):
            return {}
        told.append(done.stdout.strip())
    return {"git_commit": told[0], "git_changed": bool(told[1])}


MARK, CONFIG_FILE = "run.json", "config.yaml"
OTHER_FOLDER = "name another folder with run=…, use the same settings to resume, or remove the folder"
# Files, besides hidden ones, that may be in a folder before a run begins: logs of a sweep.
HARMLESS_NAMES = frozenset({"multirun.yaml"})
# Files that an attempt leaves when it fails before it learns or measures anything; the last two are then empty.
FIRST_FILES, FIRST_BEGINNING = frozenset({MARK, CONFIG_FILE, "versions.json"}), "events.out."
RECORDS, CHECKPOINT = "metrics.jsonl", "checkpoint"


class AnotherRun(InputError):
    """The folder holds a run with other settings; `differences` has the keys, with stored and requested values."""

    def __init__(self, path: Path, differences: Sequence[tuple[str, Any, Any]], remedy: str = OTHER_FOLDER) -> None:
        self.path, self.differences = path, differences
        super().__init__(
            "the folder holds another run",
            file=path,
            seen="; ".join(f"{key}: {there} there, {here} requested" for key, there, here in differences[:8]),
            expected="the settings that it was created with",
            remedy=remedy,
        )


@dataclass(frozen=True)
class RunDirectory:
    """A run on disk, recognised by the identity it was created with.

    Its files are `run.json` (the identity), `config.yaml`, `versions.json`, `metrics.jsonl`, `summary.json`,
    `checkpoint/`, and TensorBoard events. Commands put weights and outputs next to them.
    """

    path: Path
    identity: Mapping[str, Any]

    @classmethod
    def create(cls, path: str | Path, config_text: str, identity: Mapping[str, Any]) -> RunDirectory:
        """Makes the folder of a new run, or opens it to resume if it holds the same run.

        Args:
            path: the folder, which is new or empty, or holds this run, or another that failed before it learned or
                measured anything and is replaced.
            config_text: the resolved configuration, written to `config.yaml`.
            identity: all settings that define this run, as JSON values, possibly nested; `VOLATILE` keys at the top
                level are left out.

        Raises:
            AnotherRun: the folder holds another run.
            InputError: it holds files that do not belong to a run.
        """
        path = Path(path)
        kept = plain(identity)
        if (path / MARK).exists() and not _makes_room(path, cls.open(path).identity, kept):
            run = cls.open(path)
            if (stored := path / "versions.json").exists():
                before = read_json(stored, "the versions of a run", "remove it")
                for key, old, new in differing_keys(before, versions()):
                    log.warning("%s resumes with another %s: %s, was %s", path, key, new, old)
        else:
            if os.path.lexists(checked_name(path)):
                check_is_folder(path, "a run")
                if foreign := _foreign(path.iterdir()):
                    raise foreign_files(path, "a run", foreign, "name another folder with run=…", "this run")
            path.mkdir(parents=True, exist_ok=True)
            run = cls(path, kept)
            # The identity is written first: a run killed from here on is recognised and resumes.
            write_json(path / MARK, {"identity": kept, "hash": identity_hash(kept)})
        if not (path / CONFIG_FILE).exists():
            write_file(path / CONFIG_FILE, config_text)
        if not (path / "versions.json").exists():
            write_json(path / "versions.json", versions())
        run.records.repair()
        return run

    @classmethod
    def open(cls, path: str | Path) -> RunDirectory:
        """Opens the folder of a run.

        Raises:
            InputError: it holds no run, or its `run.json` is damaged.
        """
        fields = {"identity": dict}
        held = read_json(Path(path) / MARK, "a run directory", "xlate train run=… creates one", fields)
        return cls(Path(path), held["identity"])

    @property
    def records(self) -> Records:
        """The measurements so far, `metrics.jsonl`."""
        return Records(self.path / RECORDS)

    @property
    def checkpoint(self) -> Path:
        """The folder for checkpoints, made on first use."""
        folder = self.path / CHECKPOINT
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def summary(self) -> dict[str, Any] | None:
        """The final figures; None before there are any.

        Raises:
            InputError: `summary.json` is damaged.
        """
        path = self.path / "summary.json"
        return read_json(path, "the summary of a run", "remove it and run again") if path.exists() else None

    @property
    def finished(self) -> bool:
        """Whether the summary marks the run as finished."""
        summary = self.summary
        return summary is not None and summary.get("finished") is True

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Writes the final figures; `"finished": true` among them marks the run as finished."""
        write_json(self.path / "summary.json", dict(summary))


def _makes_room(path: Path, held: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Removes another run's first files if it has no others; false if the folder holds the requested run."""
    differences = differing_keys(held, asked)
    if not differences:
        return False
    first = [entry for entry in path.iterdir() if _is_first(entry)]
    if _foreign(entry for entry in path.iterdir() if entry not in first):
        raise AnotherRun(path, differences)
    log.info("%s: an attempt with other settings failed there before it learned anything; starting afresh", path)
    # The identity is removed last: a folder that has it is a run.
    for entry in sorted(first, key=lambda entry: entry.name == MARK):
        (entry.rmdir if entry.is_dir() else entry.unlink)()
    return True


def _is_first(entry: Path) -> bool:
    """Whether this is a file that a run begins with, not one with results or one that belongs to something else."""
    if entry.name == CHECKPOINT:
        return entry.is_dir() and not any(entry.iterdir())
    if entry.name == RECORDS:
        return entry.stat().st_size == 0
    return entry.name in FIRST_FILES or entry.name.startswith(FIRST_BEGINNING)


def _foreign(entries: Iterable[Path]) -> list[str]:
    names = sorted(entry.name for entry in entries)
    return [name for name in names if name not in HARMLESS_NAMES and name[0] != "." and not name.endswith(".log")]


# Takes the tag, value and step of a scalar.
Listener = Callable[[str, float, int], object]


class Reporter:
    """Receives figures as they arise, where a step is the number of instances seen; this class discards them.

    A class that keeps them also passes the tag, value and step of every scalar to its `listener`.
    """

    listener: Listener

    def scalar(self, tag: str, value: float, step: int) -> None:
        """One number."""

    def scalars(self, tag: str, figures: Mapping[str, float | None], step: int) -> None:
        """Several numbers, without those that are None; the name of each takes the place of `*` in the tag."""
        for name, value in figures.items():
            if value is not None:
                self.scalar(tag.replace("*", name), value, step)

    def histogram(self, tag: str, values: AnyFloats, step: int) -> None:
        """The distribution of many numbers."""

    def text(self, tag: str, text: str, step: int) -> None:
        """Text for people; Markdown is allowed."""

    def image(self, tag: str, image_HW3: Bytes, step: int) -> None:
        """A picture, (height, width, 3)."""
