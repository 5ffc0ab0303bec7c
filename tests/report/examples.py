"""Runs made up for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from xlate.report.run_directory import RunDirectory


def make_run(
    path: Path,
    identity: Mapping[str, Any] | None = None,
    summary: Mapping[str, Any] | None = None,
    curve: Sequence[float] = (),
) -> RunDirectory:
    """A run on disk with settings, final figures and a curve of P and of the training loss.

    It is not asked for its commit, since starting git takes longer than all else.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xlate.report.run_directory.git_commit", lambda _: {})
        run = RunDirectory.create(path, "", identity or {"seed": 1})
    for epoch, value in enumerate(curve, start=1):
        run.records.append("train/loss/floats", value * 2, epoch * 1000)
        run.records.append("valid/P/floats", value, epoch * 1000)
    if summary is not None:
        run.write_summary(summary)
    return run
