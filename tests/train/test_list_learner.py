"""Steps on two-level lists: gradients, losses, batches, early stop; what the wrong sign does."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from xlate.kernels.learning.part_lists import SparseWeights, list_epoch, list_gradient, list_space
from xlate.losses.conditional_likelihood import ConditionalLikelihood
from xlate.losses.pairwise import PairwiseLogistic

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.losses.expected_bleu import ExpectedBleu
from xlate.losses.softmax_margin import SoftmaxMargin
from xlate.train.list_learner import LOSSES, ListLearner, ListSettings, numbers, part_lists

F = 40
NO_FLOATS = np.zeros(0), np.zeros(0)


def random_lists(seed, lists=12, empty=True):
    """Two-level lists whose candidates hold some parts twice, and their gains."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0 if empty else 2, 9, size=lists)
    parts = rng.integers(1, 6, size=lists)
    held = rng.integers(0, 5, size=sizes.sum())
    of_list = np.repeat(np.repeat(parts, sizes), held)
    ids = rng.integers(0, 5, size=parts.sum())
    batch = CandidateBatch(
        offsets_of(sizes),
        np.zeros((sizes.sum(), 0), np.float32),
        np.zeros((sizes.sum(), 0), np.float32),
        offsets_of(ids),
        rng.integers(0, F, size=ids.sum()).astype(np.int32),
        offsets_of(parts),
        offsets_of(held),
        rng.integers(0, of_list).astype(np.int32),
        base_C=rng.normal(size=sizes.sum()).astype(np.float32),
    ).validate()
    return rng, batch, rng.random(sizes.sum()).astype(np.float32)


def flat_scores(batch, weights):
    ids, offsets, _ = batch.flat_ids()
    sums = [weights[ids[a:b].astype(np.int64)].sum() for a, b in itertools.pairwise(offsets)]
    return torch.as_tensor(batch.base_C, dtype=torch.float64) + torch.stack(sums)


def kernel_gradient(lists, weights, settings):
    gradient, space = np.zeros(F), list_space(lists, 1)
    state = SparseWeights(weights.astype(np.float32), np.zeros(0, np.float32), *NO_FLOATS)
    total = sum(
        list_gradient(lists, state, numbers(settings), space, i, gradient)
        for i in range(len(lists.candidate_offsets_I1) - 1)
    )
    return total, gradient


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("expected_bleu", lambda gamma: ExpectedBleu(gamma)),
        ("cll", lambda _: ConditionalLikelihood()),
        ("softmax_margin", lambda _: SoftmaxMargin(2.0)),
    ],
)
@pytest.mark.parametrize("gamma", [1.0, 3.0])
def test_gradients_are_those_of_autograd_and_of_finite_differences(name, module, gamma):
    rng, batch, gain_C = random_lists(3)
    weights = rng.normal(size=F).astype(np.float32).astype(np.float64)
    settings = ListSettings(loss=name, gamma=gamma, margin=2.0)
    lists = part_lists(batch, gain_C)
    loss, gradient = kernel_gradient(lists, weights, settings)
    tensor = torch.tensor(weights, requires_grad=True)
    offsets = torch.as_tensor(batch.candidate_offsets_I1)
    # The likelihoods have no scale of their own: the scores are scaled.
    scale = 1.0 if name == "expected_bleu" else gamma
    gains = torch.as_tensor(gain_C, dtype=torch.float64)

    def value(at):
        return module(gamma)(scale * flat_scores(batch, at), gains, offsets)

    value(tensor).backward()
    assert loss == pytest.approx(float(value(tensor).detach()), abs=1e-6)
    assert gradient == pytest.approx(tensor.grad.numpy(), abs=1e-6)
    for f in range(0, F, 7):
        moved = [torch.tensor(weights + sign * 1e-5 * (np.arange(F) == f)) for sign in (1, -1)]
        slope = (float(value(moved[0])) - float(value(moved[1]))) / 2e-5
        assert gradient[f] == pytest.approx(slope, abs=1e-6)


def test_the_hinge_is_that_of_its_definition():
    rng, batch, gain_C = random_lists(4)
    weights = rng.normal(size=F).astype(np.float32).astype(np.float64)
    settings = ListSettings(loss="hinge", margin=2.0)
    loss, gradient = kernel_gradient(part_lists(batch, gain_C), weights, settings)
    tensor = torch.tensor(weights, requires_grad=True)
    scores, total = flat_scores(batch, tensor), torch.zeros((), dtype=torch.float64)
    for a, b in zip(batch.candidate_offsets_I1, batch.candidate_offsets_I1[1:], strict=False):
        if b > a:
            gains = torch.as_tensor(gain_C[a:b], dtype=torch.float64)
            best = int(gains.argmax())
            total = total + (scores[a:b] + 2.0 * (gains[best] - gains)).max() - scores[a + best]
    total.backward()
    assert loss == pytest.approx(float(total.detach()), abs=1e-6)
    assert gradient == pytest.approx(tensor.grad.numpy(), abs=1e-6)


