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
from tests.kernels.learning.test_instances import large_instances
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.kernels.learning.candidates import crossed, crossed_ids
from xlate.learning.learner import DeviceLearner, InstanceLearner, PhaseSettings
from xlate.scoring.linear import LinearScorer
from xlate.scoring.weights import Weights
from xlate.updates.rule import UpdateRule

SIZE = 1 << 9
SETTINGS = PhaseSettings("context", "context", (True, True), True, True, 1, 0.1, 0.2)


def test_ids_are_those_of_compiled_code_and_well_spread() -> None:
    pairs_2N = np.indices((200, 200)).reshape(2, -1)
    ids = crossed_ids(*pairs_2N, 1 << 20)
    assert [crossed(x, t, 1 << 20) for x, t in pairs_2N[:, :500].T.tolist()] == ids[:500].tolist()
    assert crossed_ids(*torch.as_tensor(pairs_2N), 1 << 20).tolist() == ids.tolist()
    assert 0 <= ids.min() <= ids.max() < 1 << 20
    # Random numbers would leave 40,000 balls in 39,245 of 2^20 boxes.
    assert len(np.unique(ids)) > 39_000


def stored(folder: Path, given: CandidateBatch) -> CandidateStore:
    with StoreWriter(folder, ["a", "b"], SIZE) as writer:
        for rows in (np.arange(5), np.arange(5, len(given))):
            writer.append(given.select(rows))
    return CandidateStore.open(folder)


@pytest.mark.parametrize("size", [0, 5], ids=["compiled", "batches"])
def test_training_is_that_of_the_pairs_written_out(tmp_path: Path, size: int) -> None:
    given, rule = large_instances(4), UpdateRule(adaptive=True, l1=0.02, average=True)
    settings, ends = replace(SETTINGS, rule=rule), []
    for name, one in (("crossed", given), ("written", written_out(given, SIZE))):
        given_to = settings, stored(tmp_path / name, one), Weights.zeros(("a", "b"), SIZE), {}
        learner = DeviceLearner(*given_to, torch.device("cpu"), size) if size else InstanceLearner(*given_to)
        total, _ = learner.learn(np.arange(len(given)), 1.0)
        ends.append((total, learner.end_epoch(1.0)))
    assert ends[0][0] == pytest.approx(ends[1][0], rel=1e-9)
    np.testing.assert_allclose(ends[0][1].sparse_F, ends[1][1].sparse_F, rtol=1e-6, atol=1e-9)
    assert np.count_nonzero(ends[0][1].sparse_F) > 20


def test_batches_whose_contexts_do_not_fit_are_refused() -> None:
    given = large_instances(7)
    with pytest.raises(ValueError, match="context_offsets_I1"):
        replace(given, context_offsets_I1=np.zeros(3, np.int64)).validate()
    with pytest.raises(ValueError, match="parts are written out"):
        given.arrays(parts=True)
    with pytest.raises(ValueError, match="contexts_X"):
        LinearScorer(2, SIZE)(given)
    with pytest.raises(ValueError, match="plain candidates"):
        replace(given, part_values_N=np.ones(len(given.part_ids_N), np.float32)).validate()


def test_weights_that_are_no_power_of_two_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="power of two"):
        InstanceLearner(SETTINGS, stored(tmp_path / "s", large_instances(8)), Weights.zeros(("a", "b"), 500), {})
