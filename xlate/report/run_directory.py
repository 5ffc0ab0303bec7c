"""The folder of a run: its configuration, the versions it ran with, what was measured, and whether it is finished."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.report.identity import differing_keys, identity_hash, plain
from xlate.report.records import Records
from xlate.report.versions import versions
from xlate.text.folders import check_is_folder, foreign_files
from xlate.text.json_files import read_json, write_json
from xlate.text.lines import atomic_write
from xlate.text.opening import checked_name

log = logging.getLogger(__name__)

MARK, CONFIG_FILE = "run.json", "config.yaml"
OTHER_FOLDER = "name another folder with run=…, give the same settings to go on, or remove the folder"
# What may be in a folder before a run begins: hidden files, and logs of a sweep.
HARMLESS_NAMES, HARMLESS_ENDINGS = frozenset({"multirun.yaml"}), (".log",)
# What an attempt leaves that failed before it learned or measured anything; the last two are empty then.
FIRST_FILES, FIRST_BEGINNING = frozenset({MARK, CONFIG_FILE, "versions.json"}), "events.out."
RECORDS, CHECKPOINT = "metrics.jsonl", "checkpoint"


class AnotherRun(InputError):
    """The folder holds a run with other settings; `differences` are the keys, what is there and what is asked for."""

    def __init__(self, path: Path, differences: Sequence[tuple[str, Any, Any]], remedy: str = OTHER_FOLDER) -> None:
        self.path, self.differences = path, differences
        super().__init__(
            "the folder holds another run",
            file=path,
            seen="; ".join(f"{key}: {there} there, {here} asked for" for key, there, here in differences[:8]),
            expected="the settings it was made with",
            remedy=remedy,
        )


@dataclass(frozen=True)
class RunDirectory:
    """A run on disk, recognised by the identity that it was made with.

    Its files are `run.json` (the identity), `config.yaml`, `versions.json`, `metrics.jsonl`, `summary.json`,
    `checkpoint/`, and TensorBoard events. Commands put weights and outputs beside them.
    """

    path: Path
    identity: Mapping[str, Any]

    @classmethod
    def create(
        cls,
        path: str | Path,
        config_text: str,
        identity: Mapping[str, Any],
    ) -> RunDirectory:
        """Makes the folder of a new run, or opens it when it holds the same run, which then goes on.

        Args:
            path: the folder, which is new, empty, or holds this run, or another that failed before it learned or
                measured anything and makes room.
            config_text: the resolved configuration, written to `config.yaml`.
            identity: all settings that make it this run and no other, as JSON values, perhaps nested; `VOLATILE` keys
                at the top level are left out.

        Raises:
            AnotherRun: the folder holds another run.
            InputError: it holds files that are not of a run.
        """
        path = Path(path)
        kept = plain(identity)
        if (path / MARK).exists() and not _makes_room(path, cls.open(path).identity, kept):
            run = cls.open(path)
            _note_versions(path)
        else:
            _check_free(path)
            path.mkdir(parents=True, exist_ok=True)
            run = cls(path, kept)
            # The identity is written first: a run that is killed from here on is recognised and goes on.
            write_json(path / MARK, {"identity": kept, "hash": identity_hash(kept)})
        if not (path / CONFIG_FILE).exists():
            with atomic_write(path / CONFIG_FILE) as stream:
                stream.write(config_text.encode("utf-8"))
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
        held = read_json(Path(path) / MARK, "a run directory", "xlate train run=… makes one", fields)
        return cls(Path(path), held["identity"])

    @property
    def records(self) -> Records:
        """What was measured so far, `metrics.jsonl`."""
        return Records(self.path / RECORDS)

    @property
    def checkpoint(self) -> Path:
        """The folder for checkpoints, made when it is first asked for."""
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
        """Whether the summary says so."""
        summary = self.summary
        return summary is not None and summary.get("finished") is True

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Writes the final figures; `"finished": true` among them marks the run as finished."""
        write_json(self.path / "summary.json", dict(summary))


def _makes_room(path: Path, held: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Removes another run's first files if there is nothing else of it; false if the folder holds the run asked for."""
    differences = differing_keys(held, asked)
    if not differences:
        return False
    first = [entry for entry in path.iterdir() if _is_first(entry)]
    if _foreign([entry.name for entry in path.iterdir() if entry not in first]):
        raise AnotherRun(path, differences)
    log.info("%s: an attempt with other settings failed there before it learned anything; begun anew", path)
    # The identity goes last: a folder that has it is a run.
    for entry in sorted(first, key=lambda entry: entry.name == MARK):
        if entry.is_dir():
            entry.rmdir()
        else:
            entry.unlink()
    return True


def _is_first(entry: Path) -> bool:
    """Whether it is what a run begins with, and not yet what it has learned, or anything of somebody else."""
    if entry.name == CHECKPOINT:
        return entry.is_dir() and not any(entry.iterdir())
    if entry.name == RECORDS:
        return entry.stat().st_size == 0
    return entry.name in FIRST_FILES or entry.name.startswith(FIRST_BEGINNING)


def _check_free(path: Path) -> None:
    if not os.path.lexists(checked_name(path)):
        return
    check_is_folder(path, "a run")
    foreign = _foreign(sorted(entry.name for entry in path.iterdir()))
    if foreign:
        raise foreign_files(path, "a run", foreign, "name another folder with run=…", "this run")


def _foreign(names: Sequence[str]) -> list[str]:
    return [
        name
        for name in names
        if not name.startswith(".") and name not in HARMLESS_NAMES and not name.endswith(HARMLESS_ENDINGS)
    ]


def _note_versions(path: Path) -> None:
    stored = path / "versions.json"
    if stored.exists():
        before, now = read_json(stored, "the versions of a run", "remove it"), versions()
        for key, old, new in differing_keys(before, now):
            log.warning("%s goes on with another %s: %s, was %s", path, key, new, old)
