"""Fixtures that run commands in this process, and what these say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from xlate.cli.main import main
from xlate.scoring.weights import WEIGHTS_FILE, Weights, load_weights
from xlate.text.lines import read_lines

Capture = pytest.CaptureFixture[str]
# Runs the command of its arguments and returns what that says.
Said = Callable[..., str]


@pytest.fixture
def refused(capsys: Capture) -> Said:
    """A command that must be refused, with exit status 2; returns its standard error."""

    return partial(_said, capsys, 2, "err")


@pytest.fixture
def refused_training(refused: Said, tmp_path: Path) -> Said:
    """A training, given its work directory and settings, that must be refused and leave no run behind."""

    def train(work: Path, *settings: str) -> str:
        said = refused("train", f"work={work}", f"run={tmp_path / 'refused'}", *settings)
        assert not (tmp_path / "refused").exists()
        return said

    return train


@pytest.fixture
def printed(capsys: Capture) -> Said:
    """A command that must succeed; returns its standard output."""

    return partial(_said, capsys, 0, "out")


@pytest.fixture
def remarked(capsys: Capture) -> Said:
    """A command that must succeed; returns its standard error."""

    return partial(_said, capsys, 0, "err")


def _said(capsys: Capture, status: int, stream: str, *arguments: str) -> str:
    capsys.readouterr()
    assert main(arguments) == status
    return str(getattr(capsys.readouterr(), stream))


def succeed(*arguments: str) -> None:
    """Runs a command that must succeed."""
    assert main(arguments) == 0


def translations(run: Path, folder: Path, lines: Iterable[str], *more: str) -> list[str]:
    """The translations of lines, through files in a folder."""
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    succeed("translate", f"run={run}", f"input={folder / 'in.txt'}", f"output={folder / 'out.txt'}", *more)
    return read_lines(folder / "out.txt")


def summary_of(run: Path) -> dict[str, Any]:
    """The figures of a finished run."""
    figures: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return figures


def times_of(paths: Iterable[Path]) -> dict[Path, int]:
    """When files were changed last."""
    return {path: path.stat().st_mtime_ns for path in paths}


def sets_of(run: Path) -> dict[str, Weights]:
    """The weights of a finished run, by the names of their sets."""
    return load_weights(run / WEIGHTS_FILE).sets


def events_of(run: Path) -> bytes:
    """All that a run wrote for TensorBoard."""
    return b"".join(path.read_bytes() for path in run.glob("events.out.tfevents.*"))


def bits_of(run: Path) -> bytes:
    """The file of the weights of a finished run."""
    return (run / WEIGHTS_FILE).read_bytes()
