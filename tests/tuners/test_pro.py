"""PRO: which pairs are kept, and what the classifier must find."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.tuners.test_mira import ALL, telling_lists
from xlate.losses.pro import PairwiseLogistic
from xlate.metrics.objective import BLEU
from xlate.scoring.weights import Weights
from xlate.tuners.gradient import pro, sampled_pairs
from xlate.tuners.settings import ProConfig

LISTS, _ = telling_lists(100.0)
BEGIN = Weights(np.array([1.0, -0.001, 1.0]), np.zeros(0), ("a", "b", "c"))
OLD_D = BEGIN.dense_D / np.abs(BEGIN.dense_D).sum()


def test_pairs_are_the_widest_of_those_drawn() -> None:
    random = np.random.default_rng(1)
    gain, offsets = random.random(30), np.array([0, 10, 10, 11, 30])
    settings = ProConfig(samples=400, kept=5, least=0.3)
    better, worse = sampled_pairs(gain, offsets, settings, np.random.default_rng(7))
    again = np.random.default_rng(7)
    expected = []
    for first, last in ((0, 10), (11, 30)):
        drawn = again.integers(first, last, (2, 400)).T.tolist()
        pairs = [(a, b) if gain[a] >= gain[b] else (b, a) for a, b in drawn]
        wide = [pair for pair in pairs if gain[pair[0]] - gain[pair[1]] >= 0.3]
        expected += sorted(wide, key=lambda pair: -(gain[pair[0]] - gain[pair[1]]))[:5]
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == expected


def test_the_pairwise_loss() -> None:
    loss = PairwiseLogistic(torch.tensor([0, 2, 2, 5]), torch.tensor([1, 1, 4, 3]))
    nothing = torch.zeros(6)
    value = loss(torch.tensor([1.0, 3.0, 0, 0, 0, 0], dtype=torch.float64), nothing, nothing)
    assert float(value) == pytest.approx(np.log1p(np.exp(2)) + np.log1p(np.exp(3)) + 2 * np.log(2))


def test_pro_finds_the_feature_that_counts() -> None:
    first, again, other, half = (
        pro(LISTS, BEGIN, ProConfig(share=share), seed, BLEU, ALL).dense_D
        for share, seed in ((1.0, 1), (1.0, 1), (1.0, 2), (0.5, 1))
    )
    effect = first * np.array([1.0, 100.0, 1.0])
    assert effect[1] > 1.5 * abs(effect[[0, 2]]).max()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.allclose(half, 0.5 * first + 0.5 * OLD_D)


def test_fixed_weights_stay() -> None:
    begin = Weights(np.array([1.0, -0.001, 5.0]), np.zeros(0), ("a", "b", "c"))
    found = pro(LISTS, begin, ProConfig(share=0.5), 1, BLEU, np.array([True, True, False]))
    assert found.dense_D[2] == 5.0
    assert found.dense_D[1] > 0


def test_without_pairs_nothing_moves() -> None:
    assert pro(LISTS, BEGIN, ProConfig(least=2.0), 1, BLEU, ALL) is BEGIN
