"""The pass over instances against Table II in NumPy and against autograd; the error rate of Eq. 13 against loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.losses.instances import online_update
from tests.strategies import ragged_batches
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.instances import InstanceSteps, instance_pass, prediction_errors
from xlate.losses.hinge import Hinge
from xlate.losses.local_softmax import LocalSoftmax
from xlate.scoring.linear import LinearScorer
from xlate.updates.rule import UpdateRule

DENSE, SPARSE, SINK = 3, 9, -4.0
BATCHES = ragged_batches(two_level=False, extras=False, dense=DENSE, sparse=SPARSE, max_instances=6)


def run(batch: CandidateBatch, order: np.ndarray, weights_W: np.ndarray, eta_W: np.ndarray, **options: Any) -> float:
    """The pass on one vector of all weights, dense ones first; `eta_W` holds one step for all sparse ones.

    With `sums_W` weights are averaged: it takes the sums of all values they had, the last ones included.
    """
    sums_W, loss = options.get("sums_W"), options.get("loss", LocalSoftmax(SINK))
    rule = UpdateRule(
        options.get("adaptive", False), options.get("l1", 0.0), options.get("l2", 0.0),
        average=sums_W is not None, project=options.get("project", False),
    )  # fmt: skip
    learned = rule.learned(weights_W[:DENSE], weights_W[DENSE:], rule.memory(DENSE, SPARSE))
    etas = eta_W[:DENSE], float(eta_W[-1])
    steps = InstanceSteps(
        loss.numbers_array, rule.compiled(*etas), options.get("use_sparse", True), "curvatures" in options
    )
    state = np.ones(1, dtype=np.uint64)
    slope = options.get("slope", loss.slope.pointer)
    met, curvature = options.get("kernel", instance_pass)(order, batch.arrays(), learned, steps, slope, state)
    means = rule.result(learned, *etas)
    if sums_W is not None:
        sums_W += np.concatenate(means) * (learned.clock_1[0] + 1)
    options.get("curvatures", []).append(curvature)
    return met


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
    path: list[np.ndarray] | None = None,
    curvatures: list[float] | None = None,
) -> float:
    """Table II with a step for each weight, floats above 0 set to 0 after every candidate; returns the loss.

    Before each step all sparse weights shrink. `path` takes down the weights at the beginning and after every step.
    """
    vectors_CW, loss, curvature = vectors(batch), 0.0, 0.0
    floats = np.arange(DENSE + SPARSE) < DENSE
    path = [] if path is None else path
    path.append(weights_W.copy())
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
    if curvatures is not None:
        curvatures.append(curvature)
    return loss


def steps(dense: float | list[float], sparse: float) -> np.ndarray:
    return np.concatenate([np.full(DENSE, dense), np.full(SPARSE, sparse)])


def close(seen: object, expected: object) -> None:
    np.testing.assert_allclose(seen, expected, rtol=1e-6, atol=1e-9)


def random_start(batch: CandidateBatch, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An order in which instances repeat, and weights."""
    random = np.random.default_rng(seed)
    order = random.integers(0, len(batch), 2 * len(batch)) if len(batch) else np.zeros(0, dtype=np.int64)
    return order, random.normal(size=DENSE + SPARSE)


@settings(max_examples=50, deadline=None)
@given(BATCHES, st.integers(0, 999), st.sampled_from([0.01, 0.3]))
def test_an_epoch_equals_table_ii(batch: CandidateBatch, seed: int, eta: float) -> None:
    order, weights_W = random_start(batch, seed)
    expected_W, vectors_CW = weights_W.copy(), vectors(batch)
    for i in order:
        positives, negatives = split(batch, i)
        online_update(expected_W, [vectors_CW[c] for c in positives], [vectors_CW[c] for c in negatives], eta)
    run(batch, order, weights_W, steps(eta, eta))
    close(weights_W, expected_W)


@settings(max_examples=50, deadline=None)
@given(
    BATCHES,
    st.integers(0, 999),
    st.sampled_from([(0.1, 0.1), (0.0, 0.2), (0.2, 0.0), ([0.1, 0.0, 0.3], 0.1)]),
    st.booleans(),
)
def test_steps_by_weight_and_projection_equal_the_eager_twin(
    batch: CandidateBatch, seed: int, etas: tuple[float, float], project: bool
) -> None:
    order, weights_W = random_start(batch, seed)
    expected_W, before_W = weights_W.copy(), weights_W.copy()
    expected = eager_epoch(batch, order, expected_W, steps(*etas), project=project)
    assert run(batch, order, weights_W, steps(*etas), project=project) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    close(weights_W, expected_W)
    fixed = steps(*etas) == 0
    assert weights_W[fixed].tolist() == before_W[fixed].tolist()


