"""One pass over instances, also where ids are crossed with a context, against the steps written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.candidates.plain_lists import crossed
from tests.strategies import ragged_batches
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.compiled import Inner
from xlate.kernels.learning.candidates import crossed_scores
from xlate.kernels.learning.instances import instance_pass, prediction_errors
from xlate.kernels.learning.scores import sparse_scores
from xlate.kernels.learning.slopes import Steps
from xlate.losses.hinge import Hinge
from xlate.losses.local_softmax import LocalSoftmax
from xlate.updates.rule import UpdateRule

DENSE, SPARSE, SINK = 3, 9, -4.0
PLAIN, SOFTMAX = UpdateRule(), LocalSoftmax(SINK)
BATCHES = ragged_batches(two_level=False, extras=False, dense=DENSE, sparse=SPARSE, max_instances=6)


def run(
    batch: CandidateBatch,
    order: np.ndarray,
    weights_W: np.ndarray,
    eta_W: np.ndarray,
    *,
    rule: UpdateRule = PLAIN,
    loss: Any = SOFTMAX,
    use_sparse: bool = True,
    curved: bool = True,
    kernel: Any = instance_pass,
    slope: Any = None,
) -> tuple[float, float, np.ndarray]:
    """The pass on one vector of all weights, dense ones first; `eta_W` holds one step for all sparse ones.

    Returns loss and curvature, and the weights, or their averages if the rule averages them.
    """
    learned = rule.learned(weights_W[:DENSE], weights_W[DENSE:])
    etas = eta_W[:DENSE], float(eta_W[-1])
    steps = Steps(loss.numbers_array, rule.compiled(*etas), use_sparse, curved)
    slope = loss.slope.pointer if slope is None else slope
    met, curvature = kernel(order, batch.arrays(), learned, steps, slope, np.ones(1, np.uint64))
    return met, curvature, np.concatenate(rule.result(learned, *etas))


def vectors(batch: CandidateBatch) -> np.ndarray:
    """Every candidate as one dense vector: its floats, then how often it has each id."""
    vectors_CW = np.zeros((batch.candidates, DENSE + SPARSE))
    vectors_CW[:, :DENSE] = batch.dense_CD
    for c in range(batch.candidates):
        for n in range(batch.part_id_offsets_P1[c], batch.part_id_offsets_P1[c + 1]):
            vectors_CW[c, DENSE + batch.part_ids_N[n]] += 1
    return vectors_CW


def split(batch: CandidateBatch, i: int) -> tuple[list[int], list[int]]:
    """The positives and the negatives of an instance."""
    members = range(int(batch.candidate_offsets_I1[i]), int(batch.candidate_offsets_I1[i + 1]))
    return [c for c in members if batch.gain_CG[c, 0] > 0], [c for c in members if batch.gain_CG[c, 0] <= 0]


def eager_epoch(
    batch: CandidateBatch,
    order: np.ndarray,
    weights_W: np.ndarray,
    eta_W: np.ndarray,
    *,
    project: bool = False,
    margin: float | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
) -> tuple[float, float, list[np.ndarray]]:
    """Table II with a step for each weight, floats above 0 set to 0 after every candidate.

    Before each step all sparse weights shrink. Returns loss, curvature, and the weights at the beginning and after
    every step.
    """
    vectors_CW, loss, curvature = vectors(batch), 0.0, 0.0
    floats = np.arange(DENSE + SPARSE) < DENSE
    path = [weights_W.copy()]
    for i in order:
        positives, negatives = split(batch, i)
        for positive in positives:
            shrunk_W = np.sign(weights_W) * np.maximum(np.abs(weights_W) - eta_W * l1, 0) * (1 - eta_W * l2)
            weights_W[:] = np.where(floats, weights_W, shrunk_W)
            members = [positive, *negatives]
            scores_X = vectors_CW[members] @ weights_W
            if margin is None:
                exp_X = np.exp(scores_X)
                shares_X = exp_X / (exp_X.sum() + math.exp(SINK))
                loss -= math.log(shares_X[0])
                by_X = (np.arange(len(members)) == 0) - shares_X
            else:
                by_X = np.zeros(len(members))
                missing = margin + max(scores_X[1:]) - scores_X[0] if negatives else -1.0
                if missing >= 0:
                    by_X[0], by_X[1 + int(np.argmax(scores_X[1:]))] = 1, -1
                    loss += missing
            curvature += float((eta_W * (by_X @ vectors_CW[members]) ** 2).sum())
            for place, c in enumerate(members):
                weights_W += eta_W * by_X[place] * vectors_CW[c]
                if project:
                    moved = floats & (eta_W != 0)
                    weights_W[moved] = np.minimum(weights_W[moved], 0)
            path.append(weights_W.copy())
    return loss, curvature, path


def steps(dense: float | list[float], sparse: float) -> np.ndarray:
    return np.concatenate([np.full(DENSE, dense), np.full(SPARSE, sparse)])


def close(seen: object, expected: object) -> None:
    np.testing.assert_allclose(seen, expected, rtol=1e-6, atol=1e-9)


def random_start(batch: CandidateBatch, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An order in which instances repeat, and weights."""
    random = np.random.default_rng(seed)
    order = random.integers(0, len(batch), 2 * len(batch)) if len(batch) else np.zeros(0, np.int64)
    return order, random.normal(size=DENSE + SPARSE)


