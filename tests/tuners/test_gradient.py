"""Tuning by gradients: finds what counts, stays at a minimum, leaves fixed weights alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tuners.test_mira import random_lists, start
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.losses.expected_bleu import ExpectedBleu
from xlate.losses.loss import Needs, best_as_truth, loss_of, losses
from xlate.losses.softmax_margin import SoftmaxMargin
from xlate.metrics.bleu import bleu_scores
from xlate.scoring.weights import Weights
from xlate.tuners.gradient import GradientSettings, descend

NAMES = [name for name, kind in losses().items() if kind.needs is not Needs.LATTICE and not kind.judges_each]


def telling_lists() -> CandidateBatch:
    """Lists whose second float says how good a hypothesis is, on a scale a hundred times that of the others."""
    random = np.random.default_rng(3)
    quality = random.integers(1, 10, (40, 8))
    dense = random.normal(size=(40, 8, 3)).astype(np.float32)
    dense[..., 1] = 100 * (dense[..., 1] + quality)
    tens = np.full((40, 8, 1), 10)
    gain = np.concatenate([tens, tens, *[quality[..., None]] * 4, *[tens] * 4], -1).reshape(320, 10)
    nothing, offsets = np.zeros(0, np.int32), np.zeros(321, np.int64)
    return CandidateBatch(np.arange(41) * 8, dense.reshape(320, 3), gain.astype(np.float32), offsets, nothing)


@pytest.mark.parametrize("name", sorted({*NAMES} - {"perceptron"}))
def test_every_loss_over_candidates_finds_the_feature_that_counts(name: str) -> None:
    """But the perceptron: without a margin and without weights nothing is missing."""
    lists = telling_lists()
    begin = Weights(np.array([1.0, -0.001, 1.0]), np.zeros(0), ("a", "b", "c"))
    found = descend(lists, begin, loss_of(name, margin=2.0), GradientSettings())
    effect = found.weights.dense_D * np.array([1.0, 100.0, 1.0])
    assert effect[1] > 1.5 * abs(effect[[0, 2]]).max()
    best = float(bleu_scores(lists.gain_CG.reshape(40, 8, 10).max(axis=1).sum(axis=0)[None])[0])
    assert found.score > 0.9 * best


def test_is_a_minimum_of_loss_and_penalty() -> None:
    lists = random_lists(4, instances=20)
    settings = GradientSettings(epochs=500, l2=0.1)
    found = descend(lists, start(), SoftmaxMargin(), settings)
    for seed in range(5):
        random = np.random.default_rng(seed)
        other = Weights(random.normal(size=3), random.normal(size=5), ("a", "b", "c"))
        again = descend(lists, other, SoftmaxMargin(), settings)
        assert again.figures["loss"] == pytest.approx(found.figures["loss"], rel=1e-6)
        assert np.allclose(again.weights.dense_D, found.weights.dense_D, atol=1e-3)


def test_fixed_weights_stay() -> None:
    trained = np.array([True, False, True])
    found = descend(random_lists(4), start(), ExpectedBleu(), GradientSettings(trained_D=trained))
    assert found.weights.dense_D[1] == pytest.approx(start().dense_D[1])
    assert not np.allclose(found.weights.dense_D[[0, 2]], start().dense_D[[0, 2]])


def test_settings_are_checked() -> None:
    with pytest.raises(InputError):
        GradientSettings(epochs=0)


def test_a_loss_over_true_candidates_takes_the_best_of_each_list() -> None:
    truth = best_as_truth(np.array([0.2, 0.5, 0.5, 0.1, 0.0, 0.0]), np.array([0, 0, 3, 4, 4, 6, 6]))
    assert truth.tolist() == [0, 1, 0, 1, 1, 0]
    assert best_as_truth(np.zeros(0), np.array([0, 0])).tolist() == []


def test_a_loss_over_lattices_is_refused() -> None:
    name = next(name for name, kind in losses().items() if kind.needs is Needs.LATTICE)
    with pytest.raises(InputError, match="lattices"):
        descend(random_lists(4), start(), loss_of(name), GradientSettings())