@settings(max_examples=60, deadline=None)
@given(BATCHES, st.integers(0, 999), st.sampled_from([(0.3, 0.0), (0.0, 0.4), (0.0, 0.0), (1e-3, 0.0)]))
def test_lazy_shrinkage_and_averages_equal_their_eager_twins(
    batch: CandidateBatch, seed: int, penalties: tuple[float, float]
) -> None:
    order, weights_W = random_start(batch, seed)
    expected_W, sums_W, path = weights_W.copy(), np.zeros(DENSE + SPARSE), []
    l1, l2 = penalties
    expected = eager_epoch(batch, order, expected_W, steps(0.1, 0.2), l1=l1, l2=l2, path=path)
    loss = run(batch, order, weights_W, steps(0.1, 0.2), l1=l1, l2=l2, sums_W=sums_W)
    assert loss == pytest.approx(expected, rel=1e-6, abs=1e-9)
    close(weights_W, expected_W)
    close(sums_W / len(path), np.mean(path, axis=0))


@settings(max_examples=60, deadline=None)
@given(BATCHES, st.integers(0, 999), st.sampled_from([0.0, 1.0]))
def test_perceptron_and_hinge_equal_their_eager_twins(batch: CandidateBatch, seed: int, margin: float) -> None:
    order, weights_W = random_start(batch, seed)
    expected_W = weights_W.copy()
    expected = eager_epoch(batch, order, expected_W, steps(0.1, 0.2), margin=margin)
    loss = run(batch, order, weights_W, steps(0.1, 0.2), loss=Hinge(margin=margin))
    assert loss == pytest.approx(expected, rel=1e-6, abs=1e-9)
    close(weights_W, expected_W)


@settings(max_examples=40, deadline=None)
@given(BATCHES, st.integers(0, 999))
def test_the_curvature_is_the_squared_gradient_times_the_step(batch: CandidateBatch, seed: int) -> None:
    order, weights_W = random_start(batch, seed)
    expected_W, seen, expected = weights_W.copy(), [], []
    eager_epoch(batch, order, expected_W, steps(0.1, 0.2), curvatures=expected)
    run(batch, order, weights_W, steps(0.1, 0.2), curvatures=seen)
    assert seen == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_projection_keeps_trained_floats_at_or_below_zero(rng: np.random.Generator) -> None:
    batch = random_batch(rng, 50)
    batch.dense_CD[::5, 0] += 2  # where it may, the first weight rises
    weights_W, free_W = np.zeros(DENSE + SPARSE), np.zeros(DENSE + SPARSE)
    run(batch, np.arange(50), weights_W, steps(0.1, 0.1), project=True)
    run(batch, np.arange(50), free_W, steps(0.1, 0.1))
    assert (weights_W[:DENSE] <= 0).all()
    assert free_W[0] > 0.1
    assert (weights_W[DENSE:] > 0).any(), "only floats are costs"


def test_sparse_weights_that_are_not_used_do_not_count(rng: np.random.Generator) -> None:
    batch = random_batch(rng, 30)
    loud_W, silent_W = np.concatenate([np.zeros(DENSE), rng.normal(size=SPARSE)]), np.zeros(DENSE + SPARSE)
    loud = run(batch, np.arange(30), loud_W, steps(0.1, 0.0), use_sparse=False)
    assert loud == run(batch, np.arange(30), silent_W, steps(0.1, 0.0))
    assert loud_W[:DENSE].tolist() == silent_W[:DENSE].tolist()


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


def test_autograd_with_plain_sgd_steps_the_same(rng: np.random.Generator) -> None:
    """LinearScorer and LocalSoftmax, one plain step down the gradient a positive, as nobody would run it."""
    batch, eta = random_batch(rng, 25), 0.2
    batch.gain_CG[2::7] = 1
    scorer, loss = LinearScorer(DENSE, SPARSE), LocalSoftmax(SINK)
    weights = [scorer.dense, scorer.bag.weight]
    order, total = rng.permutation(25), 0.0
    for i in order:
        alone = batch.select([i])
        positives, _ = split(alone, 0)
        for positive in positives:
            # The other positives count neither as truth nor as alternatives.
            rows = [c for c in range(alone.candidates) if c == positive or c not in positives]
            scores = scorer(alone)[rows]
            gain = torch.tensor([1.0 if c == positive else -1.0 for c in rows])
            value = loss(scores, gain, torch.tensor([0, len(rows)]))
            with torch.no_grad():
                for weight, gradient in zip(weights, torch.autograd.grad(value, weights), strict=True):
                    weight -= eta * gradient
            total += float(value.detach())
    weights_W = np.zeros(DENSE + SPARSE)
    assert run(batch, order, weights_W, steps(eta, eta)) == pytest.approx(total, rel=1e-6)
    close(weights_W[:DENSE], scorer.dense.detach().numpy())
    close(weights_W[DENSE:], scorer.bag.weight.detach().numpy()[:, 0])


