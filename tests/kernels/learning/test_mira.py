"""The quadratic program of margins: what only its solution has, and the inner products that it is made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tuners.test_mira import FLOATS, SPARSE, features_of, in_parts, random_lists
from xlate.kernels.learning.mira import inner_products, largest_margins
from xlate.updates.online import STEPS

Matrix = np.ndarray
CASES = st.integers(0, 10_000)


def program(seed: int) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
    """Features and scores of some candidates, oracles and hypotheses among them, and losses of all pairs."""
    random = np.random.default_rng(seed)
    candidates = int(random.integers(2, 7))
    features_CF = random.integers(-2, 3, (candidates, 5)) + (random.normal(size=(candidates, 5)) if seed % 2 else 0.0)
    gain_C, score_C = random.random(candidates), features_CF @ random.normal(size=5)
    oracle_M = np.sort(random.choice(candidates, random.integers(1, candidates), replace=False))
    hypothesis_K = np.sort(random.choice(candidates, random.integers(1, candidates), replace=False))
    return features_CF, score_C, oracle_M, hypothesis_K, gain_C[oracle_M][:, None] - gain_C[hypothesis_K]


@given(CASES, st.sampled_from([0.01, 0.3, 5.0]))
def test_it_has_the_gap_of_0_that_only_the_solution_has(seed: int, most: float) -> None:
    """The primal objective at the step equals the dual, so both are best (to 1e-6 and far below)."""
    features_CF, score_C, oracle_M, hypothesis_K, loss_MK = program(seed)
    products_CC = features_CF @ features_CF.T
    alpha_MK = largest_margins(products_CC, score_C, oracle_M, hypothesis_K, loss_MK, most, STEPS)
    wanted_MK = loss_MK > 0
    assert (alpha_MK >= 0).all()
    assert not alpha_MK[~wanted_MK].any()
    assert alpha_MK.sum() <= most * (1 + 1e-12)
    delta_MKF = features_CF[oracle_M][:, None] - features_CF[hypothesis_K]
    lacking_MK = loss_MK - (score_C[oracle_M][:, None] - score_C[hypothesis_K])
    step_F = np.tensordot(alpha_MK, delta_MKF)
    slack = (lacking_MK - delta_MKF @ step_F)[wanted_MK].max(initial=0.0)
    primal = 0.5 * step_F @ step_F + most * slack
    assert primal == pytest.approx(-0.5 * step_F @ step_F + (alpha_MK * lacking_MK).sum(), abs=1e-6)


def test_candidates_of_the_same_features_get_what_there_is() -> None:
    alpha_MK = largest_margins(np.ones((2, 2)), np.zeros(2), np.array([0]), np.array([1]), np.ones((1, 1)), 0.5, STEPS)
    assert alpha_MK.tolist() == [[0.5]]


@given(CASES, st.booleans(), st.sampled_from([1.0, 0.25, 0.0]))
def test_inner_products_are_those_of_written_out_features(seed: int, parts: bool, rate: float) -> None:
    lists = random_lists(seed, instances=1, most=6)
    lists = in_parts(lists, seed) if parts else lists
    rate_D = np.array([1.0, 0.0, 2.0])
    room_F = np.zeros(SPARSE)
    found_CC = inner_products(lists.arrays(np.zeros(lists.candidates), parts=True), rate_D, rate, room_F)
    matrix = features_of(lists)
    matrix[:, :FLOATS] -= matrix[0, :FLOATS]
    scales = np.append(rate_D, np.full(SPARSE, rate))
    assert np.allclose(found_CC, (matrix * scales) @ matrix.T, atol=1e-5)
    assert not room_F.any()
