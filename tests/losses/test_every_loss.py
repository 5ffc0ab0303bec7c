"""What holds of every loss of the registry: a new file in `losses/` is tested without a line here."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
import torch

from xlate.errors import InputError
from xlate.losses.loss import Needs, loss_of, losses

KINDS = losses()
NAMES = [name for name, kind in KINDS.items() if kind.needs is not Needs.LATTICE]
WITH_SLOPES = [name for name, kind in KINDS.items() if kind.slope is not None]
WITH_GAMMA = [name for name in NAMES if "gamma" in inspect.signature(KINDS[name].__init__).parameters]
PIECEWISE_LINEAR = ("hinge", "perceptron", "ramp")
OFFSETS = torch.tensor([0, 4, 4, 5, 9])
# Settings of the losses that have such keys, by the seed of the example: the defaults, then others.
SETTINGS: list[dict[str, float]] = [{}, {"gamma": 2.5, "margin": 0.4}, {"gamma": 0.3, "margin": 3.0}]


def example(name: str, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Nine scores, and what the loss needs of the candidates; no ties."""
    random = np.random.default_rng(seed)
    scores = torch.tensor(random.normal(size=9), dtype=torch.float64, requires_grad=True)
    if KINDS[name].needs is Needs.TRUTH:
        gains = np.array([1, -1, -1, -1, 1, -1, -1, 1, -1], np.float64)
    elif KINDS[name].needs is Needs.STATISTICS:
        gains = random.integers(1, 9, size=(9, 10)).astype(np.float64)
    else:
        gains = random.permutation(9) / 10
    return scores, torch.tensor(gains, dtype=torch.float64)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_finite_differences(name: str, seed: int) -> None:
    scores, gains = example(name, seed)
    loss = loss_of(name, **SETTINGS[seed])
    assert torch.autograd.gradcheck(lambda s: loss(s, gains, OFFSETS), (scores,))


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_are_those_of_differences_and_0_of_piecewise_linear_losses(name: str) -> None:
    scores, gains = example(name, 1)
    loss = loss_of(name, **SETTINGS[1])
    assert torch.autograd.gradgradcheck(lambda s: loss(s, gains, OFFSETS), (scores,))
    hessian = torch.autograd.functional.hessian(lambda s: loss(s, gains, OFFSETS), scores.detach())
    assert bool((hessian.abs() > 1e-3).any()) == (name not in PIECEWISE_LINEAR)


@pytest.mark.parametrize("name", WITH_SLOPES)
@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_slope_is_the_gradient(name: str, seed: int) -> None:
    scores, gains = example(name, seed)
    loss = loss_of(name, **SETTINGS[seed])
    total, slopes = 0.0, np.zeros(9)
    state = np.array([1], np.uint64)
    for first, last in zip(OFFSETS[:-1].tolist(), OFFSETS[1:].tolist(), strict=True):
        if first == last:
            continue
        given = scores.detach().numpy()[first:last].copy(), gains.numpy()[first:last].astype(np.float32)
        slope_X = np.full(last - first, 99.0)
        total += loss.slope.function(*given, slope_X, last - first, loss.numbers_array, state)
        slopes[first:last] = slope_X
    value = loss(scores, gains, OFFSETS)
    value.backward()
    assert total == pytest.approx(float(value.detach()), abs=1e-6)
    assert -slopes == pytest.approx(scores.grad.numpy(), abs=1e-6)


@pytest.mark.parametrize("name", WITH_GAMMA)
def test_gamma_is_the_scale_of_the_scores(name: str) -> None:
    scores, gains = example(name, 4)
    one, other = loss_of(name, gamma=2.5)(scores, gains, OFFSETS), loss_of(name)(2.5 * scores, gains, OFFSETS)
    torch.testing.assert_close(one, other)
    assert one.detach() != loss_of(name)(scores, gains, OFFSETS).detach()


@pytest.mark.parametrize("name", ["hinge", "perceptron", "cll", "softmax_margin"])
def test_of_equal_gains_the_first_is_the_best(name: str) -> None:
    """The second of three candidates is to score more, and neither of the others."""
    loss, slope_X, gains = loss_of(name), np.empty(3), np.array([0.1, 0.9, 0.9], np.float32)
    loss.slope.function(np.zeros(3), gains, slope_X, 3, loss.numbers_array, np.zeros(1, np.uint64))
    scores = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    loss(scores, torch.as_tensor(gains), torch.tensor([0, 3])).backward()
    for up_X in (slope_X, -scores.grad.numpy()):
        assert (up_X > 0).tolist() == [False, True, False]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_costs_nothing(name: str) -> None:
    _, gains = example(name, 1)
    value = loss_of(name)(torch.zeros(0, dtype=torch.float64), gains[:0], torch.tensor([0, 0]))
    assert float(value) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_huge_scores_stay_finite(name: str) -> None:
    _, gains = example(name, 2)
    scores = torch.linspace(-1e5, 1e5, 9, dtype=torch.float64).requires_grad_()
    value = loss_of(name)(scores, gains, OFFSETS)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "pro"])
def test_the_order_of_candidates_does_not_matter(name: str) -> None:
    given, gains = example(name, 3)
    scores = given.detach()
    order = torch.tensor([2, 0, 3, 1, 4, 8, 6, 7, 5])
    loss = loss_of(name)
    assert float(loss(scores, gains, OFFSETS)) == pytest.approx(float(loss(scores[order], gains[order], OFFSETS)))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match="no such loss"):
        loss_of("mse")


@pytest.mark.parametrize("name", NAMES)
def test_scales_and_margins_are_numbers_that_configurations_may_give(name: str) -> None:
    known = inspect.signature(KINDS[name].__init__).parameters
    refused = {"gamma": (0.0, -2.0, math.nan, math.inf), "margin": (-1.0, math.nan, math.inf)}
    for key, values in refused.items():
        for value in values if key in known else ():
            with pytest.raises(InputError, match=f"{key}={value}"):
                loss_of(name, **{key: value})
