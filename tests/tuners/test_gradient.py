"""Tuning by gradients: finds what counts, stays at a minimum, leaves fixed weights alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tuners.test_mira import ALL, random_lists, start
from xlate.errors import InputError
from xlate.losses.expected_bleu import ExpectedBleu
from xlate.losses.loss import gains_for, loss_of
from xlate.losses.softmax_margin import SoftmaxMargin
from xlate.metrics.objective import BLEU
from xlate.scoring.weights import Weights
from xlate.tuners.gradient import descend
from xlate.tuners.settings import PenaltyConfig

EIGHTH = Weights(start().dense_D / 8, start().sparse_F / 8, start().dense_names)


def test_is_a_minimum_of_loss_and_penalty() -> None:
    """One place, wherever the descent begins."""
    lists, settings = random_lists(4, instances=20), PenaltyConfig(epochs=500, penalty=0.1, step_penalty=0.0)
    found = descend(lists, start(), SoftmaxMargin(), settings, BLEU, ALL)
    for seed in range(3):
        random = np.random.default_rng(seed)
        other = Weights(random.normal(size=3), random.normal(size=5), ("a", "b", "c"))
        again = descend(lists, other, SoftmaxMargin(), settings, BLEU, ALL)
        assert np.allclose(again.dense_D, found.dense_D, atol=1e-3)
        assert np.allclose(again.sparse_F, found.sparse_F, atol=1e-3)


def direction(weights: Weights) -> NDArray[np.float64]:
    together = np.concatenate([weights.dense_D, weights.sparse_F])
    return together / np.linalg.norm(together)


def test_a_penalty_on_the_step_keeps_the_weights_near_where_they_began() -> None:
    lists, begin, far = random_lists(4), start(), []
    for step_l2 in (1e-4, 1e-2, 1.0, 1e4):
        found = descend(lists, begin, ExpectedBleu(), PenaltyConfig(step_penalty=step_l2), BLEU, ALL)
        far.append(np.linalg.norm(direction(found) - direction(begin)))
    assert far == sorted(far, reverse=True)
    assert far[0] > 0.1
    assert far[-1] < 1e-3


def test_a_descent_with_a_step_penalty_begins_at_the_scale_that_suits_the_loss() -> None:
    """So weights that are an eighth of others lead to the same direction, which they do not without it."""
    found, again = (
        descend(random_lists(4), one, ExpectedBleu(), PenaltyConfig(step_penalty=1e-2), BLEU, ALL)
        for one in (start(), EIGHTH)
    )
    assert np.allclose(direction(found), direction(again), atol=1e-6)
    assert np.linalg.norm(again.dense_D) == pytest.approx(np.linalg.norm(found.dense_D) / 8)


def test_fixed_weights_stay_at_any_scale_and_count_in_no_penalty() -> None:
    trained, lists = np.array([True, False, True]), random_lists(4)
    for step_l2 in (0.0, 1e-2):
        settings = PenaltyConfig(step_penalty=step_l2)
        found = descend(lists, EIGHTH, ExpectedBleu(), settings, BLEU, trained)
        assert found.dense_D[1] == pytest.approx(EIGHTH.dense_D[1])
        assert not np.allclose(found.dense_D[[0, 2]], EIGHTH.dense_D[[0, 2]])
    # A float that is the same in every list changes no loss, whatever its weight.
    lists.dense_CD[:, 1] = 1.0
    weights = (replace(EIGHTH, dense_D=EIGHTH.dense_D * [1, 0, 1] + [0, large, 0]) for large in (0.0, 50.0))
    ends = [descend(lists, one, ExpectedBleu(), settings, BLEU, trained).dense_D[[0, 2]] for one in weights]
    assert np.allclose(*ends)


def test_losses_get_statistics_or_gains_or_the_best_of_each_list_as_truth() -> None:
    """Gains are half the statistics, which stand for themselves here."""
    values, offsets = np.array([0.2, 0.5, 0.5, 0.1, 0.0, 0.0]), np.array([0, 0, 3, 4, 4, 6, 6])
    names = ("expected_corpus_bleu", "hinge", "local_softmax")
    found = [gains_for(loss_of(name), values, offsets, lambda all_C: 0.5 * all_C).tolist() for name in names]
    assert found == [values.tolist(), (0.5 * values).tolist(), [0, 1, 0, 1, 1, 0]]


@pytest.mark.parametrize(("name", "words"), [("lattice_softmax", "over lattices"), ("one_vs_rest", "on its own")])
def test_a_loss_that_compares_no_candidates_is_refused(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        descend(random_lists(4), start(), loss_of(name), PenaltyConfig(step_penalty=0.0), BLEU, ALL)