# Steps of dense and of sparse weights, the margin of the hinge if it is the loss, and the rest of the rule.
ETAS = (0.1, 0.2)
CASES: list[tuple[Any, float | None, dict[str, Any]]] = [
    ((0.3, 0.3), None, {}),
    ((0.0, 0.2), None, {}),
    ((0.2, 0.0), None, {"project": True}),
    (([0.1, 0.0, 0.3], 0.1), None, {"project": True}),
    (ETAS, None, {"l1": 0.3}),
    (ETAS, None, {"l1": 1e-3}),
    (ETAS, None, {"l2": 0.4}),
    (ETAS, 0.0, {}),
    (ETAS, 1.0, {}),
]


@settings(max_examples=150, deadline=None)
@given(BATCHES, st.integers(0, 999), st.sampled_from(CASES), st.booleans())
def test_an_epoch_equals_its_eager_twin(batch: CandidateBatch, seed: int, case: Any, average: bool) -> None:
    """Table II with steps by weight, projection, shrinkage put off, averages, margins; loss and curvature."""
    etas, margin, held = case
    order, weights_W = random_start(batch, seed)
    eta_W, expected_W, before_W = steps(*etas), weights_W.copy(), weights_W.copy()
    expected, curvature, path = eager_epoch(batch, order, expected_W, eta_W, margin=margin, **held)
    loss = SOFTMAX if margin is None else Hinge(margin=margin)
    *found, mean_W = run(batch, order, weights_W, eta_W, rule=UpdateRule(average=average, **held), loss=loss)
    assert found == pytest.approx([expected, curvature], rel=1e-6, abs=1e-9)
    close(weights_W, expected_W)
    if average:
        close(mean_W, np.mean(path, axis=0))
    if not held.keys() & {"l1", "l2"}:
        assert weights_W[eta_W == 0].tolist() == before_W[eta_W == 0].tolist()


def test_sparse_weights_that_are_not_used_do_not_count(rng: np.random.Generator) -> None:
    batch = random_batch(rng, 30)
    loud_W, silent_W = np.concatenate([np.zeros(DENSE), rng.normal(size=SPARSE)]), np.zeros(DENSE + SPARSE)
    loud, *_ = run(batch, np.arange(30), loud_W, steps(0.1, 0.0), use_sparse=False)
    assert loud == run(batch, np.arange(30), silent_W, steps(0.1, 0.0))[0]
    assert loud_W[:DENSE].tolist() == silent_W[:DENSE].tolist()
    assert measure(batch, loud_W, use_sparse=False) == measure(batch, silent_W) != measure(batch, loud_W)


