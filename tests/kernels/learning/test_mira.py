"""The quadratic program of margins: what only its solution has, and what must hold of any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tuners.test_mira import FLOATS, SPARSE, features_of, in_parts, random_lists
from xlate.kernels.learning.mira import inner_products, largest_margins, margin_step
from xlate.updates.online import STEPS

Matrix = np.ndarray
CASES = st.integers(0, 10_000)
MOST = st.sampled_from([0.01, 0.3, 5.0, 1e6])


def program(seed: int) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
    """Features and scores of some candidates, oracles and hypotheses among them, and losses of all pairs."""
    random = np.random.default_rng(seed)
    candidates = int(random.integers(2, 7))
    features_CF = random.integers(-2, 3, (candidates, 5)) + (random.normal(size=(candidates, 5)) if seed % 2 else 0.0)
    gain_C, score_C = random.random(candidates), features_CF @ random.normal(size=5)
    oracle_M = np.sort(random.choice(candidates, random.integers(1, candidates), replace=False))
    hypothesis_K = np.sort(random.choice(candidates, random.integers(1, candidates), replace=False))
    return features_CF, score_C, oracle_M, hypothesis_K, gain_C[oracle_M][:, None] - gain_C[hypothesis_K]


def solved(seed: int, most: float) -> Matrix:
    features_CF, score_C, oracle_M, hypothesis_K, loss_MK = program(seed)
    products_CC = features_CF @ features_CF.T
    alpha_MK: Matrix = largest_margins(products_CC, score_C, oracle_M, hypothesis_K, loss_MK, most, STEPS)
    return alpha_MK


def differences(seed: int) -> tuple[Matrix, Matrix]:
    """Of the pairs whose loss is above 0, one after the other: features, and what they lack of their loss."""
    features_CF, score_C, oracle_M, hypothesis_K, loss_MK = program(seed)
    wanted = np.flatnonzero(loss_MK.reshape(-1) > 0)
    delta_PF = (features_CF[oracle_M][:, None] - features_CF[hypothesis_K]).reshape(-1, features_CF.shape[1])
    lead_P = (score_C[oracle_M][:, None] - score_C[hypothesis_K]).reshape(-1)
    return delta_PF[wanted], loss_MK.reshape(-1)[wanted] - lead_P[wanted]


def dual(alpha_P: Matrix, delta_PF: Matrix, lacking_P: Matrix) -> float:
    step_F = alpha_P @ delta_PF
    return float(-0.5 * step_F @ step_F + alpha_P @ lacking_P)


@given(CASES, st.sampled_from([0.01, 0.3, 5.0]))
def test_it_has_the_gap_of_0_that_only_the_solution_has(seed: int, most: float) -> None:
    """The primal objective at the step equals the dual, so both are best (to 1e-6 and far below)."""
    delta_PF, lacking_P = differences(seed)
    alpha_MK, loss_MK = solved(seed, most), program(seed)[4]
    assert (alpha_MK >= 0).all()
    assert (alpha_MK[loss_MK <= 0] == 0).all()
    assert alpha_MK.sum() <= most * (1 + 1e-12)
    alpha_P = alpha_MK.reshape(-1)[loss_MK.reshape(-1) > 0]
    step_F = alpha_P @ delta_PF
    slack = max(0.0, float((lacking_P - delta_PF @ step_F).max(initial=0.0)))
    primal = 0.5 * step_F @ step_F + most * slack
    assert primal == pytest.approx(dual(alpha_P, delta_PF, lacking_P), abs=1e-6)


@given(CASES, MOST)
def test_nothing_moves_where_every_margin_holds(seed: int, most: float) -> None:
    features_CF, score_C, oracle_M, hypothesis_K, loss_MK = program(seed)
    lead_MK = score_C[oracle_M][:, None] - score_C[hypothesis_K]
    held_MK = np.minimum(loss_MK, lead_MK)
    alpha_MK = largest_margins(features_CF @ features_CF.T, score_C, oracle_M, hypothesis_K, held_MK, most, STEPS)
    assert not alpha_MK.any()


@given(CASES, MOST)
def test_one_pair_has_the_closed_form(seed: int, most: float) -> None:
    random = np.random.default_rng(seed)
    features_CF, score_C = random.normal(size=(2, 4)), random.normal(size=2)
    loss = float(random.random())
    delta_F = features_CF[0] - features_CF[1]
    expected = max(0.0, min(most, (loss - (score_C[0] - score_C[1])) / float(delta_F @ delta_F)))
    rows = np.array([0]), np.array([1])
    found = largest_margins(features_CF @ features_CF.T, score_C, *rows, np.array([[loss]]), most, STEPS)
    assert found[0, 0] == pytest.approx(expected, rel=1e-9)


def test_candidates_of_the_same_features_get_what_there_is() -> None:
    alpha_MK = largest_margins(np.ones((2, 2)), np.zeros(2), np.array([0]), np.array([1]), np.ones((1, 1)), 0.5, STEPS)
    assert alpha_MK.tolist() == [[0.5]]
    assert margin_step(-1.0, 2.0, 0.5) == 0.0


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
