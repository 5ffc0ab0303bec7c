"""The compiled scorer: the same scores and gradients as the reference's, of plain candidates and of those in parts."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scoring.test_linear import SPARSE, random_weights, scorer_of
from tests.strategies import ragged_batches
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.scores import best_candidates
from xlate.scoring.linear import CompiledScorer


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
    assert compiled.dense.grad is not None
    assert compiled.sparse.grad is not None
    torch.testing.assert_close(compiled.dense.grad, reference.dense.grad, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(compiled.sparse.grad, reference.bag.weight.grad[:, 0], rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(ragged_batches(), st.integers(0, 999))
def test_the_best_of_each_list_has_the_highest_score(batch: CandidateBatch, seed: int) -> None:
    weights = random_weights(batch, seed)
    scores_C = compiled_of(batch, *weights)().detach().numpy()
    found = best_candidates(batch.arrays(parts=True), *weights)
    for i, best in enumerate(found.tolist()):
        first, last = batch.candidate_offsets_I1[i : i + 2]
        assert best == -1 if first == last else first <= best < last
        if first < last:
            assert scores_C[best] >= scores_C[first:last].max() - 1e-9


def one_list(dense_CD: np.ndarray, *bags: np.ndarray) -> CandidateBatch:
    count = len(dense_CD)
    gains = np.zeros((count, 1), np.float32)
    return CandidateBatch(np.array([0, count]), dense_CD.astype(np.float32), gains, *bags[:2], part_values_N=bags[2])


def test_gradient_check() -> None:
    random = np.random.default_rng(2)
    bags = np.array([0, 2, 2, 5]), np.array([0, 3, 1, 3, 2], np.int32), random.normal(size=5).astype(np.float32)
    scorer = compiled_of(one_list(random.normal(size=(3, 2)), *bags), random.normal(size=2), random.normal(size=SPARSE))

    def squares(sparse_F: torch.Tensor) -> torch.Tensor:
        scores_C: torch.Tensor = torch.func.functional_call(scorer, {"sparse": sparse_F}, ())
        return scores_C**2

    assert torch.autograd.gradcheck(squares, (torch.randn(SPARSE, dtype=torch.float64, requires_grad=True),))


def test_learning_leaves_the_weights_it_began_at_alone() -> None:
    dense_D, sparse_F = np.ones(2), np.ones(3)
    bags = np.array([0, 1]), np.array([2], np.int32), np.ones(1, np.float32)
    scorer = compiled_of(one_list(np.ones((1, 2)), *bags), dense_D, sparse_F)
    scorer().sum().backward()
    torch.optim.SGD(scorer.parameters(), lr=1.0).step()
    assert scorer().item() == 0.0
    assert dense_D.tolist() == [1.0, 1.0]
    assert sparse_F.tolist() == [1.0, 1.0, 1.0]


def test_a_model_without_sparse_features_has_no_bags() -> None:
    nothing = np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
    assert compiled_of(one_list(np.eye(2), *nothing), np.ones(2), np.zeros(0))().tolist() == [1.0, 1.0]
