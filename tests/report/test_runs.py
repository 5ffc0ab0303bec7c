"""Runs found on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.examples import make_run
from xlate.errors import InputError
from xlate.report.runs import collect_runs, differing_settings


def test_runs_are_found_at_any_depth_once_and_in_natural_order(tmp_path: Path) -> None:
    for name in ("sweep/row10", "sweep/row2", "single", "sweep/row2/checkpoint/odd"):
        make_run(tmp_path / name)
    found = collect_runs([tmp_path, tmp_path / "sweep" / "row2"])
    assert [run.name for run in found] == ["single", "sweep/row2", "sweep/row10"]
    assert [run.name for run in collect_runs([tmp_path / "single"])] == ["single"]


def test_folders_without_runs_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no runs here"):
        collect_runs([tmp_path])
    with pytest.raises(InputError, match="no such folder"):
        collect_runs([tmp_path / "nowhere"])


def test_settings_that_differ(tmp_path: Path) -> None:
    make_run(tmp_path / "a", {"loss": {"eta": 0.1}, "seed": 1, "work": "w", "work_identity": "1"})
    make_run(
        tmp_path / "b",
        {"loss": {"eta": 0.2, "decay": 0.5, "average": None}, "seed": 1, "work": "w", "work_identity": "2"},
    )
    assert differing_settings(collect_runs([tmp_path])) == ["loss.eta", "loss.decay"]
    assert differing_settings(collect_runs([tmp_path / "a"])) == []


def test_figures_and_last_values(tmp_path: Path) -> None:
    make_run(tmp_path / "a", summary={"P": 0.25, "finished": True, "dev_bleu": None, "work": "w"}, curve=[0.5, 0.4])
    run = collect_runs([tmp_path])[0]
    assert run.finished
    make_run(tmp_path / "stopped", summary={"finished": False})
    make_run(tmp_path / "begun")
    assert [(run.name, run.finished) for run in collect_runs([tmp_path])] == [
        ("a", True), ("begun", False), ("stopped", False),
    ]  # fmt: skip
    assert run.figure("P") == 0.25
    assert [run.figure(name) for name in ("finished", "dev_bleu", "work", "absent")] == [None] * 4
    assert run.last("valid/P") == 0.4
    assert run.last("valid") == 0.4
    assert run.last("val") is None
