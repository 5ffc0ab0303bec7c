"""Lists whose parts are predicted: gradients by autograd and finite differences, steps, early stop, resuming."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.learning.small_training import random_contexts
from tests.learning.test_list_learner import LOSSES, plain_settings, random_lists, steps_of
from tests.scoring.predicted_scorer import PredictedScorer
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.lists import PredictedParts, list_pass, list_room, predicted_room, span_logs
from xlate.learning.list_learner import PredictedListLearner, loss_of_lists, rule_of_lists
from xlate.learning.ranks import ONE, Ranks
from xlate.learning.settings import ListsConfig

SIZE = 1 << 7
WEIGHT = 0.7


def lists_of(seed: int, lists: int = 12, alone: bool = False) -> tuple[CandidateBatch, CandidateBatch, PredictedParts]:
    """Random lists with parts that are candidates of random spans of the list, and some that are none."""
    random, batch, gain_C = random_lists(seed, lists)
    parts_I, spans_I = np.diff(batch.part_offsets_I1), random.integers(0, 7, lists)
    count, first_I1 = int(spans_I.sum()), offsets_of(spans_I)
    spans = random_contexts(random, random.integers(1, 6, count), random.integers(0, 5, count), 0)
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


def one_step(batch: CandidateBatch, parts: PredictedParts, weights: Any, settings: ListsConfig) -> tuple[float, Any]:
    """The summed loss, and the weights after one step over all lists, which are the last part of a batch."""
    settings = replace(settings, batch=100)
    lists, learned = batch.arrays(parts=True), rule_of_lists(settings).learned(np.zeros(0), weights.astype(np.float32))
    room, predicted = list_room(lists, settings.batch), predicted_room(parts, SIZE)
    room.state[0] = settings.seed
    slope = loss_of_lists(settings).slope.pointer
    total = list_pass(np.arange(len(batch)), lists, learned, steps_of(settings), room, slope, predicted)
    assert not predicted.gradient_F.any()
    return total, learned.sparse_F


def by_autograd(
    batch: CandidateBatch, spans: CandidateBatch, parts: PredictedParts, weights: Any, settings: ListsConfig
) -> tuple[float, Any]:
    scorer = PredictedScorer(spans, parts, SIZE)
    with torch.no_grad():
        scorer.linear.bag.weight[:, 0] = torch.as_tensor(weights)
    gains, offsets = torch.as_tensor(batch.gain_CG[:, 0]).double(), torch.as_tensor(batch.candidate_offsets_I1)
    value = loss_of_lists(settings)(scorer(batch), gains, offsets)
    value.backward()
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


def test_a_span_of_which_every_hypothesis_has_the_same_moves_nothing() -> None:
    batch, _, parts = lists_of(9)
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
