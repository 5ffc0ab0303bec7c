"""Families of sparse weights without their mean."""

from __future__ import annotations

import numpy as np
import pytest

from xlate.candidates.batch import CandidateBatch
from xlate.scoring.centring import centred, true_occurrences
from xlate.scoring.weights import Weights

FAMILIES = [("BB", slice(0, 3)), ("TP", slice(3, 5)), ("WB", slice(5, 6))]


def test_the_mean_over_occurrences_of_each_family_goes_and_differences_stay() -> None:
    weights = Weights(np.array([-1.0]), np.array([1.0, 2.0, 4.0, 5.0, 5.0, 7.0]), ("length",))
    count_F = np.array([2, 1, 1, 3, 0, 0])
    found = centred(weights, FAMILIES, count_F)
    # 2, 5, and nothing for a family that does not occur.
    assert found.sparse_F.tolist() == [-1.0, 0.0, 2.0, 0.0, 0.0, 7.0]
    assert found.dense_D.tolist() == [-1.0]
    assert weights.sparse_F[0] == 1.0, "the weights that were given stay"


def test_only_true_candidates_count() -> None:
    events = CandidateBatch(
        candidate_offsets_I1=np.array([0, 2, 3]),
        dense_CD=np.zeros((3, 1), np.float32),
        gain_CG=np.array([[1.0], [-1.0], [1.0]], np.float32),
        part_id_offsets_P1=np.array([0, 2, 3, 5]),
        part_ids_N=np.array([0, 1, 2, 1, 4], np.int32),
    )
    assert true_occurrences(events, 6).tolist() == [1, 2, 0, 0, 1, 0]


def test_scores_with_all_features_known_move_by_the_mean_of_each() -> None:
    random = np.random.default_rng(1)
    weights = Weights(np.zeros(0), random.normal(size=6), ())
    count_F = random.integers(1, 9, size=6)
    found = centred(weights, FAMILIES, count_F)
    for _, ids in FAMILIES:
        moved = weights.sparse_F[ids] - found.sparse_F[ids]
        assert moved == pytest.approx(np.full(len(moved), np.average(weights.sparse_F[ids], weights=count_F[ids])))
        assert found.sparse_F[ids] @ count_F[ids] == pytest.approx(0.0, abs=1e-12)
