"""Mini-batches on a device against autograd, and the same bits again; on CUDA too where there is some."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.learning.small_training import initial, settings
from xlate.candidates.store import CandidateStore, epoch_order
from xlate.errors import InputError
from xlate.jobs.train.recipe import device_of
from xlate.learning.learner import DeviceLearner, InstanceLearner
from xlate.losses.local_softmax import LocalSoftmax
from xlate.losses.loss import Needs, losses
from xlate.scoring.linear import LinearScorer
from xlate.updates.rule import UpdateRule

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.cuda, CUDA])]


START_F = np.random.default_rng(2).normal(size=50)


def learned(folder: Path, device: str, batch: int, **changes) -> tuple[np.ndarray, np.ndarray, float]:
    store, weights = CandidateStore.open(folder / "train"), initial()["linked"]
    weights.sparse_F[:] = START_F
    learner = DeviceLearner(settings(**changes), store, weights, {}, torch.device(device), batch)
    loss, _ = learner.learn(epoch_order(len(store), 1, 0)[:64], 0.5)
    return weights.dense_D, weights.sparse_F, loss


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("use_sparse", [True, False])
def test_steps_equal_plain_sgd_of_autograd(folder: Path, device: str, use_sparse: bool) -> None:
    changes = {"train_sparse": use_sparse, "use_sparse": use_sparse, "trained": (True, False, True)}
    batch = 7
    dense_D, sparse_F, loss = learned(folder, device, batch, **changes)
    store, total = CandidateStore.open(folder / "train"), 0.0
    scorer, module = LinearScorer(3, 50), LocalSoftmax(-4.0)
    with torch.no_grad():
        scorer.bag.weight[:, 0] = torch.as_tensor(START_F) * use_sparse
    order = epoch_order(len(store), 1, 0)[:64]
    for start in range(0, len(order), batch):
        part = store.batch(order[start : start + batch])
        gain, offsets = torch.as_tensor(part.gain_CG[:, 0]), torch.as_tensor(part.candidate_offsets_I1)
        value = module(scorer(part), gain, offsets)
        by_dense, by_sparse = torch.autograd.grad(value, [scorer.dense, scorer.bag.weight])
        with torch.no_grad():
            scorer.dense -= 0.5 * 0.02 * by_dense * torch.tensor([1.0, 0.0, 1.0])
            scorer.bag.weight -= 0.5 * 0.05 * by_sparse * use_sparse
        total += float(value.detach())
    np.testing.assert_allclose(dense_D, scorer.dense.detach().numpy(), rtol=1e-9, atol=1e-12)
    expected_F = scorer.bag.weight.detach().numpy()[:, 0] if use_sparse else START_F
    np.testing.assert_allclose(sparse_F, expected_F, rtol=1e-9, atol=1e-12)
    assert loss == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("device", DEVICES)
def test_the_same_bits_again(folder: Path, device: str) -> None:
    runs = {(d.tobytes(), f.tobytes()) for d, f, _ in (learned(folder, device, 32) for _ in range(5))}
    assert len(runs) == 1


RULES = {
    "plain": UpdateRule(),
    "adagrad": UpdateRule(adaptive=True),
    "l1": UpdateRule(l1=0.3),
    "adagrad l2 average": UpdateRule(adaptive=True, l2=0.5, average=True),
    "adagrad l1 average project": UpdateRule(adaptive=True, l1=0.3, average=True, project=True),
    "l1 l2 of a step": UpdateRule(l1=0.1, l2=0.2, every=False),
    "adagrad l1 of a step": UpdateRule(adaptive=True, l1=0.1, every=False, average=True),
}
WITH_SLOPES = sorted(name for name, kind in losses().items() if kind.slope is not None)
# A rule sees nothing of a loss but its slopes: every rule with one loss, and every loss with one rule.
CELLS = [*(("local_softmax", rule) for rule in RULES), *((loss, "adagrad l1 average project") for loss in WITH_SLOPES)]


@pytest.mark.parametrize(("loss", "rule"), sorted(set(CELLS)))
def test_every_loss_and_rule_steps_alike_compiled_and_on_a_device(folder: Path, loss: str, rule: str) -> None:
    """A mini-batch of one instance with one true candidate is a step of the compiled pass."""
    phase, store = settings(loss=loss, rule=RULES[rule]), CandidateStore.open(folder / "train")
    found = []
    for made in (
        lambda w, m: InstanceLearner(phase, store, w, m),
        lambda w, m: DeviceLearner(phase, store, w, m, torch.device("cpu"), 1),
    ):
        weights, memory = initial()["linked"], {}
        learner = made(weights, memory)
        # Pairs by lot are drawn anew in every call of the module: one call is compared.
        met, _ = learner.learn(epoch_order(len(store), 1, 0)[: 1 if loss == "pro" else 60], 1.0)
        found.append((met, learner.end_epoch(1.0)))
    (ours, compiled), (theirs, plain) = found
    assert np.count_nonzero(plain.sparse_F) > 0
    assert ours == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(compiled.dense_D, plain.dense_D, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(compiled.sparse_F, plain.sparse_F, rtol=1e-6, atol=1e-9)


def test_what_learners_of_instances_do_not_have_is_refused(folder: Path) -> None:
    for wrong in ({"l1": -0.1}, {"l2": -0.1}, {"l1": 0.1, "l2": 0.1}):
        with pytest.raises(InputError, match=r"two penalties|a penalty below 0"):
            UpdateRule(**wrong)
    assert UpdateRule(l1=0.1, l2=0.1, every=False).l2 == 0.1
    needing = next(name for name, kind in losses().items() if kind.needs is Needs.STATISTICS)
    with pytest.raises(InputError, match="that does not suit instances with true candidates"):
        settings(loss=needing, loss_settings=()).loss_module()
    with pytest.raises(InputError, match="Theorem"):
        learned(folder, "cpu", 8, check_bound=True)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"(?s)no GPU.*device=auto"):
        device_of("cuda")
    assert device_of("auto").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_of("cuda").type == device_of("auto").type == "cuda"
