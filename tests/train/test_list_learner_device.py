"""Lists on a device: steps equal the compiled ones, every loss is learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.train.test_list_learner import LOSSES, F, random_lists
from xlate.train.list_learner import DeviceListLearner, ListLearner, ListSettings

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "pro"])
@pytest.mark.parametrize("gamma", [1.0, 3.0])
def test_a_step_over_all_lists_is_the_compiled_one(loss, gamma, device):
    rng, batch, gain_C = random_lists(2, lists=40)
    batch = replace(batch, dense_CD=rng.normal(size=(batch.candidates, 2)).astype(np.float32))
    lists, held = batch.arrays(gain_C, parts=True), np.arange(40) % 4 == 0
    settings = ListSettings(loss=loss, gamma=gamma, margin=2.0, batch=30, epochs=1, tolerance=0.0, dense_rate=0.05)
    statistics = rng.integers(1, 9, size=(batch.candidates, 10))
    start = rng.normal(size=2)
    ours = DeviceListLearner(lists, statistics, held, F, settings, start, torch.device(device))
    theirs = ListLearner(lists, statistics, held, F, settings, start)
    for one, other in zip(ours.epochs(), theirs.epochs(), strict=True):
        assert one.heldout_loss == pytest.approx(other.heldout_loss, abs=1e-5)
        assert one.heldout_bleu == pytest.approx(other.heldout_bleu)
    assert ours.weights.sparse_F == pytest.approx(theirs.weights.sparse_F, abs=1e-5)
    assert ours.weights.dense_D == pytest.approx(theirs.weights.dense_D, abs=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("adagrad", [True, False])
def test_lists_are_learned(adagrad, device):
    _, batch, gain_C = random_lists(6, lists=60)
    settings = ListSettings(batch=8, epochs=15, tolerance=0.0, adagrad=adagrad, rate=0.1)
    statistics, held = np.ones((batch.candidates, 10)), np.arange(60) % 5 == 0
    learner = DeviceListLearner(
        batch.arrays(gain_C, parts=True), statistics, held, F, settings, device=torch.device(device)
    )
    figures = list(learner.epochs())
    assert figures[-1].train_loss < figures[1].train_loss
    assert min(f.heldout_loss for f in figures) == pytest.approx(learner.measure()[0], abs=1e-6)
