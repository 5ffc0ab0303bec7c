"""Tuning by gradients: finds what counts, stays at a minimum, leaves fixed weights alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

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
    with pytest.raises(InputError):
        GradientSettings(step_l2=-1.0)


def direction(weights: Weights) -> NDArray[np.float64]:
    together = np.concatenate([weights.dense_D, weights.sparse_F])
    return together / np.linalg.norm(together)


def test_a_penalty_on_the_step_keeps_the_weights_near_where_they_began() -> None:
    lists, begin = random_lists(4), start()
    loss, far = ExpectedBleu(), []
    for step_l2 in (1e-4, 1e-2, 1.0, 1e4):
        found = descend(lists, begin, loss, GradientSettings(step_l2=step_l2))
        far.append(np.linalg.norm(direction(found.weights) - direction(begin)))
    assert far == sorted(far, reverse=True)
    assert far[0] > 0.1
    assert far[-1] < 1e-3


def test_a_descent_with_a_step_penalty_begins_at_the_scale_that_suits_the_loss() -> None:
    """So weights that are an eighth of others lead to the same direction."""
    lists, begin = random_lists(4), start()
    small = Weights(begin.dense_D / 8, begin.sparse_F / 8, begin.dense_names)
    settings = GradientSettings(step_l2=1e-2)
    found, again = (descend(lists, weights, ExpectedBleu(), settings) for weights in (begin, small))
    assert again.figures["scale"] == 8 * found.figures["scale"]
    assert np.allclose(direction(found.weights), direction(again.weights), atol=1e-6)
    assert found.figures["loss"] == pytest.approx(again.figures["loss"])


def test_fixed_weights_stay_at_any_scale_and_count_in_no_penalty() -> None:
    trained = np.array([True, False, True])
    begin = Weights(start().dense_D / 8, start().sparse_F / 8, start().dense_names)
    settings = GradientSettings(step_l2=1e-2, trained_D=trained)
    found = descend(random_lists(4), begin, ExpectedBleu(), settings)
    assert found.figures["scale"] > 1
    assert found.weights.dense_D[1] == pytest.approx(begin.dense_D[1])
    # A float that is the same in every list changes no loss, whatever its weight.
    lists = random_lists(4)
    lists.dense_CD[:, 1] = 1.0
    weights = (replace(begin, dense_D=np.array([begin.dense_D[0], large, begin.dense_D[2]])) for large in (0.0, 50.0))
    ends = [descend(lists, one, ExpectedBleu(), settings) for one in weights]
    assert ends[0].figures["scale"] == ends[1].figures["scale"]
    assert np.allclose(ends[0].weights.dense_D[[0, 2]], ends[1].weights.dense_D[[0, 2]])


def test_a_loss_over_true_candidates_takes_the_best_of_each_list() -> None:
    truth = best_as_truth(np.array([0.2, 0.5, 0.5, 0.1, 0.0, 0.0]), np.array([0, 0, 3, 4, 4, 6, 6]))
    assert truth.tolist() == [0, 1, 0, 1, 1, 0]
    assert best_as_truth(np.zeros(0), np.array([0, 0])).tolist() == []


def test_a_loss_over_lattices_is_refused() -> None:
    name = next(name for name, kind in losses().items() if kind.needs is Needs.LATTICE)
    with pytest.raises(InputError, match="lattices"):
        descend(random_lists(4), start(), loss_of(name), GradientSettings())
