"""Steps on two-level lists, compiled and on a device: gradients, batches, early stop."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.kernels.learning.lists import list_pass, list_room
from xlate.kernels.learning.slopes import Steps
from xlate.learning.list_learner import DeviceListLearner, ListLearner, loss_of_lists, rule_of_lists
from xlate.learning.settings import ListsConfig
from xlate.losses.loss import Needs, losses

F = 40


def plain_settings(**given):
    """Steps of one length, on scores as they are."""
    plain = {"gamma": 1.0, "margin": 1.0, "rate": 0.1, "dense_rate": 0.001, "adagrad": False, "epochs": 50}
    return ListsConfig(**{**plain, **given})


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


def learner_of(batch, gain_C, heldout_I, **given):
    given_lists = batch.arrays(gain_C, parts=True), np.ones((batch.candidates, 10)), heldout_I
    return ListLearner(*given_lists, F, plain_settings(**given))


def flat_scores(batch, weights):
    ids, offsets, _ = batch.flat_ids()
    sums = [weights[ids[a:b].astype(np.int64)].sum() for a, b in itertools.pairwise(offsets)]
    return torch.as_tensor(batch.base_C, dtype=torch.float64) + torch.stack(sums)


LOSSES = sorted(name for name, loss in losses().items() if loss.needs is Needs.GAINS)


def learned(settings, weights, dense=()):
    """Weights with what the rule of some settings remembers."""
    return rule_of_lists(settings).learned(np.array(dense, np.float64), weights.astype(np.float32))


def steps_of(settings, dense=0):
    rule = rule_of_lists(settings).compiled(np.full(dense, settings.dense_rate), settings.rate)
    return Steps(loss_of_lists(settings).numbers_array, rule, batch=settings.batch)


def stepped(order, lists, state, settings):
    """One pass; the mean loss met."""
    room, slope = list_room(lists, settings.batch), loss_of_lists(settings).slope.pointer
    room.state[0] = 1
    return list_pass(order, lists, state, steps_of(settings, lists.dense_CD.shape[1]), room, slope, None)


def kernel_gradient(lists, weights, settings):
    """The summed loss, and its gradient: what one long step on all lists moves."""
    count, long = len(lists.candidate_offsets_I1) - 1, 1e3
    whole = replace(settings, batch=count, rate=long)
    state, room = learned(whole, weights), list_room(lists, count)
    room.state[0] = settings.seed
    given = lists, state, steps_of(whole), room, loss_of_lists(settings).slope.pointer
    total = list_pass(np.arange(count), *given, None)
    return total, (weights - state.sparse_F) * (count / long)


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_are_those_of_the_module(name):
    rng, batch, gain_C = random_lists(3)
    weights = rng.normal(size=F).astype(np.float32).astype(np.float64)
    settings = plain_settings(objective=name, gamma=3.0, margin=8.0, pairs=4)
    loss, gradient = kernel_gradient(batch.arrays(gain_C, parts=True), weights, settings)
    tensor = torch.tensor(weights, requires_grad=True)
    offsets = torch.as_tensor(batch.candidate_offsets_I1)
    gains = torch.as_tensor(gain_C, dtype=torch.float64)
    value = loss_of_lists(settings)(flat_scores(batch, tensor), gains, offsets)
    value.backward()
    assert loss == pytest.approx(float(value.detach()), abs=1e-5)
    assert gradient == pytest.approx(tensor.grad.numpy(), abs=1e-6)
    assert np.abs(gradient).max() > 0


def test_the_last_batch_is_the_mean_of_the_lists_that_are_left():
    _, batch, gain_C = random_lists(8, empty=False)
    lists, settings = batch.arrays(gain_C, parts=True), plain_settings(batch=5, rate=0.5)
    whole, parts = learned(settings, np.zeros(F)), learned(settings, np.zeros(F))
    stepped(np.arange(12), lists, whole, settings)
    for first, last in ((0, 5), (5, 10), (10, 12)):
        stepped(np.arange(first, last), lists, parts, replace(settings, batch=last - first))
    np.testing.assert_array_equal(whole.sparse_F, parts.sparse_F)


def test_every_epoch_draws_other_pairs_and_the_same_ones_again():
    _, batch, gain_C = random_lists(6, lists=2, empty=False)
    heldout_I = np.array([True, False])
    learner = learner_of(batch, gain_C, heldout_I, objective="pro", pairs=1, least_difference=0.01)
    before, met = learner.copy(), []
    for number in [*range(1, 9)] * 2:
        met.append(learner.epoch(number))
        learner.restore(before)
    assert len(set(met)) > 1
    assert met[:8] == met[8:]


def test_every_epoch_has_an_order_of_its_own_and_the_same_one_again() -> None:
    """Steps that depend on the weights before them end elsewhere in another order."""
    _, batch, gain_C = random_lists(6, empty=False)
    learner = learner_of(batch, gain_C, np.arange(12) < 2)
    before, after = learner.copy(), []
    for number in (1, 2, 1):
        learner.epoch(number)
        after.append(learner.copy()["sparse_F"].tolist())
        learner.restore(before)
    assert after[0] == after[2] != after[1]


def test_training_stops_when_nothing_changes():
    _, batch, gain_C = random_lists(9, lists=30)
    assert len(list(learner_of(batch, gain_C, np.arange(30) < 5, tolerance=0.5).epochs())) == 2


def test_of_equal_epochs_the_first_is_kept():
    """Nothing in the held-out lists gains anything, so their loss is always 0."""
    _, batch, gain_C = random_lists(9, lists=30)
    gain_C[: batch.candidate_offsets_I1[5]] = 0.0
    learner = learner_of(batch, gain_C, np.arange(30) < 5, objective="expected_bleu")
    before, after = learner.epochs()
    assert before.heldout_loss == after.heldout_loss == 0.0
    assert after.active > 0
    assert not learner.weights.sparse_F.any()


def test_lists_are_needed():
    _, batch, gain_C = random_lists(1)
    with pytest.raises(InputError, match="lists"):
        learner_of(batch, gain_C, np.zeros(12, bool))


DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]


# A step over the 30 training lists is the last part of a batch of 100.
@pytest.mark.parametrize("batch_size", [30, 100])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "pro"])
def test_a_step_over_all_lists_on_a_device_is_the_compiled_one(loss, device, batch_size):
    rng, batch, gain_C = random_lists(2, lists=40)
    batch = replace(batch, dense_CD=rng.normal(size=(batch.candidates, 2)).astype(np.float32))
    lists, held = batch.arrays(gain_C, parts=True), np.arange(40) % 4 == 0
    steps = {"batch": batch_size, "epochs": 1, "tolerance": 0.0, "dense_rate": 0.05}
    settings = plain_settings(objective=loss, gamma=3.0, margin=2.0, **steps)
    statistics = rng.integers(1, 9, size=(batch.candidates, 10))
    start = rng.normal(size=2)
    ours = DeviceListLearner(lists, statistics, held, F, settings, start, torch.device(device))
    theirs = ListLearner(lists, statistics, held, F, settings, start)
    for one, other in zip(ours.epochs(), theirs.epochs(), strict=True):
        assert one.heldout_loss == pytest.approx(other.heldout_loss, abs=1e-5)
        assert one.heldout_bleu == pytest.approx(other.heldout_bleu)
    assert ours.weights.sparse_F == pytest.approx(theirs.weights.sparse_F, abs=1e-5)
    assert ours.weights.dense_D == pytest.approx(theirs.weights.dense_D, abs=1e-5)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize(("loss", "recorded"), [("expected_bleu", 8), ("cll", 8), ("hinge", 0)])
def test_recorded_steps_give_the_bits_of_others(loss, recorded, monkeypatch):
    rng, batch, gain_C = random_lists(2, lists=40)
    settings = plain_settings(objective=loss, batch=4, epochs=5, tolerance=0.0)
    given = batch.arrays(gain_C, parts=True), rng.integers(1, 9, size=(batch.candidates, 10)), np.arange(40) % 4 == 0
    learners = [DeviceListLearner(*given, F, settings, None, torch.device("cuda")) for _ in range(2)]
    monkeypatch.setattr(learners[1], "_records", False)
    ours, theirs = ([str(one) for one in learner.epochs()] for learner in learners)
    assert ours == theirs
    np.testing.assert_array_equal(learners[0].weights.sparse_F, learners[1].weights.sparse_F)
    # A loss that waits for the device cannot be recorded.
    assert sum(one is not None for one in learners[0]._recorded.values()) == recorded
