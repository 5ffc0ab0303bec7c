"""Fixtures that run commands in this process, and what these say."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from xlate.cli.main import main

Capture = pytest.CaptureFixture[str]
# Runs the command of its arguments and returns what that says.
Said = Callable[..., str]


@pytest.fixture
def refused(capsys: Capture) -> Said:
    """A command that must be refused, with exit status 2; returns its standard error."""

    return partial(_said, capsys, 2, "err")


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


def summary_of(run: Path) -> dict[str, Any]:
    """The figures of a finished run."""
    figures: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return figures
