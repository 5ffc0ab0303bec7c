"""The compiled scorer: the same scores and gradients as the reference's, of plain candidates and of those in parts."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scoring.test_linear import random_weights, scorer_of
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
