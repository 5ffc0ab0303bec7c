"""Second derivatives of every loss: those of smooth ones against differences, those of piecewise linear ones 0."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import xlate.losses
from tests.kernels.search.lattices import all_paths, arc_graphs, marked_paths, scores_of
from xlate.losses.expected_bleu import ExpectedBleu, ExpectedCorpusBleu
from xlate.losses.hinge import Hinge, Perceptron
from xlate.losses.lattice_softmax import LatticeSoftmax, lattice_log_sum, plain_log_sum
from xlate.losses.local_softmax import LocalSoftmax
from xlate.losses.loss import Loss
from xlate.losses.one_vs_rest import OneVsRest
from xlate.losses.pro import PairwiseLogistic, Pro
from xlate.losses.ramp import Ramp
from xlate.losses.softmax_margin import ConditionalLikelihood, SoftmaxMargin

SMOOTH: dict[str, nn.Module] = {
    "expected": ExpectedBleu(1.7),
    "likelihood": ConditionalLikelihood(),
    "softmax margin": SoftmaxMargin(margin=2.0),
    "pairwise": PairwiseLogistic(torch.tensor([0, 5]), torch.tensor([2, 8])),
    "pairs by lot": Pro(pairs=3, least_difference=0.01),
    "local softmax": LocalSoftmax(-4.0),
    "one against the rest": OneVsRest(),
}
LINEAR: dict[str, nn.Module] = {
    "ramp 1": Ramp(2.0, 1),
    "ramp 2": Ramp(2.0, 2),
    "ramp 3": Ramp(2.0, 3),
    "hinge": Hinge(),
    "perceptron": Perceptron(),
}


def loss_of(module: nn.Module, seed: int) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """A loss as a function of the scores of four lists, one of them empty, and some scores."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(9, generator=generator, dtype=torch.float64, requires_grad=True)
    # Both signs: true candidates and alternatives.
    gains = torch.rand(9, generator=generator, dtype=torch.float64) - 0.5
    return lambda s: module(s, gains, torch.tensor([0, 4, 4, 5, 9])), scores


def by_differences(loss: Callable[[Tensor], Tensor], scores: Tensor, step: float = 1e-4) -> Tensor:
    """Second derivatives from differences of gradients."""
    rows = []
    for c in range(len(scores)):
        moved = torch.zeros_like(scores)
        moved[c] = step
        sides = [(scores.detach() + sign * moved).requires_grad_() for sign in (1, -1)]
        up, down = (torch.autograd.grad(loss(side), side)[0] for side in sides)
        rows.append((up - down) / (2 * step))
    return torch.stack(rows)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("seed", range(3))
def test_second_derivatives_of_smooth_losses(name: str, seed: int) -> None:
    loss, scores = loss_of(SMOOTH[name], seed)
    assert torch.autograd.gradgradcheck(loss, (scores,))
    hessian = torch.autograd.functional.hessian(loss, scores.detach())
    assert hessian.abs().max() > 1e-3
    torch.testing.assert_close(hessian, by_differences(loss, scores), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("seed", range(3))
def test_piecewise_linear_losses_have_none(name: str, seed: int) -> None:
    loss, scores = loss_of(LINEAR[name], seed)
    assert torch.equal(torch.autograd.functional.hessian(loss, scores.detach()), torch.zeros(9, 9).double())
    # Zero is what differences say too, so it is not a gradient that was forgotten.
    assert torch.equal(by_differences(loss, scores), torch.zeros(9, 9).double())


def test_second_derivatives_of_expected_corpus_bleu() -> None:
    statistics = torch.tensor(
        [[9, 10, 8, 5, 3, 2, 9, 8, 7, 6], [5, 4, 3, 2, 1, 1, 5, 4, 3, 2], [6, 7, 6, 4, 2, 1, 6, 5, 4, 3]],
        dtype=torch.float64,
    )
    scores = torch.tensor([0.3, -0.1, 0.7], dtype=torch.float64, requires_grad=True)
    offsets = torch.tensor([0, 2, 2, 3])
    assert torch.autograd.gradgradcheck(lambda s: ExpectedCorpusBleu(1.5)(s, statistics, offsets), (scores,))


def test_instances_without_alternatives_have_second_derivatives() -> None:
    scores = torch.tensor([0.3, -0.1, 0.7, 2.0], dtype=torch.float64, requires_grad=True)
    gains, offsets = torch.tensor([1.0, 1.0, 1.0, -1.0]), torch.tensor([0, 2, 4])
    assert torch.autograd.gradgradcheck(lambda s: LocalSoftmax(-4.0)(s, gains, offsets), (scores,))


@settings(max_examples=20)
@given(arc_graphs(), st.integers(0, 2**32 - 1))
def test_second_derivatives_of_the_global_model(graph, seed):
    target = marked_paths(graph, np.random.default_rng(seed).random(len(graph.source_A)) < 0.8)
    assume(all_paths(target.graph) and graph.nodes > 1)
    scores = torch.tensor(scores_of(graph, seed), requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda s: LatticeSoftmax()(s, graph, target), (scores,))
    fast, plain = (
        torch.autograd.functional.hessian(lambda s, f=f: f(s, graph), scores.detach())
        for f in (lattice_log_sum, plain_log_sum)
    )
    torch.testing.assert_close(fast, plain)


def test_every_loss_is_looked_at() -> None:
    known = {type(module) for module in (*SMOOTH.values(), *LINEAR.values())} | {
        ExpectedCorpusBleu,
        LatticeSoftmax,
        Loss,
    }
    for path in Path(xlate.losses.__path__[0]).glob("[a-z]*.py"):
        module = import_module(f"xlate.losses.{path.stem}")
        held = {c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == module.__name__}
        assert {c for c in held if issubclass(c, Loss)} <= known
