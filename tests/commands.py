"""Fixtures that run commands in this process, and what these say."""

from __future__ import annotations

import json
from collections.abc import Callable
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

    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert main(arguments) == 2
        return capsys.readouterr().err

    return run


@pytest.fixture
def printed(capsys: Capture) -> Said:
    """A command that must succeed; returns its standard output."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        succeed(*arguments)
        return capsys.readouterr().out

    return run


@pytest.fixture
def remarked(capsys: Capture) -> Said:
    """A command that must succeed; returns its standard error."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        succeed(*arguments)
        return capsys.readouterr().err

    return run


def succeed(*arguments: str) -> None:
    """Runs a command that must succeed."""
    assert main(arguments) == 0


def summary_of(run: Path) -> dict[str, Any]:
    """The figures of a finished run."""
    figures: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return figures
