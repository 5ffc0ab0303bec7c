"""Crossed instances, looked up once, against the same pairs written out as plain ids."""

from __future__ import annotations

import numpy as np
import pytest

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.instances import InstanceSteps, instance_pass
from xlate.kernels.learning.scores import plain_scores
from xlate.losses.local_softmax import LocalSoftmax
from xlate.updates.rule import UpdateRule

SIZE = 1 << 10


def large_instances(seed: int) -> CandidateBatch:
    """Instances from none to more pairs than there is room for at first, with several true candidates each."""
    random = np.random.default_rng(seed)
    sizes, contexts = np.array([2, 3, 60, 1, 90, 4]), np.array([3, 0, 40, 2, 50, 5])
    ids = random.integers(0, 5, sizes.sum())
    ids[:2] = 0
    gain_C1 = np.where(random.random((sizes.sum(), 1)) < 0.2, 1.0, -1.0).astype(np.float32)
    return CandidateBatch(
        candidate_offsets_I1=offsets_of(sizes),
        dense_CD=random.normal(size=(sizes.sum(), 2)).astype(np.float32),
        gain_CG=gain_C1,
        part_id_offsets_P1=offsets_of(ids),
        part_ids_N=random.integers(0, 50, int(ids.sum())).astype(np.int32),
        context_offsets_I1=offsets_of(contexts),
        contexts_X=random.integers(0, 60, int(contexts.sum())).astype(np.int32),
    ).validate()


def test_a_pass_over_large_instances_equals_that_over_pairs_written_out() -> None:
    given = large_instances(1)
    order, ends, loss = np.array([0, 1, 2, 4, 3, 5, 4, 2]), [], LocalSoftmax(-4.0)
    for one in (given, given.crossed(SIZE)):
        weights_D, weights_F, rule = np.zeros(2), np.zeros(SIZE), UpdateRule()
        steps = InstanceSteps(loss.numbers_array, rule.compiled(np.full(2, 0.01), 0.01), True, False)
        learned, state = rule.learned(weights_D, weights_F), np.ones(1, np.uint64)
        total, _ = instance_pass(order, one.arrays(), learned, steps, loss.slope.pointer, state)
        ends.append((total, weights_D, weights_F, plain_scores(one.arrays(), weights_D, weights_F)))
    assert ends[0][0] == pytest.approx(ends[1][0], rel=1e-9)
    for one, other in zip(ends[0][1:], ends[1][1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert np.count_nonzero(ends[0][2]) > 500


def test_an_instance_without_ids_or_context_is_scored_by_its_floats() -> None:
    given = large_instances(2)
    score_C = plain_scores(given.arrays(), np.array([1.0, 2.0]), np.ones(SIZE))
    assert score_C[:5] == pytest.approx((given.dense_CD @ np.array([1.0, 2.0], np.float32))[:5])
