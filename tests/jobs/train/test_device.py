"""A training says at its start when it does not run on the device that was asked for, or that is there."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch

from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.jobs.train import train
from xlate.jobs.train.contexts import ContextListTraining, ContextTraining
from xlate.jobs.train.events import LocalTraining, Untrained
from xlate.jobs.train.lists import ListTraining
from xlate.jobs.train.recipe import Recipe
from xlate.jobs.train.rerank import RankTraining
from xlate.jobs.train.train import trained
from xlate.jobs.train.tuning import TunedTraining
from xlate.machine import StopFlag

LISTS = "model=phrase decoder=phrase loss=xbleu sparse=local"
TUNED = "model=phrase decoder=phrase loss=mira"
BATCHES = "; loss.batch=4096 would run mini-batches on the GPU"
NOT_THERE = "this training runs only on the CPU"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What is said before anything is learned."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(train, "conduct", lambda *_: None)
    return caplog


def begin(kind: type[Recipe], monkeypatch: pytest.MonkeyPatch, given: str, stop: StopFlag | None = None) -> None:
    method = object.__new__(kind)
    method.config = load(TrainConfig, "train", f"work=none {given}".split())
    monkeypatch.setattr(kind, "made_from", lambda _: {})
    monkeypatch.setattr(train, "_recipe", lambda _: lambda _: method)
    trained(method.config, Path("none"), stop)


@pytest.mark.parametrize(
    ("kind", "given", "line"),
    [
        (LocalTraining, "", NOT_THERE + BATCHES),
        (LocalTraining, "loss.batch=64", None),
        (LocalTraining, "model=floats loss=uniform", NOT_THERE),
        (ContextTraining, "model=context loss=local_softmax", NOT_THERE + BATCHES),
        (ContextTraining, "model=context loss=local_softmax loss.batch=64", None),
        (ListTraining, LISTS, None),
        (ContextListTraining, "model=context loss=xbleu", NOT_THERE),
        (RankTraining, "model=rerank loss=xbleu", NOT_THERE),
        (Untrained, "model=lcs model.context.run=none loss=uniform", NOT_THERE),
    ],
)
def test_a_gpu_that_is_not_used(
    kind: type[Recipe],
    given: str,
    line: str | None,
    said: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    begin(kind, monkeypatch, f"device=cuda {given}")
    assert said.messages == ([] if line is None else [f"device=cuda: {line}"])


def test_no_gpu_to_be_used(said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    begin(TunedTraining, monkeypatch, f"device=auto {TUNED}")
    begin(LocalTraining, monkeypatch, "device=cpu loss.batch=64")
    assert said.messages == []
    begin(LocalTraining, monkeypatch, "device=auto loss.batch=64")
    begin(ListTraining, monkeypatch, f"device=auto {LISTS}")
    told = "device=auto: no GPU that PyTorch can use, so "
    assert said.messages == [f"{told}mini-batches run on the CPU", f"{told}training on lists runs on the CPU"]
    # What is part of another training says nothing.
    begin(LocalTraining, monkeypatch, "device=auto loss.batch=64", StopFlag())
    assert len(said.messages) == 2
