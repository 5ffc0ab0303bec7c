"""Runs of several seeds together."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from tests.report.examples import make_run
from xlate.cli.main import main
from xlate.report.runs import collect_runs
from xlate.report.seeds import seeds_table

BLEU = {("mira", 1): 40.5, ("mira", 2): 40.7, ("mira", 3): 40.8, ("mert", 1): 40.0, ("mert", 2): 41.0}


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    for (loss, seed), bleu in BLEU.items():
        figures = {"finished": True, "test_bleu": bleu, "seconds": 1.0}
        make_run(tmp_path / f"{loss}-{seed}", {"loss": {"name": loss}, "seed": seed}, figures)
    make_run(tmp_path / "mert-3", {"loss": {"name": "mert"}, "seed": 3})
    make_run(tmp_path / "pro-1", {"loss": {"name": "pro"}, "seed": 1}, {"finished": True, "test_bleu": 39.0})
    return tmp_path


def test_means_and_spread_of_each_setting(sweep: Path) -> None:
    table = seeds_table(collect_runs([sweep]))
    assert table is not None
    columns = {column.title: list(column.values) for column in table.columns}
    assert columns["loss.name"] == ["mert", "mira", "pro"]
    assert columns["seeds"] == [2, 3, 1]
    assert columns["test BLEU, mean"] == pytest.approx([40.5, 40.0 + 2 / 3, 39.0])
    assert columns["test BLEU, deviation"][:2] == pytest.approx(
        [statistics.stdev([40.0, 41.0]), statistics.stdev([40.5, 40.7, 40.8])]
    )
    assert columns["test BLEU, deviation"][2] is None
    assert columns["test BLEU, least"] == [40.0, 40.5, 39.0]
    assert columns["test BLEU, most"] == [41.0, 40.8, 39.0]
    assert not any("seconds" in title for title in columns)
    # Only of means is one better than another.
    assert {column.title: column.best for column in table.columns if column.best} == {"test BLEU, mean": {1}}


def test_without_seeds_to_compare_there_is_no_table(tmp_path: Path) -> None:
    for eta in (1, 2):
        make_run(tmp_path / str(eta), {"loss": {"eta": eta}, "seed": eta}, {"finished": True, "test_bleu": 1.0})
    assert seeds_table(collect_runs([tmp_path])) is None


def test_report_writes_it(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(sweep), "plots=false"]) == 0
    assert "over seeds" in capsys.readouterr().out
    assert "| mira | 3 |" in (sweep / "report-seeds.md").read_text()
    assert (sweep / "report-seeds.tsv").read_text().count("\n") == 4