def test_more_candidates_than_the_first_buffer_holds(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both as compiled and as plain Python, where NumPy checks every index."""
    batch = random_batch(rng, 3, candidates=200)
    weights_W = np.zeros(DENSE + SPARSE)
    expected_W = weights_W.copy()
    expected = eager_epoch(batch, np.arange(3), expected_W, steps(0.1, 0.1))
    assert run(batch, np.arange(3), weights_W, steps(0.1, 0.1)) == pytest.approx(expected, rel=1e-6)
    close(weights_W, expected_W)
    # Only compiled code can be lent arrays.
    monkeypatch.setattr("xlate.kernels.learning.instances.lent", lambda arrays: arrays)
    interpreted_W, plain = np.zeros(DENSE + SPARSE), LocalSoftmax.slope.function
    run(batch, np.arange(3), interpreted_W, steps(0.1, 0.1), kernel=instance_pass.py_func, slope=plain)
    close(interpreted_W, expected_W)


def test_huge_scores_do_not_overflow() -> None:
    """A true candidate at 1e5 against one at -1e5 is certain; the other way round the step is the whole eta."""
    batch = CandidateBatch(
        np.array([0, 2]), np.array([[1, 0, 0], [-1, 0, 0]], np.float32), np.array([[1], [-1]], np.float32),
        np.zeros(3, np.int64), np.zeros(0, np.int32),
    )  # fmt: skip
    for start, loss, moved in [(1e5, 0.0, 0.0), (-1e5, 2e5, 0.5 * 2)]:
        weights_W = np.zeros(DENSE + SPARSE)
        weights_W[0] = start
        assert run(batch, np.array([0]), weights_W, steps(0.5, 0.5)) == pytest.approx(loss, abs=1e-9)
        assert weights_W[0] - start == pytest.approx(moved, abs=1e-9)


def naive_errors(batch: CandidateBatch, scores_C: np.ndarray) -> int:
    """Instances in which some alternative scores at least as high as every true one."""
    errors = 0
    for i in range(len(batch)):
        positives, negatives = split(batch, i)
        errors += any(all(scores_C[n] >= scores_C[p] for p in positives) for n in negatives)
    return errors


def measure(batch: CandidateBatch, weights_W: np.ndarray, use_sparse: bool = True) -> tuple[int, float, int]:
    everything_I = np.arange(len(batch), dtype=np.int64)
    loss = LocalSoftmax(SINK)
    given = use_sparse, loss.numbers_array, loss.slope.pointer
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
    expected = LocalSoftmax(SINK)(
        torch.as_tensor(scores_C), torch.as_tensor(batch.gain_CG[:, 0]), torch.as_tensor(batch.candidate_offsets_I1)
    )
    assert loss == pytest.approx(float(expected), rel=1e-8, abs=1e-8)
    assert positives == int((batch.gain_CG > 0).sum())
    if rounded:
        assert errors == naive_errors(batch, scores_C)


def test_a_tie_is_an_error_and_an_empty_instance_is_none() -> None:
    """Instances: tie, win, loss, no candidates, a positive alone, a negative alone."""
    scores = np.array([1, 1, 2, 1, 1, 2, 0, 0], np.float32)
    gains = np.array([1, -1, 1, -1, 1, -1, 1, -1], np.float32)
    offsets = offsets_of([2, 2, 2, 0, 1, 1])
    dense_CD = np.zeros((8, DENSE), np.float32)
    dense_CD[:, 0] = scores
    batch = CandidateBatch(offsets, dense_CD, gains[:, None], np.zeros(9, np.int64), np.zeros(0, np.int32)).validate()
    weights_W = steps([1.0, 0.0, 0.0], 0.0)
    assert measure(batch, weights_W)[0] == 3
    assert measure(batch, np.zeros(DENSE + SPARSE))[0] == 4, "weights of zero err wherever there is an alternative"


def test_the_measure_can_leave_sparse_weights_out(rng: np.random.Generator) -> None:
    batch, weights_W = random_batch(rng, 40), rng.normal(size=DENSE + SPARSE)
    dense_only_W = np.concatenate([weights_W[:DENSE], np.zeros(SPARSE)])
    assert measure(batch, weights_W, use_sparse=False) == measure(batch, dense_only_W)
    assert measure(batch, weights_W) != measure(batch, dense_only_W)