def random_batch(rng: np.random.Generator, instances: int, candidates: int = 5) -> CandidateBatch:
    """One positive and some negatives an instance, two ids a candidate."""
    count = instances * candidates
    return CandidateBatch(
        candidate_offsets_I1=np.arange(instances + 1, dtype=np.int64) * candidates,
        dense_CD=rng.normal(size=(count, DENSE)).astype(np.float32),
        gain_CG=np.where(np.arange(count) % candidates == 0, 1, -1).astype(np.float32)[:, None],
        part_id_offsets_P1=np.arange(count + 1, dtype=np.int64) * 2,
        part_ids_N=rng.integers(0, SPARSE, 2 * count).astype(np.int32),
    ).validate()


def test_as_plain_python_every_index_is_within_its_array(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = random_batch(rng, 3, candidates=200)
    weights_W, expected_W = np.zeros(DENSE + SPARSE), np.zeros(DENSE + SPARSE)
    eager_epoch(batch, np.arange(3), expected_W, steps(0.1, 0.1))
    # Only compiled code can be lent arrays, and only it calls inner functions.
    monkeypatch.setattr("xlate.kernels.learning.instances.lent", lambda arrays: arrays)
    monkeypatch.setattr(Inner, "__call__", lambda inner, *arguments: inner.py_func(*arguments))
    plain = LocalSoftmax.slope.function
    given = {"curved": False, "kernel": instance_pass.py_func, "slope": plain}
    run(batch, np.arange(3), weights_W, steps(0.1, 0.1), **given)
    close(weights_W, expected_W)


def naive_errors(batch: CandidateBatch, scores_C: np.ndarray) -> int:
    """Instances in which some alternative scores at least as high as every true one."""
    errors = 0
    for i in range(len(batch)):
        positives, negatives = split(batch, i)
        errors += any(all(scores_C[n] >= scores_C[p] for p in positives) for n in negatives)
    return errors


def measure(batch: CandidateBatch, weights_W: np.ndarray, use_sparse: bool = True) -> tuple[int, float, int]:
    everything_I = np.arange(len(batch), dtype=np.int64)
    given = use_sparse, SOFTMAX.numbers_array, SOFTMAX.slope.pointer
    return prediction_errors(everything_I, batch.arrays(), weights_W[:DENSE], weights_W[DENSE:], *given)


@settings(max_examples=50, deadline=None)
@given(BATCHES, st.integers(0, 999), st.booleans())
def test_errors_and_loss_equal_the_definitions(batch: CandidateBatch, seed: int, rounded: bool) -> None:
    """With features and weights rounded to whole numbers, ties are frequent."""
    _, weights_W = random_start(batch, seed)
    if rounded:
        weights_W = weights_W.round()
        batch.dense_CD[:] = batch.dense_CD.round()
    errors, loss, positives = measure(batch, weights_W)
    scores_C = vectors(batch) @ weights_W
    expected = SOFTMAX(
        torch.as_tensor(scores_C), torch.as_tensor(batch.gain_CG[:, 0]), torch.as_tensor(batch.candidate_offsets_I1)
    )
    assert loss == pytest.approx(float(expected), rel=1e-8, abs=1e-8)
    assert positives == int((batch.gain_CG > 0).sum())
    if rounded:
        assert errors == naive_errors(batch, scores_C)


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
    order, ends = np.array([0, 1, 2, 4, 3, 5, 4, 2]), []
    for one in (given, crossed(given, SIZE)):
        weights_D, weights_F = np.zeros(2), np.zeros(SIZE)
        steps = Steps(SOFTMAX.numbers_array, PLAIN.compiled(np.full(2, 0.01), 0.01))
        given_to = PLAIN.learned(weights_D, weights_F), steps, SOFTMAX.slope.pointer, np.ones(1, np.uint64)
        total, _ = instance_pass(order, one.arrays(), *given_to)
        if one is given:
            score_C = crossed_scores(one.arrays(), weights_D, weights_F)
        else:
            score_C = np.asarray(sparse_scores(one.arrays(), weights_F) + one.dense_CD @ weights_D, np.float64)
        ends.append((total, weights_D, weights_F, score_C))
    assert ends[0][0] == pytest.approx(ends[1][0], rel=1e-9)
    for one, other in zip(ends[0][1:], ends[1][1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert np.count_nonzero(ends[0][2]) > 500
