"""Rows of a paper's tables that repeat each other are trained once in a sweep."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.clusters import times
from tests.commands import succeed
from tests.report.examples import make_run
from tests.test_end_to_end import run, work  # noqa: F401
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import to_yaml
from xlate.jobs.train.train import take_from_sweep
from xlate.report.run_directory import RunDirectory
from xlate.scoring.weights import WEIGHTS_FILE, save_weights

ROW = "row: {{page: {page}, table: {table}, number: {number}, label: x, paper: ''}}\n"


def write_rows(folder: Path, page: Path) -> None:
    """Tables `one` and `two`: row 1 without training, row 2 on top of it."""
    folder.mkdir(parents=True)
    for table in ("one", "two"):
        for number, loss in ((1, "uniform"), (2, "mert")):
            text = f"# @package _global_\ndefaults:\n  - override /model: floats\n  - override /loss: {loss}\n"
            if number == 2:
                text += f"base: '{{sweep}}/experiment=paper/{table}-row1'\n"
                text += "loss: {tune: {rounds: 1, nbest: 5}}\n"
            text += f"decoder: {{beam: 5}}\n{ROW.format(page=page, table=table, number=number)}"
            (folder / f"{table}-row{number}.yaml").write_text(text)


def test_a_row_of_another_table_is_taken_with_all_that_it_has(
    work: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    write_rows(tmp_path / "mine" / "experiment" / "paper", tmp_path / "page.md")
    folder = tmp_path / "sweep"
    rows = "experiment=paper/one-row1,paper/one-row2,paper/two-row1,paper/two-row2"
    few = ["measure_test=true", "dev_sentences=5", "samples=0"]
    sweep = ["-m", rows, *few, f"work={work}", f"hydra.sweep.dir={folder}", "--config-dir", f"{tmp_path}/mine"]
    succeed("train", *sweep)

    def held(row: str, name: str) -> Any:
        return json.loads((folder / f"experiment=paper/{row}" / name).read_text())

    for number in (1, 2):
        ours, theirs = (held(f"{table}-row{number}", "summary.json") for table in ("two", "one"))
        assert ours.pop("taken_from") == f"{folder}/experiment=paper/one-row{number}"
        assert ours == theirs
        assert held(f"two-row{number}", "run.json")["identity"]["row"]["table"] == "two"
        files = {path.name for path in (folder / f"experiment=paper/two-row{number}").iterdir()}
        assert {"dev.out", "test.out", WEIGHTS_FILE} <= files
        assert ("metrics.jsonl" in files) == (number == 2)
    page = (tmp_path / "page.md").read_text()
    assert page.count("| 2 | x |") == 2
    before = times(folder, "**/summary.json")
    succeed("train", *sweep)
    assert times(folder, "**/summary.json") == before


@cache
def config(*given: str) -> TrainConfig:
    return load(TrainConfig, "train", ["work=w", "model=floats", "loss=uniform", *given])


def finished(folder: Path, identity: dict[str, Any], asked: TrainConfig, weight: float = 1.0) -> None:
    run = make_run(folder, identity, {"finished": True, "dev_bleu": 12.5})  # noqa: F811
    (run.path / "config.yaml").write_text(to_yaml(asked))
    save_weights(run.path / WEIGHTS_FILE, {}, extra={"a": np.array([weight])})


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        ({}, True),
        ({"row": {"table": "other"}}, True),
        ({"seed": 2}, False),
        ({"model": {"context": {"run": "same", "threshold": 0.1}}}, True),
        ({"model": {"context": {"run": "other", "threshold": 0.1}}}, False),
    ],
)
def test_only_the_row_and_the_names_of_predicting_runs_may_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], taken: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, weight in (("first", 1.0), ("same", 1.0), ("other", 2.0)):
        finished(Path(name), {"name": name}, config(), weight)
    identity = {"seed": 1, "row": {"table": "one"}, "model": {"context": {"run": "first", "threshold": 0.1}}}
    finished(Path("sweep/done"), identity, config())
    directory = RunDirectory.create("sweep/asked", "", {**identity, **change})
    assert take_from_sweep(directory, config(), Path("sweep")) == taken
    assert directory.finished == taken
    if taken:
        assert directory.summary == {"finished": True, "dev_bleu": 12.5, "taken_from": "sweep/done"}
        assert Path("sweep/asked", WEIGHTS_FILE).read_bytes() == Path("sweep/done", WEIGHTS_FILE).read_bytes()


def test_what_is_unfinished_or_lacks_a_measure_is_not_taken_and_what_has_begun_is_not_replaced(tmp_path: Path) -> None:
    make_run(tmp_path / "half", {"seed": 1}, None, [1.0])
    directory = RunDirectory.create(tmp_path / "asked", "", {"seed": 1})
    assert not take_from_sweep(directory, config(), tmp_path)
    finished(tmp_path / "done", {"seed": 1}, config("measures=[bleu]"))
    assert not take_from_sweep(directory, config("measures=[bleu,nist]"), tmp_path)
    directory.records.append("x", 1.0, 1)
    assert not take_from_sweep(directory, config("measures=[bleu]"), tmp_path)
