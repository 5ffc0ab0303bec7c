"""PRO: which pairs are kept, and what the classifier must find."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.tuners.test_gradient import telling_lists
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.jobs.train.tuning import optimiser
from xlate.losses.pro import PairwiseLogistic
from xlate.scoring.weights import Weights
from xlate.tuners.gradient import GradientSettings, ProSettings, pro, sampled_pairs


def test_pairs_are_the_widest_of_those_drawn() -> None:
    random = np.random.default_rng(1)
    gain, offsets = random.random(30), np.array([0, 10, 10, 11, 30])
    settings = ProSettings(samples=400, kept=5, least=0.3)
    better, worse = sampled_pairs(gain, offsets, settings, np.random.default_rng(7))
    again = np.random.default_rng(7)
    expected = []
    for first, last in ((0, 10), (11, 30)):
        drawn = again.integers(first, last, (2, 400)).T.tolist()
        pairs = [(a, b) if gain[a] >= gain[b] else (b, a) for a, b in drawn]
        wide = [pair for pair in pairs if gain[pair[0]] - gain[pair[1]] >= 0.3]
        expected += sorted(wide, key=lambda pair: -(gain[pair[0]] - gain[pair[1]]))[:5]
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == expected


def test_gradient_of_the_pairwise_loss() -> None:
    scores = torch.randn(6, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    loss = PairwiseLogistic(torch.tensor([0, 2, 2, 5]), torch.tensor([1, 1, 4, 3]))
    nothing = torch.zeros(6)
    assert torch.autograd.gradcheck(lambda s: loss(s, nothing, torch.tensor([0, 6])), (scores,))
    value = loss(torch.tensor([1.0, 3.0, 0, 0, 0, 0], dtype=torch.float64), nothing, nothing)
    assert float(value) == pytest.approx(np.log1p(np.exp(2)) + np.log1p(np.exp(3)) + 2 * np.log(2))


def test_pro_finds_the_feature_that_counts() -> None:
    lists = telling_lists()
    begin = Weights(np.array([1.0, -0.001, 1.0]), np.zeros(0), ("a", "b", "c"))
    found = pro(lists, begin, ProSettings(), 1)
    effect = found.weights.dense_D * np.array([1.0, 100.0, 1.0])
    assert effect[1] > 1.5 * abs(effect[[0, 2]]).max()
    assert np.array_equal(found.weights.dense_D, pro(lists, begin, ProSettings(), 1).weights.dense_D)
    assert not np.array_equal(found.weights.dense_D, pro(lists, begin, ProSettings(), 2).weights.dense_D)
    half = pro(lists, begin, ProSettings(share=0.5), 1).weights.dense_D
    old = begin.dense_D / np.abs(begin.dense_D).sum()
    assert np.allclose(half, 0.5 * found.weights.dense_D + 0.5 * old)


def test_fixed_weights_stay() -> None:
    begin = Weights(np.array([1.0, -0.001, 5.0]), np.zeros(0), ("a", "b", "c"))
    only = GradientSettings(trained_D=np.array([True, True, False]))
    found = pro(telling_lists(), begin, ProSettings(share=0.5, regression=only), 1)
    assert found.weights.dense_D[2] == 5.0
    assert found.weights.dense_D[1] > 0


def test_without_pairs_nothing_moves() -> None:
    begin = Weights(np.array([1.0, -0.001, 1.0]), np.zeros(0), ("a", "b", "c"))
    assert pro(telling_lists(), begin, ProSettings(least=2.0), 1).weights is begin


def test_settings_are_checked() -> None:
    for wrong in ({"share": 0.0}, {"least": 0.0}, {"kept": 0}):
        with pytest.raises(InputError):
            ProSettings(**wrong)  # type: ignore[arg-type]


def test_a_configuration_names_the_pairs() -> None:
    tune = load(TrainConfig, "train", ["loss=pro", "model=phrase", "decoder=phrase", "work=''"]).loss.tune
    assert tune is not None
    begin = Weights(np.array([1.0, -0.001, 1.0]), np.zeros(0), ("a", "b", "c"))
    every = np.ones(3, dtype=bool)
    changes: list[dict[str, float]] = [{}, {"share": 0.5}, {"kept": 1, "samples": 9}, {"least": 0.9}]
    new, half, few, none = (
        optimiser(replace(tune, **changed), every)(telling_lists(), begin, 1).dense_D  # type: ignore[arg-type]
        for changed in changes
    )
    old = begin.dense_D / np.abs(begin.dense_D).sum()
    assert half == pytest.approx((new + old) / np.abs(new + old).sum(), abs=1e-9)
    assert not np.allclose(new, few)
    assert none == pytest.approx(old)
