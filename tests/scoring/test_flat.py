"""The scorer of bags that are written out: the same scores and gradients as the reference's."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scoring.test_linear import SPARSE, random_weights, scorer_of
from tests.strategies import ragged_batches
from xlate.candidates.batch import CandidateBatch
from xlate.scoring.flat import FlatScorer


def flat_of(batch: CandidateBatch, dense_D: np.ndarray, sparse_F: np.ndarray) -> FlatScorer:
    """The scorer of a batch's written-out bags."""
    ids_N, offsets_C1, values_N = batch.flat_ids()
    values_N = np.ones(len(ids_N), np.float32) if values_N is None else values_N
    return FlatScorer(batch.dense_CD.astype(np.float64), offsets_C1, ids_N, values_N, dense_D, sparse_F)


@settings(max_examples=60, deadline=None)
@given(ragged_batches(), st.integers(0, 999))
def test_scores_and_gradients_are_those_of_the_reference(batch: CandidateBatch, seed: int) -> None:
    weights = random_weights(batch, seed)
    flat, reference = flat_of(batch, *weights), scorer_of(*weights)
    base_C = 0.0 if batch.base_C is None else torch.as_tensor(batch.base_C, dtype=torch.float64)
    slopes_C = torch.as_tensor(np.random.default_rng(seed).integers(-1, 2, batch.candidates), dtype=torch.float64)
    torch.testing.assert_close(flat() + base_C, reference(batch), rtol=1e-9, atol=1e-9)
    (flat() * slopes_C).sum().backward()
    (reference(batch) * slopes_C).sum().backward()
    assert flat.dense.grad is not None
    assert flat.sparse.grad is not None
    torch.testing.assert_close(flat.dense.grad, reference.dense.grad, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(flat.sparse.grad, reference.bag.weight.grad[:, 0], rtol=1e-9, atol=1e-9)


def test_gradient_check() -> None:
    random = np.random.default_rng(2)
    offsets, ids = np.array([0, 2, 2, 5]), np.array([0, 3, 1, 3, 2], np.int32)
    bags = offsets, ids, random.normal(size=5).astype(np.float32)
    scorer = FlatScorer(random.normal(size=(3, 2)), *bags, random.normal(size=2), random.normal(size=SPARSE))

    def squares(sparse_F: torch.Tensor) -> torch.Tensor:
        scores_C: torch.Tensor = torch.func.functional_call(scorer, {"sparse": sparse_F}, ())
        return scores_C**2

    assert torch.autograd.gradcheck(squares, (torch.randn(SPARSE, dtype=torch.float64, requires_grad=True),))


def test_learning_leaves_the_weights_it_began_at_alone() -> None:
    dense_D, sparse_F = np.ones(2), np.ones(3)
    bags = np.array([0, 1]), np.array([2], np.int32), np.ones(1, np.float32)
    scorer = FlatScorer(np.ones((1, 2)), *bags, dense_D, sparse_F)
    scorer().sum().backward()
    torch.optim.SGD(scorer.parameters(), lr=1.0).step()
    assert scorer().item() == 0.0
    assert dense_D.tolist() == [1.0, 1.0]
    assert sparse_F.tolist() == [1.0, 1.0, 1.0]


def test_a_model_without_sparse_features_has_no_bags() -> None:
    nothing = np.zeros(0, np.int32)
    scorer = FlatScorer(np.eye(2), np.zeros(3, np.int64), nothing, nothing.astype(np.float32), np.ones(2), np.zeros(0))
    assert scorer().tolist() == [1.0, 1.0]
