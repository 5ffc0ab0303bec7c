"""Steps on two-level lists: gradients, losses, batches, early stop; what the wrong sign does."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.kernels.learning.lists import ListSteps, list_pass, list_room
from xlate.losses.expected_bleu import ExpectedBleu
from xlate.losses.loss import Needs, losses
from xlate.train.list_learner import ListLearner, ListSettings

F = 40


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


LOSSES = sorted(name for name, loss in losses().items() if loss.needs is Needs.GAINS)


def learned(settings, weights, dense=()):
    """Weights with what the rule of some settings remembers."""
    memory = settings.rule.memory(len(dense), F)
    return settings.rule.learned(np.array(dense, dtype=np.float64), weights.astype(np.float32), memory)


def steps_of(settings, dense=0):
    rule = settings.rule.compiled(np.full(dense, settings.dense_rate), settings.rate)
    return ListSteps(settings.module.numbers_array, rule, settings.batch)


def stepped(order, lists, state, settings):
    """One pass; the mean loss met."""
    room, slope = list_room(lists, settings.batch), settings.module.slope.pointer
    room.state[0] = 1
    return list_pass(order, lists, state, steps_of(settings, lists.dense_CD.shape[1]), room, slope)


def kernel_gradient(lists, weights, settings):
    """The summed loss, and its gradient: what one long step on all lists moves."""
    count, long = len(lists.candidate_offsets_I1) - 1, 1e3
    whole = replace(settings, batch=count, rate=long)
    state, room = learned(whole, weights), list_room(lists, count)
    room.state[0] = settings.seed
    given = lists, state, steps_of(whole), room, settings.module.slope.pointer
    total = list_pass(np.arange(count), *given)
    return total, (weights - state.sparse_F) * (count / long)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("gamma", [1.0, 3.0])
def test_slopes_are_those_of_the_module_and_of_finite_differences(name, gamma):
    rng, batch, gain_C = random_lists(3)
    weights = rng.normal(size=F).astype(np.float32).astype(np.float64)
    settings = ListSettings(loss=name, gamma=gamma, margin=8.0, pairs=4)
    loss, gradient = kernel_gradient(batch.arrays(gain_C, parts=True), weights, settings)
    tensor = torch.tensor(weights, requires_grad=True)
    offsets = torch.as_tensor(batch.candidate_offsets_I1)
    gains = torch.as_tensor(gain_C, dtype=torch.float64)

    def value(at):
        return settings.module(flat_scores(batch, at), gains, offsets)

    value(tensor).backward()
    assert loss == pytest.approx(float(value(tensor).detach()), abs=1e-5)
    assert gradient == pytest.approx(tensor.grad.numpy(), abs=1e-6)
    assert np.abs(gradient).max() > 0
    for f in range(0, F, 7):
        moved = [torch.tensor(weights + sign * 1e-6 * (np.arange(F) == f)) for sign in (1, -1)]
        slope = (float(value(moved[0])) - float(value(moved[1]))) / 2e-6
        assert gradient[f] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize(
    ("loss", "settings"),
    [*((loss, {}) for loss in LOSSES), ("expected_bleu", {"batch": 4}), ("pro", {"batch": 4}),
     ("expected_bleu", {"adagrad": True, "rate": 0.03}), ("expected_bleu", {"l1": 1e-4, "l2": 1e-3})],
)  # fmt: skip
def test_every_loss_is_learned(loss, settings):
    _, batch, gain_C = random_lists(6, lists=60)
    lists = batch.arrays(gain_C, parts=True)
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
    lists = batch.arrays(gain_C, parts=True)
    order = np.arange(30)
    means = {}
    for sign in (1.0, -1.0):
        settings = ListSettings()
        state, room, slope = learned(settings, np.zeros(F)), list_room(lists, 1), settings.module.slope.pointer
        steps = steps_of(settings)
        steps = steps._replace(rule=steps.rule._replace(eta=sign * 0.1))
        means[sign] = [-list_pass(order, lists, state, steps, room, slope) for _ in range(5)]
    assert means[1.0][-1] > means[1.0][0]
    assert means[-1.0][-1] < means[-1.0][0]


def test_a_batch_is_the_mean_of_its_lists():
    _, batch, gain_C = random_lists(8)
    lists = batch.arrays(gain_C, parts=True)
    settings = ListSettings(batch=12, rate=0.5)
    state = learned(settings, np.zeros(F))
    stepped(np.arange(12), lists, state, settings)
    _, gradient = kernel_gradient(lists, np.zeros(F), ListSettings())
    assert state.sparse_F == pytest.approx(-0.5 * gradient / 12, abs=1e-6)


def test_the_last_batch_is_the_mean_of_the_lists_that_are_left():
    _, batch, gain_C = random_lists(8, empty=False)
    lists, settings = batch.arrays(gain_C, parts=True), ListSettings(batch=5, rate=0.5)
    whole, parts = learned(settings, np.zeros(F)), learned(settings, np.zeros(F))
    stepped(np.arange(12), lists, whole, settings)
    for first, last in ((0, 5), (5, 10), (10, 12)):
        stepped(np.arange(first, last), lists, parts, replace(settings, batch=last - first))
    np.testing.assert_array_equal(whole.sparse_F, parts.sparse_F)


def test_every_epoch_draws_other_pairs_and_the_same_ones_again():
    _, batch, gain_C = random_lists(6, lists=2, empty=False)
    settings = ListSettings(loss="pro", pairs=1, least_difference=0.01)
    given = batch.arrays(gain_C, parts=True), np.ones((batch.candidates, 10)), np.array([True, False]), F, settings
    learner = ListLearner(*given)
    before, met = learner.copy(), []
    for number in [*range(1, 9)] * 2:
        met.append(learner.epoch(number))
        learner.restore(before)
    assert len(set(met)) > 1
    assert met[:8] == met[8:]


def test_training_stops_when_nothing_changes():
    _, batch, gain_C = random_lists(9, lists=30)
    learner = ListLearner(
        batch.arrays(gain_C, parts=True),
        np.ones((batch.candidates, 10)),
        np.arange(30) < 5,
        F,
        ListSettings(tolerance=0.5),
    )
    assert len(list(learner.epochs())) == 2


@pytest.mark.parametrize("name", ["mse", "one_vs_rest", "expected_corpus_bleu"])
def test_only_losses_that_compare_candidates_by_gains_are_taken(name):
    with pytest.raises(InputError):
        ListSettings(loss=name)


def test_lists_are_needed():
    _, batch, gain_C = random_lists(1)
    with pytest.raises(InputError, match="lists"):
        ListLearner(
            batch.arrays(gain_C, parts=True), np.ones((batch.candidates, 10)), np.zeros(12, bool), F, ListSettings()
        )


def test_float_weights_are_learned_with_the_others():
    """The gradient of both, by autograd, after one step over all lists."""
    rng, batch, gain_C = random_lists(11)
    batch = replace(batch, dense_CD=rng.normal(size=(batch.candidates, 3)).astype(np.float32))
    lists = batch.arrays(gain_C, parts=True)
    start = rng.normal(size=3)
    settings = ListSettings(batch=12, dense_rate=0.5)
    state = learned(settings, np.zeros(F), start)
    stepped(np.arange(12), lists, state, settings)
    dense, sparse = torch.tensor(start, requires_grad=True), torch.zeros(F, dtype=torch.float64, requires_grad=True)
    features = torch.as_tensor(batch.dense_CD, dtype=torch.float64)
    scores = flat_scores(batch, sparse) + features @ dense
    gains = torch.as_tensor(gain_C, dtype=torch.float64)
    ExpectedBleu()(scores, gains, torch.as_tensor(batch.candidate_offsets_I1)).backward()
    assert state.dense_D - start == pytest.approx(-0.5 * dense.grad.numpy() / 12, abs=1e-6)
    assert state.sparse_F == pytest.approx(-0.1 * sparse.grad.numpy() / 12, abs=1e-6)
