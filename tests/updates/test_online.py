"""Online updates: the α of every rule from its definition, and the slopes that all of them become."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tuners.test_mira import FLOATS, SPARSE, features_of, in_parts, random_lists
from xlate.errors import InputError
from xlate.losses.loss import Needs, best_as_truth, loss_of
from xlate.updates.online import AveragedPerceptron, LossSteps, Mira, OneList, OnlineUpdate, PairUpdate, TillmannZhang
from xlate.updates.rule import UpdateRule

RULES: list[PairUpdate] = [Mira(), Mira(2.0, 5.0), AveragedPerceptron(), TillmannZhang(0.5, 0.1)]
CASES = st.integers(0, 5000)
FEW = settings(max_examples=15)


def one_list(seed: int) -> OneList:
    """A list of two candidates or more, some of them oracles and some hypotheses."""
    random = np.random.default_rng(seed)
    lists = random_lists(seed, instances=1, most=7)
    while lists.candidates < 2:
        seed += 1
        lists = random_lists(seed, instances=1, most=7)
    lists = in_parts(lists, seed) if seed % 3 else lists
    size = lists.candidates
    gain_C = np.round(random.random(size), 1)
    rule = UpdateRule(average=True).compiled(np.array([1.0, 0.5, 0.0]), 2.0)
    weights = random.normal(size=FLOATS + SPARSE)
    oracle_M = np.argsort(-gain_C, kind="stable")[: random.integers(1, size + 1)]
    hypothesis_K = np.arange(random.integers(1, size + 1))
    arrays = lists.arrays(gain_C, parts=True)
    score_C = features_of(lists) @ weights
    return OneList(arrays, score_C, gain_C, oracle_M, hypothesis_K, rule, np.zeros(SPARSE))


def naive_alpha(rule: PairUpdate, loss: float, lead: float) -> float:
    """Of one pair by itself, the perceptron's before they are divided by their sum; MIRA's depends on the others."""
    if loss <= 0:
        return 0.0
    if isinstance(rule, AveragedPerceptron):
        return 1.0 if lead <= 0 else 0.0
    assert isinstance(rule, TillmannZhang)
    return rule.eta * loss * max(0.0, 1.0 - lead)


@pytest.mark.parametrize("rule", RULES[2:], ids=lambda rule: rule.name)
@FEW
@given(seed=CASES)
def test_alphas_are_those_of_the_definition(rule: PairUpdate, seed: int) -> None:
    given_list = one_list(seed)
    expected_C, total, pairs = np.zeros(len(given_list.score_C)), 0.0, 0
    for o in given_list.oracle_M:
        for h in given_list.hypothesis_K:
            loss = rule.margin * (given_list.gain_C[o] - given_list.gain_C[h])
            alpha = naive_alpha(rule, loss, given_list.score_C[o] - given_list.score_C[h])
            expected_C[o] += alpha
            expected_C[h] -= alpha
            total, pairs = total + alpha, pairs + (loss > 0)
    if isinstance(rule, AveragedPerceptron) and total:
        expected_C, total = expected_C / total, 1.0
    step = rule.step(given_list)
    assert np.allclose(step.slope_C, expected_C, atol=1e-12)
    assert step.alpha == pytest.approx(total)
    assert step.pairs == pairs


def test_the_perceptron_moves_at_equal_scores_but_not_at_equal_gains() -> None:
    loss_MK, lead_MK = np.array([[0.5, 0.5, 0.5, 0.0]]), np.array([[0.0, -1.0, 1.0, 0.0]])
    assert AveragedPerceptron().violated(loss_MK, lead_MK).tolist() == [[True, True, False, False]]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@FEW
@given(seed=CASES)
def test_no_step_where_no_pair_is_violated(rule: PairUpdate, seed: int) -> None:
    whole = one_list(seed)
    # Scores that grow with gains by far more than any rule asks for.
    step = rule.step(replace(whole, score_C=100.0 * whole.gain_C))
    assert not step.slope_C.any()
    assert (step.violated, step.loss, step.alpha) == (0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["hinge", "local_softmax"])
@FEW
@given(seed=CASES)
def test_a_loss_steps_along_the_gradient_of_its_module(name: str, seed: int) -> None:
    given_list, loss = one_list(seed), loss_of(name)
    offsets_I1 = np.array([0, len(given_list.gain_C)])
    gains = given_list.gain_C.astype(np.float32)
    if loss.needs is Needs.TRUTH:
        gains = best_as_truth(gains, offsets_I1).astype(np.float32)
    scores = torch.tensor(given_list.score_C, requires_grad=True)
    expected = loss(scores, torch.as_tensor(gains.astype(np.float64)), torch.as_tensor(offsets_I1))
    expected.backward()
    step = LossSteps(loss, eta=0.5).step(given_list)
    assert step.loss == pytest.approx(float(expected.detach()), rel=1e-5, abs=1e-6)
    assert np.allclose(step.slope_C, -0.5 * scores.grad.numpy(), atol=1e-6)


def test_what_a_loss_remembers_decides_its_next_step() -> None:
    given_list = one_list(8)
    update: OnlineUpdate = LossSteps(loss_of("pro", least_difference=0.01, pairs=1), 1.0, seed=5)
    before = update.memory.copy()
    first, second = update.step(given_list).slope_C, update.step(given_list).slope_C
    assert not np.array_equal(first, second)
    update.memory[:] = before
    assert np.array_equal(update.step(given_list).slope_C, first)


@pytest.mark.parametrize("name", ["expected_corpus_bleu", "lattice_softmax", "one_vs_rest"])
def test_what_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="not a loss of one list"):
        LossSteps(loss_of(name), 0.1)
