"""What a report says that someone chose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.examples import make_run
from xlate.cli.main import main
from xlate.config.identity import identity_of_training
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import to_yaml
from xlate.jobs.report import chosen_settings


def trained(folder: Path, *given: str) -> None:
    """A run of the phrase model with its configuration, as if it were trained."""
    config = load(TrainConfig, "train", ["work=w", "model=phrase", *given])
    run = make_run(folder, identity_of_training(config), {"finished": True, "dev_bleu": 30.0})
    (run.path / "config.yaml").write_text(to_yaml(config), encoding="utf-8")


def test_chosen_settings_are_those_that_are_no_defaults(tmp_path: Path) -> None:
    trained(tmp_path / "a", "sparse=local", "loss=xbleu", "base=runs/b")
    chosen = chosen_settings(tmp_path / "a")
    assert chosen["base"] == "runs/b"
    assert chosen["model.sparse.words"] == ["top80", "class20", "class50", "class80"]
    assert not {"model.sparse.class_seed", "loss.lists.l1"} & set(chosen)
    make_run(tmp_path / "without")
    assert chosen_settings(tmp_path / "without") == {}


def test_the_base_and_the_features_of_one_run_alone_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained(tmp_path / "phrase", "loss=mira")
    trained(tmp_path / "sparse", "sparse=all", "loss=xbleu", "base=runs/b")
    assert main(["report", str(tmp_path), "html=false", "plots=false"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "model.sparse.words=all, top80" in told
    assert "base=runs/b" in told
