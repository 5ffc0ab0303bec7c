"""What xlate train does before it trains."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from xlate.cli.train import run as train_without_hydra
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.train.run import Outcome


@pytest.mark.parametrize(("given", "made"), [([], True), (["base=runs/x"], False), (["work=work/mine"], False)])
def test_the_demo_corpus_is_not_made_unsaid(
    given: list[str], made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    prepared, trained = [], []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xlate.jobs.prepare.prepare", lambda config: prepared.append(config.work))
    monkeypatch.setattr("xlate.jobs.train.train.check_training", lambda config: None)
    monkeypatch.setattr(
        "xlate.jobs.train.train.train", lambda config, *_: trained.append(config.work) or Outcome(summary={})
    )
    with caplog.at_level(logging.INFO, "xlate"):
        train_without_hydra(load(TrainConfig, "train", given))
    said = "no work=FOLDER is given: work/demo is made first, from the small corpus that xlate makes up"
    assert (prepared, said in caplog.messages) == (["work/demo"] if made else [], made)
    assert len(trained) == 1
