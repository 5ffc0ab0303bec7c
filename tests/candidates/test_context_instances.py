"""Contexts of instances: they are stored and trained on as pairs of features written out are.

`tests/kernels/learning/test_instances.py` compares their scores.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.candidates.plain_lists import crossed as written_out
from tests.candidates.plain_lists import listed
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.errors import InputError
from xlate.kernels.learning.candidates import crossed, crossed_ids
from xlate.learning.learner import DeviceLearner, InstanceLearner, PhaseSettings
from xlate.scoring.linear import LinearScorer
from xlate.scoring.weights import Weights
from xlate.updates.rule import UpdateRule

SIZE = 1 << 9


def batch(seed: int, instances: int = 12) -> CandidateBatch:
    """Random instances with contexts of 0 to 4 features; the first candidate of each is right."""
    random = np.random.default_rng(seed)
    sizes, contexts = random.integers(1, 5, instances), random.integers(0, 5, instances)
    candidates = int(sizes.sum())
    ids = random.integers(0, 4, candidates)
    gain_C1 = -np.ones((candidates, 1), np.float32)
    gain_C1[offsets_of(sizes)[:-1]] = 1.0
    return CandidateBatch(
        candidate_offsets_I1=offsets_of(sizes),
        dense_CD=random.normal(size=(candidates, 2)).astype(np.float32),
        gain_CG=gain_C1,
        part_id_offsets_P1=offsets_of(ids),
        part_ids_N=random.integers(0, 30, int(ids.sum())).astype(np.int32),
        context_offsets_I1=offsets_of(contexts),
        contexts_X=random.integers(0, 40, int(contexts.sum())).astype(np.int32),
    ).validate()


def test_ids_are_those_of_compiled_code_and_well_spread() -> None:
    x, t = np.meshgrid(np.arange(200), np.arange(200))
    ids = crossed_ids(x.reshape(-1), t.reshape(-1), 1 << 20)
    assert [crossed(int(a), int(b), 1 << 20) for a, b in zip(x.flat[:500], t.flat[:500], strict=True)] == ids[
        :500
    ].tolist()
    assert ((ids >= 0) & (ids < 1 << 20)).all()
    on_tensors = crossed_ids(torch.arange(9), torch.arange(9), 64)
    assert on_tensors.tolist() == crossed_ids(np.arange(9), np.arange(9), 64).tolist()
    # Random numbers would leave 40,000 balls in 39,245 of 2^20 boxes.
    assert len(np.unique(ids)) > 39_000


def stored(folder: Path, given: CandidateBatch) -> CandidateStore:
    with StoreWriter(folder, ["a", "b"], SIZE) as writer:
        for rows in (np.arange(5), np.arange(5, len(given))):
            writer.append(given.select(rows))
    return CandidateStore.open(folder)


@pytest.mark.parametrize(
    ("rule", "loss", "block", "size"),
    [
        (UpdateRule(adaptive=True, every=False), "local_softmax", None, 0),
        (UpdateRule(l1=0.02, average=True), "perceptron", 4, 0),
        (UpdateRule(l2=0.1, every=False), "local_softmax", None, 0),
        (UpdateRule(), "one_vs_rest", None, 5),
    ],
    ids=["adagrad", "l1", "l2", "batches"],
)
def test_training_is_that_of_the_pairs_written_out(
    tmp_path: Path, rule: UpdateRule, loss: str, block: int | None, size: int
) -> None:
    given = batch(4)
    settings = PhaseSettings(
        "context", "context", (True, True), True, True, 1, 0.1, 0.2, loss=loss, rule=rule, block=block
    )
    order, ends = np.arange(len(given)), []
    for name, one in (("crossed", given), ("written", written_out(given, SIZE))):
        weights = Weights.zeros(("a", "b"), SIZE)
        given_to = settings, stored(tmp_path / name, one), weights, {}
        learner = DeviceLearner(*given_to, torch.device("cpu"), size) if size else InstanceLearner(*given_to)
        total, _ = learner.learn(order, 1.0)
        ends.append((total, learner.end_epoch(1.0)))
    assert ends[0][0] == pytest.approx(ends[1][0], rel=1e-9)
    np.testing.assert_allclose(ends[0][1].sparse_F, ends[1][1].sparse_F, rtol=1e-6, atol=1e-9)
    assert np.count_nonzero(ends[0][1].sparse_F) > 20


def test_stores_give_back_contexts_and_refuse_broken_ones(tmp_path: Path) -> None:
    given = batch(6)
    opened = stored(tmp_path / "s", given)
    rows, every = [7, 2, 2], listed(written_out(given, SIZE))
    assert listed(written_out(opened.batch(rows), SIZE)) == [every[row] for row in rows]
    (tmp_path / "s" / "contexts_X.npy").unlink()
    with pytest.raises(InputError):
        CandidateStore.open(tmp_path / "s")


def test_batches_whose_contexts_do_not_fit_are_refused() -> None:
    given = batch(7)
    with pytest.raises(ValueError, match="context_offsets_I1"):
        replace(given, context_offsets_I1=np.zeros(3, np.int64)).validate()
    with pytest.raises(ValueError, match="parts are written out"):
        given.arrays(parts=True)
    with pytest.raises(ValueError, match="contexts_X"):
        LinearScorer(2, SIZE)(given)
    with pytest.raises(ValueError, match="plain candidates"):
        replace(given, part_values_N=np.ones(len(given.part_ids_N), np.float32)).validate()


def test_weights_that_are_no_power_of_two_are_refused(tmp_path: Path) -> None:
    settings = PhaseSettings("context", "context", (True, True), True, True, 1, 0.1, 0.2)
    with pytest.raises(ValueError, match="power of two"):
        InstanceLearner(settings, stored(tmp_path / "s", batch(8)), Weights.zeros(("a", "b"), 500), {})
