"""Lists whose parts are predicted: gradients by autograd and finite differences, steps, early stop, resuming."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.learning.test_list_learner import LOSSES, plain_settings, random_lists, steps_of
from tests.scoring.predicted_scorer import PredictedScorer
from xlate.array_types import Ints
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.lists import PredictedParts, list_pass, list_room, predicted_room, span_logs
from xlate.kernels.learning.slopes import Learned
from xlate.learning.list_learner import PredictedListLearner, loss_of_lists, rule_of_lists
from xlate.learning.ranks import ONE, Ranks
from xlate.learning.settings import ListsConfig

SIZE = 1 << 7
WEIGHT = 0.7


def spans_of(random: np.random.Generator, count: int) -> CandidateBatch:
    """Random spans of 1 to 5 candidates with 0 to 3 ids, in contexts of 0 to 4 features."""
    sizes, contexts = random.integers(1, 6, count), random.integers(0, 5, count)
    ids = random.integers(0, 4, int(sizes.sum()))
    return CandidateBatch(
        candidate_offsets_I1=offsets_of(sizes),
        dense_CD=np.zeros((len(ids), 0), np.float32),
        gain_CG=np.zeros((len(ids), 1), np.float32),
        part_id_offsets_P1=offsets_of(ids),
        part_ids_N=random.integers(0, 12, int(ids.sum())).astype(np.int32),
        base_C=random.normal(size=len(ids)).astype(np.float32),
        context_offsets_I1=offsets_of(contexts),
        contexts_X=random.integers(0, 12, int(contexts.sum())).astype(np.int32),
    ).validate()


def lists_of(seed: int, lists: int = 12, alone: bool = False) -> tuple[CandidateBatch, CandidateBatch, PredictedParts]:
    """Random lists with parts that are candidates of random spans of the list, and some that are none."""
    random, batch, gain_C = random_lists(seed, lists)
    parts_I, spans_I = np.diff(batch.part_offsets_I1), random.integers(0, 7, lists)
    spans, first_I1 = spans_of(random, int(spans_I.sum())), offsets_of(spans_I)
    choices = []
    for i, parts in enumerate(parts_I.tolist()):
        low, high = spans.candidate_offsets_I1[first_I1[i]], spans.candidate_offsets_I1[first_I1[i + 1]]
        drawn = random.integers(low, high, parts) if high > low else np.full(parts, -1)
        choices.append(np.where(random.random(parts) < 0.8, drawn, -1))
    choice_P = np.concatenate(choices)
    batch = replace(
        batch,
        gain_CG=gain_C[:, None],
        part_id_offsets_P1=np.zeros(len(choice_P) + 1, np.int64),
        part_ids_N=np.zeros(0, np.int32),
    ).validate()
    logs_C = span_logs(spans.arrays(), alone)
    start_P = np.append(logs_C, 0.0)[choice_P]
    return batch, spans, PredictedParts(spans.arrays(), first_I1, choice_P, start_P, WEIGHT, alone)


def stepped(
    order_I: Ints, batch: CandidateBatch, parts: PredictedParts, learned: Learned, settings: ListsConfig
) -> float:
    """One pass over some lists; their summed loss."""
    lists = batch.arrays(parts=True)
    room, predicted = list_room(lists, settings.batch), predicted_room(parts, SIZE)
    room.state[0] = settings.seed
    slope = loss_of_lists(settings).slope.pointer
    total = list_pass(order_I, lists, learned, steps_of(settings), room, slope, predicted)
    assert not predicted.gradient_F.any()
    return total


def one_step(batch: CandidateBatch, parts: PredictedParts, weights: Any, settings: ListsConfig) -> tuple[float, Any]:
    """The summed loss, and the weights after one step over all lists."""
    state = rule_of_lists(settings).learned(np.zeros(0), weights.astype(np.float32))
    total = stepped(np.arange(len(batch)), batch, parts, state, replace(settings, batch=len(batch)))
    return total, state.sparse_F


def by_autograd(
    batch: CandidateBatch, spans: CandidateBatch, parts: PredictedParts, weights: Any, settings: ListsConfig
) -> tuple[float, Any]:
    scorer = PredictedScorer(spans, parts, SIZE)
    with torch.no_grad():
        scorer.linear.bag.weight[:, 0] = torch.as_tensor(weights)
    gains, offsets = torch.as_tensor(batch.gain_CG[:, 0]).double(), torch.as_tensor(batch.candidate_offsets_I1)
    value = loss_of_lists(settings)(scorer(batch), gains, offsets)
    value.backward()
    assert scorer.linear.bag.weight.grad is not None
    return float(value.detach()), scorer.linear.bag.weight.grad[:, 0].numpy()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("alone", [False, True])
def test_slopes_are_those_of_the_module(name: str, alone: bool) -> None:
    batch, spans, parts = lists_of(3, alone=alone)
    weights = np.random.default_rng(4).normal(size=SIZE).astype(np.float32).astype(np.float64)
    settings = plain_settings(objective=name, gamma=2.0, margin=8.0, pairs=4, rate=1e3)
    expected, gradient = by_autograd(batch, spans, parts, weights, settings)
    loss, after = one_step(batch, parts, weights, settings)
    assert loss == pytest.approx(expected)
    assert (weights - after) / settings.rate * len(batch) == pytest.approx(gradient, abs=1e-5)
    assert np.abs(gradient).max() > 1e-3


def test_scores_are_as_they_were_as_long_as_nothing_is_learned() -> None:
    batch, spans, parts = lists_of(7)
    assert batch.base_C is not None
    assert PredictedScorer(spans, parts, SIZE)(batch).detach().numpy() == pytest.approx(batch.base_C, abs=1e-12)


def test_a_step_by_adagrad_is_made_of_the_whole_gradient() -> None:
    """The first step of every weight is the rate, whatever its gradient; sums of a weight's places decide its sign."""
    batch, spans, parts = lists_of(8)
    settings = plain_settings(adagrad=True, rate=0.25)
    _, gradient = by_autograd(batch, spans, parts, np.zeros(SIZE), settings)
    _, after = one_step(batch, parts, np.zeros(SIZE), settings)
    sure = np.abs(gradient) > 1e-4
    assert sure.sum() > 20
    assert after[sure] == pytest.approx(-0.25 * np.sign(gradient[sure]), rel=1e-2)
    assert after[np.abs(gradient) < 1e-14] == pytest.approx(0.0, abs=1e-6)


