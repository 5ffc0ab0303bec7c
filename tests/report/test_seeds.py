"""Runs of several seeds together."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from tests.report.examples import make_run
from xlate.report.runs import by_setting, collect_runs, of_common_seeds
from xlate.report.tables import sweep_table

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