def test_pairs_are_those_of_large_differences():
    """With one pair of each list left to draw, the loss is that of the pair."""
    rng, batch, _ = random_lists(5, empty=False)
    gain_C = np.zeros(batch.candidates, np.float32)
    first, second = batch.candidate_offsets_I1[:-1], batch.candidate_offsets_I1[:-1] + 1
    gain_C[first] = 1.0
    gain_C[second] = -1.0
    weights = rng.normal(size=F).astype(np.float32).astype(np.float64)
    settings = ListSettings(loss="pro", pairs=50, least_difference=1.5)
    loss, gradient = kernel_gradient(part_lists(batch, gain_C), weights, settings)
    tensor = torch.tensor(weights, requires_grad=True)
    module = PairwiseLogistic(torch.as_tensor(first), torch.as_tensor(second))
    expected = module(flat_scores(batch, tensor), None, None)
    expected.backward()
    # How often the pair was drawn is by lot.
    assert loss / len(first) > 0
    assert np.corrcoef(gradient, tensor.grad.numpy())[0, 1] > 0.8


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("settings", [{}, {"batch": 4}, {"adagrad": True, "rate": 0.03}, {"l1": 1e-4, "l2": 1e-3}])
def test_every_loss_is_learned(loss, settings):
    _, batch, gain_C = random_lists(6, lists=60)
    lists = part_lists(batch, gain_C)
    heldout_I = np.arange(60) % 5 == 0
    statistics = np.ones((batch.candidates, 10), np.float32)
    chosen = ListSettings(loss=loss, epochs=12, tolerance=0.0, **{"rate": 0.1, **settings})
    learner = ListLearner(lists, statistics, heldout_I, F, chosen)
    figures = list(learner.epochs())
    assert figures[-1].train_loss < figures[1].train_loss
    assert min(f.heldout_loss for f in figures) == pytest.approx(learner.measure()[0], abs=1e-9)
    again = ListLearner(lists, statistics, heldout_I, F, chosen)
    assert [f.heldout_loss for f in again.epochs()] == [f.heldout_loss for f in figures]


def test_the_sign_of_the_paper_goes_downhill():
    """Figure 2, line 14 subtracts the ascent: expected BLEU falls."""
    _, batch, gain_C = random_lists(7, lists=30)
    lists = part_lists(batch, gain_C)
    order = np.arange(30)
    means = {}
    for sign in (1.0, -1.0):
        state = SparseWeights(np.zeros(F, np.float32), np.zeros(0, np.float32), *NO_FLOATS)
        steps = numbers(ListSettings())._replace(rate=sign * 0.1)
        space = list_space(lists, 1)
        means[sign] = [-list_epoch(order, lists, state, steps, space, 1) for _ in range(5)]
    assert means[1.0][-1] > means[1.0][0]
    assert means[-1.0][-1] < means[-1.0][0]


def test_a_batch_is_the_mean_of_its_lists():
    _, batch, gain_C = random_lists(8)
    lists = part_lists(batch, gain_C)
    state = SparseWeights(np.zeros(F, np.float32), np.zeros(0, np.float32), *NO_FLOATS)
    settings = ListSettings(batch=12, rate=0.5)
    list_epoch(np.arange(12), lists, state, numbers(settings), list_space(lists, 12), 1)
    _, gradient = kernel_gradient(lists, np.zeros(F), ListSettings())
    assert state.weight_F == pytest.approx(-0.5 * gradient / 12, abs=1e-6)


def test_training_stops_when_nothing_changes():
    _, batch, gain_C = random_lists(9, lists=30)
    learner = ListLearner(
        part_lists(batch, gain_C), np.ones((batch.candidates, 10)), np.arange(30) < 5, F, ListSettings(tolerance=0.5)
    )
    assert len(list(learner.epochs())) == 2


@pytest.mark.parametrize("wrong", [{"loss": "mse"}, {"gamma": 0.0}, {"batch": 0}, {"l2": -1.0}])
def test_settings_are_checked(wrong):
    with pytest.raises(InputError):
        ListSettings(**wrong)


def test_lists_are_needed():
    _, batch, gain_C = random_lists(1)
    with pytest.raises(InputError, match="lists"):
        ListLearner(part_lists(batch, gain_C), np.ones((batch.candidates, 10)), np.zeros(12, bool), F, ListSettings())


def test_float_weights_are_learned_with_the_others():
    """The gradient of both, by autograd, after one step over all lists."""
    rng, batch, gain_C = random_lists(11)
    batch = replace(batch, dense_CD=rng.normal(size=(batch.candidates, 3)).astype(np.float32))
    lists = part_lists(batch, gain_C, learn_dense=True)
    start = rng.normal(size=3)
    state = SparseWeights(np.zeros(F, np.float32), np.zeros(0, np.float32), start.copy(), np.zeros(3))
    list_epoch(np.arange(12), lists, state, numbers(ListSettings(batch=12, dense_rate=0.5)), list_space(lists, 12), 1)
    dense, sparse = torch.tensor(start, requires_grad=True), torch.zeros(F, dtype=torch.float64, requires_grad=True)
    features = torch.as_tensor(batch.dense_CD, dtype=torch.float64)
    scores = flat_scores(batch, sparse) + features @ dense
    gains = torch.as_tensor(gain_C, dtype=torch.float64)
    ExpectedBleu()(scores, gains, torch.as_tensor(batch.candidate_offsets_I1)).backward()
    assert state.dense_D - start == pytest.approx(-0.5 * dense.grad.numpy() / 12, abs=1e-6)
    assert state.weight_F == pytest.approx(-0.1 * sparse.grad.numpy() / 12, abs=1e-6)