def test_the_last_batch_is_the_mean_of_the_lists_that_are_left() -> None:
    batch, _, parts = lists_of(3)
    settings = plain_settings(batch=5, rate=0.5)
    whole, apart = (rule_of_lists(settings).learned(np.zeros(0), np.zeros(SIZE, np.float32)) for _ in range(2))
    stepped(np.arange(12), batch, parts, whole, settings)
    for first, last in ((0, 5), (5, 10), (10, 12)):
        before = apart.sparse_F.copy()
        stepped(np.arange(first, last), batch, parts, apart, replace(settings, batch=last - first))
        assert (apart.sparse_F != before).any()
    np.testing.assert_array_equal(whole.sparse_F, apart.sparse_F)


def test_a_span_of_which_every_hypothesis_has_the_same_moves_nothing() -> None:
    batch, _, parts = lists_of(9)
    assert batch.candidate_part_offsets_C1 is not None
    assert batch.candidate_parts_K is not None
    same = replace(
        batch,
        candidate_part_offsets_C1=np.arange(batch.candidates + 1),
        candidate_parts_K=np.zeros(batch.candidates, np.int32),
    )
    _, after = one_step(same, parts, np.zeros(SIZE), plain_settings(adagrad=True))
    assert not after.any()


def learner(settings: ListsConfig, ranks: Ranks = ONE) -> PredictedListLearner:
    batch, _, parts = lists_of(10, lists=40)
    statistics = np.random.default_rng(1).integers(0, 9, (batch.candidates, 10))
    heldout_I = np.arange(40) % 4 == 3
    return PredictedListLearner(batch.arrays(parts=True), parts, statistics, heldout_I, SIZE, settings, ranks)


def test_it_learns_and_keeps_the_best_epoch() -> None:
    made = learner(plain_settings(epochs=12, tolerance=0.0, batch=4, adagrad=True, rate=0.03))
    figures = list(made.epochs())
    assert figures[-1].train_loss < figures[1].train_loss
    assert made.measure()[0] == min(one.heldout_loss for one in figures)
