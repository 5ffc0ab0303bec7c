"""Names tell settings and runs apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.examples import make_run
from xlate.report.runs import by_setting, collect_runs


@pytest.mark.parametrize(
    ("names", "common"),
    [
        (["loss=a,seed=1/r", "loss=a,seed=2/r"], "r"),
        (["x,seed=1", "x,seed=2"], "x"),
        (["seed2/t/row1", "t/row1"], "row1"),
        (["one", "second"], "one"),
        (["1", "2"], "1"),
    ],
)
def test_names_of_settings(tmp_path: Path, names: list[str], common: str) -> None:
    for seed, name in enumerate(names):
        make_run(tmp_path / name, {"seed": seed})
    assert [setting.name for setting in by_setting(collect_runs([tmp_path]))] == [common]


def test_sweeps_over_seeds_are_named_by_their_folders(tmp_path: Path) -> None:
    for name in ("block", "sparse"):
        for seed in (1, 2):
            make_run(tmp_path / name / f"seed={seed}", {"seed": seed, "model": name})
    found = by_setting(collect_runs([tmp_path / "sparse", tmp_path / "block"]))
    assert {setting.name: [run.name for run in setting.runs] for setting in found} == {
        name: [f"{name}/seed={seed}" for seed in (1, 2)] for name in ("block", "sparse")
    }
    assert [setting.name for setting in by_setting(collect_runs([tmp_path / "sparse"]))] == ["sparse"]
    alone = by_setting(collect_runs([tmp_path / "block" / "seed=1", tmp_path / "sparse" / "seed=2"]))
    assert [setting.name for setting in alone] == ["block/seed=1", "sparse/seed=2"]


def test_jobs_of_one_name_are_told_apart_by_as_many_folders_as_needed(tmp_path: Path) -> None:
    for folder in ("x/sweep", "y/sweep"):
        for eta in (1, 2):
            for seed in (1, 2):
                settings = {"seed": seed, "eta": eta, "model": folder}
                make_run(tmp_path / folder / f"eta={eta},seed={seed}", settings)
    make_run(tmp_path / "x" / "sweep" / "other", {"seed": 1, "eta": 3, "model": "x"})
    found = by_setting(collect_runs([tmp_path / "x" / "sweep", tmp_path / "y" / "sweep"]))
    assert [setting.name for setting in found] == [
        "x/sweep/eta=1", "y/sweep/eta=1", "x/sweep/eta=2", "y/sweep/eta=2", "other"
    ]  # fmt: skip


def test_runs_that_no_folder_tells_apart_are_named_by_their_first(tmp_path: Path) -> None:
    for number in range(1, 5):
        make_run(tmp_path / f"r{number}", {"seed": number % 2})
    assert [setting.name for setting in by_setting(collect_runs([tmp_path]))] == ["r2", "r4"]
