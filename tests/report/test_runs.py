"""Runs are found on disk, named apart, and those that differ only in their seed are one setting."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from tests.report.examples import make_run
from xlate.errors import InputError
from xlate.report.runs import by_setting, collect_runs, of_common_seeds, settings_besides_seed
from xlate.report.tables import sweep_table


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
    assert settings_besides_seed(collect_runs([tmp_path])) == ["loss.eta", "loss.decay"]
    assert settings_besides_seed(collect_runs([tmp_path / "a"])) == []


def test_figures_and_last_values(tmp_path: Path) -> None:
    make_run(tmp_path / "a", summary={"P": 0.25, "finished": True, "dev_bleu": None, "work": "w"}, curve=[0.5, 0.4])
    run = collect_runs([tmp_path])[0]
    assert run.finished
    make_run(tmp_path / "begun")
    assert [run.finished for run in collect_runs([tmp_path])] == [True, False]
    assert run.figure("P") == 0.25
    assert [run.figure(name) for name in ("finished", "dev_bleu", "work", "absent")] == [None] * 4
    assert run.last("valid/P") == 0.4
    assert run.last("valid") == 0.4
    assert run.last("val") is None


SEEDS = {f"{model}/seed={seed}": (model, seed) for model in ("block", "sparse") for seed in (1, 2)}
JOBS = {
    f"{model}/sweep/eta={eta},seed={seed}": (f"{model}{eta}", seed)
    for model in "xy"
    for eta in (1, 2)
    for seed in (1, 2)
}


@pytest.mark.parametrize(
    ("runs", "asked", "names"),
    [
        ({"loss=a,seed=1/r": ("m", 1), "loss=a,seed=2/r": ("m", 2)}, ["."], ["r"]),
        ({"seed2/t/row1": ("m", 1), "t/row1": ("m", 2)}, ["."], ["row1"]),
        ({"one": ("m", 1), "second": ("m", 2)}, ["."], ["one"]),
        ({"1": ("m", 1), "2": ("m", 2)}, ["."], ["1"]),
        # Sweeps over seeds are named by their folders.
        (SEEDS, ["sparse", "block"], ["sparse", "block"]),
        (SEEDS, ["sparse"], ["sparse"]),
        (SEEDS, ["block/seed=1", "sparse/seed=2"], ["block/seed=1", "sparse/seed=2"]),
        # Jobs of one name are told apart by as many folders as needed.
        (
            {**JOBS, "x/sweep/other": ("z", 1)},
            ["x/sweep", "y/sweep"],
            ["x/sweep/eta=1", "y/sweep/eta=1", "x/sweep/eta=2", "y/sweep/eta=2", "other"],
        ),
        # Runs that no folder tells apart are named by their first.
        ({f"r{number}": ("m", number % 2) for number in range(1, 5)}, ["."], ["r2", "r4"]),
    ],
)
def test_names_of_settings(
    tmp_path: Path, runs: dict[str, tuple[str, int]], asked: list[str], names: list[str]
) -> None:
    for name, (model, seed) in runs.items():
        make_run(tmp_path / name, {"model": model, "seed": seed})
    found = by_setting(collect_runs([tmp_path / folder for folder in asked]))
    assert [setting.name for setting in found] == names


BLEU = {("mira", 1): 40.5, ("mira", 2): 40.7, ("mira", 3): 40.8, ("mert", 1): 40.0, ("mert", 2): 41.0}


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    for (loss, seed), bleu in BLEU.items():
        figures = {"finished": True, "test_bleu": bleu, "seconds": 1.0}
        make_run(tmp_path / f"{loss}-{seed}", {"loss": {"name": loss}, "seed": seed}, figures)
    make_run(tmp_path / "mert-3", {"loss": {"name": "mert"}, "seed": 3})
    make_run(tmp_path / "pro-1", {"loss": {"name": "pro"}, "seed": 1}, {"finished": True, "test_bleu": 39.0})
    return tmp_path


def test_seeds_of_a_setting_are_one_row_best_first(sweep: Path) -> None:
    found = sweep_table(collect_runs([sweep]))
    columns = {column.title: column for column in found.table.columns}
    assert list(columns) == ["run", "loss.name", "seeds", "test BLEU", "seconds", "state"]
    assert columns["run"].values == ["mira", "mert", "pro-1"]
    assert columns["seeds"].values == [3, 3, 1]
    assert columns["test BLEU"].values == pytest.approx([40.0 + 2 / 3, 40.5, 39.0])
    assert columns["test BLEU"].intervals == [
        pytest.approx(statistics.stdev([40.5, 40.7, 40.8])), pytest.approx(statistics.stdev([40.0, 41.0])), None
    ]  # fmt: skip
    assert columns["test BLEU"].best == {0}
    assert columns["seconds"].intervals is None
    assert columns["state"].values == ["finished", "2 of 3 finished", "finished"]
    assert found.around == "± is the standard deviation over seeds"


def test_what_is_no_replica_is_another_row(tmp_path: Path) -> None:
    for name, seed, base in (("a1", 1, "x"), ("a2", 2, "y"), ("copy", 1, "x")):
        figures = {"finished": True, "test_bleu": 30.0}
        make_run(tmp_path / name, {"loss": {"eta": 1}, "seed": seed, "base": {"weights": base}}, figures)
    make_run(tmp_path / "other", {"loss": {"eta": 2}, "seed": 1, "base": None}, {"finished": True, "test_bleu": 1.0})
    found = by_setting(collect_runs([tmp_path]))
    assert [(setting.name, [run.name for run in setting.runs]) for setting in found] == [
        ("a", ["a1", "a2"]), ("copy", ["copy"]), ("other", ["other"])
    ]  # fmt: skip


def test_common_seeds_can_be_paired(sweep: Path) -> None:
    mert, mira, pro = (setting.runs for setting in by_setting(collect_runs([sweep])))
    ours, theirs = of_common_seeds(mert[1:], mira[:2])
    assert [run.name for run in (*ours, *theirs)] == ["mert-2", "mira-2"]
    ours, theirs = of_common_seeds(mira, pro)
    assert (len(ours), len(theirs)) == (3, 1)
