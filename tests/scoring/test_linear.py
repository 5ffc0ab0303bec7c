"""The linear scorer against a loop over nested lists, and its gradient; the compiled one against the reference."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.candidates.plain_lists import listed
from tests.candidates.test_batch import example
from tests.strategies import ragged_batches
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.lists import list_losses, list_room
from xlate.losses.loss import loss_of
from xlate.scoring.linear import CompiledScorer, LinearScorer
from xlate.updates.rule import UpdateRule

SPARSE = 9


def scorer_of(dense_D: np.ndarray, sparse_F: np.ndarray, *, sparse_gradient: bool = False) -> LinearScorer:
    """A scorer with these weights."""
    scorer = LinearScorer(len(dense_D), len(sparse_F), sparse_gradient=sparse_gradient)
    with torch.no_grad():
        scorer.dense.copy_(torch.as_tensor(dense_D))
        scorer.bag.weight.copy_(torch.as_tensor(sparse_F)[:, None])
    return scorer


def random_weights(batch: CandidateBatch, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=batch.dense_CD.shape[1]), random.normal(size=SPARSE)


@settings(max_examples=80, deadline=None)
@given(ragged_batches(), st.integers(0, 999))
def test_scores_equal_a_loop(batch: CandidateBatch, seed: int) -> None:
    dense_D, sparse_F = random_weights(batch, seed)
    expected = [
        sum(w * v for w, v in zip(dense_D, candidate.dense, strict=True))
        + sum(sparse_F[key] * value for key, value in candidate.ids)
        + (candidate.base or 0.0)
        for instance in listed(batch)
        for candidate in instance
    ]
    scores_C = scorer_of(dense_D, sparse_F)(batch)
    assert scores_C.dtype == torch.float64
    np.testing.assert_allclose(scores_C.detach().numpy(), np.array(expected, np.float64), rtol=1e-9, atol=1e-9)


def test_weights_begin_at_zero_and_a_model_without_features_scores_zero() -> None:
    bare = CandidateBatch(
        np.array([0, 2]), np.zeros((2, 0), np.float32), np.ones((2, 1), np.float32),
        np.zeros(3, np.int64), np.zeros(0, np.int32),
    )  # fmt: skip
    assert LinearScorer(0, 0)(bare.validate()).tolist() == [0, 0]
    assert LinearScorer(2, 10)(example()).tolist() == [0, 0, 0]


def compiled_of(
    batch: CandidateBatch, dense_D: np.ndarray, sparse_F: np.ndarray, *, parts: bool = False
) -> CompiledScorer:
    """The compiled scorer of a batch, the parts of a plain one written out if asked."""
    return CompiledScorer(batch.arrays(parts=parts), batch.dense_CD.astype(np.float64), dense_D, sparse_F)


@settings(max_examples=60, deadline=None)
@given(ragged_batches(), st.integers(0, 999), st.booleans())
def test_scores_and_gradients_are_those_of_the_reference(batch: CandidateBatch, seed: int, parts: bool) -> None:
    weights = random_weights(batch, seed)
    compiled, reference = compiled_of(batch, *weights, parts=parts), scorer_of(*weights)
    slopes_C = torch.as_tensor(np.random.default_rng(seed).integers(-1, 2, batch.candidates), dtype=torch.float64)
    torch.testing.assert_close(compiled(), reference(batch), rtol=1e-9, atol=1e-9)
    (compiled() * slopes_C).sum().backward()
    (reference(batch) * slopes_C).sum().backward()
    torch.testing.assert_close(compiled.dense.grad, reference.dense.grad, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(compiled.sparse.grad, reference.bag.weight.grad[:, 0], rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(ragged_batches(), st.integers(0, 999))
def test_the_best_of_each_list_has_the_highest_score(batch: CandidateBatch, seed: int) -> None:
    weights = random_weights(batch, seed)
    scores_C = compiled_of(batch, *weights)().detach().numpy()
    lists, loss, best_I = batch.arrays(parts=True), loss_of("cll"), np.empty(len(batch), np.int64)
    given = lists, UpdateRule().learned(*weights), loss.numbers_array, list_room(lists, 1), loss.pointer
    list_losses(np.arange(len(batch)), *given, best_I, None)
    for i, best in enumerate(best_I.tolist()):
        first, last = batch.candidate_offsets_I1[i : i + 2]
        assert best == -1 if first == last else first <= best < last
        if first < last:
            assert scores_C[best] >= scores_C[first:last].max() - 1e-9
