"""Losses as modules: padded and flat alike, derivatives, transforms of `torch.func`, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import xlate.losses
from xlate.errors import InputError
from xlate.losses import ExpectedBleu, ExpectedCorpusBleu, ListLoss, LocalSoftmax, Loss, loss_of
from xlate.losses.loss import Needs, losses
from xlate.losses.one_vs_rest import OneVsRest

SMOOTH = ["ExpectedBleu", "ConditionalLikelihood", "SoftmaxMargin", "LocalSoftmax"]
LINEAR = ["Hinge", "Perceptron", "Ramp"]
PADDED = [*SMOOTH, *LINEAR]
NAMES = [*PADDED, "Pro"]
SIZES = [4, 1, 3]


def module(name: str, reduction: str = "mean") -> ListLoss:
    return getattr(xlate.losses, name)(reduction=reduction)


def lists(seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Padded scores, gains of both signs without ties, and the mask of three lists."""
    random = np.random.default_rng(seed)
    scores = torch.tensor(random.normal(size=(3, 4)), requires_grad=True)
    gains = torch.tensor(random.permutation(12).reshape(3, 4) / 6 - 1)
    return scores, gains, torch.arange(4) < torch.tensor(SIZES)[:, None]


def offsets() -> Tensor:
    return torch.tensor([0, *np.cumsum(SIZES)])


@pytest.mark.parametrize("name", NAMES)
def test_padded_and_flat_lists_have_the_loss_of_the_registry(name: str) -> None:
    scores, gains, mask = lists()
    loss = module(name, "none")
    flat, told = scores[mask], gains[mask]
    padded, ragged = loss(scores, gains, mask), loss(flat, told, offsets=offsets())
    torch.testing.assert_close(padded, ragged)
    torch.testing.assert_close(padded.sum(), loss.loss(flat, told, offsets()))
    if name != "Pro":  # whose pairs are drawn list after list
        alone = [loss(scores[i, :size], gains[i, :size]) for i, size in enumerate(SIZES)]
        torch.testing.assert_close(padded, torch.stack(alone))
    (by_padded,) = torch.autograd.grad(padded.sum(), scores, retain_graph=True)
    (by_flat,) = torch.autograd.grad(ragged.sum(), scores)
    torch.testing.assert_close(by_padded, by_flat)
    assert by_padded.abs().max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_beside_the_mask_does_not_count(name: str) -> None:
    scores, gains, mask = lists()
    loss = module(name)
    wrong = scores.detach().masked_fill(~mask, math.nan).requires_grad_()
    value = loss(wrong, gains.masked_fill(~mask, math.nan), mask)
    torch.testing.assert_close(value, loss(scores, gains, mask))
    value.backward()
    assert torch.isfinite(wrong.grad).all()
    assert torch.equal(wrong.grad[~mask], torch.zeros(4, dtype=torch.float64))


@pytest.mark.parametrize("name", PADDED)
def test_transforms_of_func_give_what_autograd_gives(name: str) -> None:
    scores, gains, mask = lists()
    loss, fixed = module(name, "sum"), scores.detach()
    values = torch.func.vmap(loss)(fixed, gains, mask)
    torch.testing.assert_close(values, module(name, "none")(fixed, gains, mask))
    (gradient,) = torch.autograd.grad(loss(scores, gains, mask), scores)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(loss))(fixed, gains, mask), gradient)
    by_flat = torch.func.grad(lambda s: loss(s, gains[mask], offsets=offsets()))(fixed[mask])
    torch.testing.assert_close(by_flat, gradient[mask])
    hessian = torch.autograd.functional.hessian(lambda s: loss(s, gains, mask), fixed)
    torch.testing.assert_close(torch.func.hessian(lambda s: loss(s, gains, mask))(fixed), hessian)


def test_a_pair_counts_for_its_own_list() -> None:
    """Only the second list has hypotheses of different gains; the better one is its first."""
    scores, gains = torch.tensor([9.0, 9.0, 2.0, 0.0]), torch.tensor([0.0, 0.0, 1.0, 0.0])
    value = xlate.losses.Pro(pairs=1, reduction="none")(scores, gains, offsets=torch.tensor([0, 2, 4]))
    assert value.tolist() == pytest.approx([0.0, math.log1p(math.exp(-2.0))])


def test_statistics_of_a_whole_text() -> None:
    random = np.random.default_rng(3)
    statistics = torch.tensor(random.integers(1, 9, (3, 4, 10)), dtype=torch.float64)
    scores, _, mask = lists()
    loss = ExpectedCorpusBleu()
    value = loss(scores, statistics, mask)
    torch.testing.assert_close(value, loss(scores[mask], statistics[mask], offsets=offsets()))
    assert float(value.detach()) < 0
    with pytest.raises(InputError, match="not a sum over its sentences"):
        ExpectedCorpusBleu(reduction="none")(scores, statistics, mask)
    with pytest.raises(InputError, match=r"expected: \(3, 4, K\) statistics"):
        loss(scores, torch.zeros(3, 4, 2, 2), mask)


class _Square(Loss):
    """A loss of one's own that defines `forward` alone."""

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        return (scores_C - gain_C).square().sum()


@pytest.mark.parametrize("loss", [_Square(), OneVsRest()])
def test_a_loss_that_defines_forward_alone_has_all_forms(loss: Loss) -> None:
    scores, gains, mask = lists()
    each = ListLoss(loss, "none")(scores, gains, mask)
    assert each.shape == (3,)
    torch.testing.assert_close(each, ListLoss(loss, "none")(scores[mask], gains[mask], offsets=offsets()))
    torch.testing.assert_close(each.mean(), ListLoss(loss)(scores, gains, mask))
    torch.testing.assert_close(each.sum(), loss(scores[mask], gains[mask], offsets()))


def test_a_loss_that_defines_nothing_says_so() -> None:
    with pytest.raises(NotImplementedError, match="neither each nor forward"):
        ListLoss(Loss())(torch.zeros(2), torch.zeros(2))


def test_half_precision_is_computed_in_single() -> None:
    scores, gains, mask = lists()
    half = scores.detach().to(torch.bfloat16).requires_grad_()
    value = ExpectedBleu()(half, gains, mask)
    value.backward()
    assert value.dtype == torch.float32
    assert half.grad.dtype == torch.bfloat16


def test_no_gradient_goes_through_gains() -> None:
    scores, gains, mask = lists()
    gains.requires_grad_()
    ExpectedBleu()(scores, gains, mask).backward()
    assert gains.grad is None


FLAT = {"offsets": torch.tensor([0, 2, 3])}


@pytest.mark.parametrize(
    ("scores", "more", "message"),
    [
        (torch.zeros(2, 3), {"gains": torch.zeros(2, 2)}, r"differ in shape(.|\n)*seen:     \(2, 2\)(.|\n)*\(2, 3\)"),
        (torch.zeros(2, 3, 1), {}, "scores of the wrong shape"),
        (torch.zeros(2, dtype=torch.int64), {}, "wrong type"),
        (torch.tensor([[0.0, math.nan]]), {}, "seen:     nan at 0, 1"),
        (torch.zeros(1, 2), {"gains": torch.tensor([[0.0, math.inf]])}, "a gain that is not finite"),
        (torch.zeros(2, 2), {"mask": torch.tensor([[True, False], [False, False]])}, "list 1 has no candidate"),
        (torch.zeros(2, 2), {"mask": torch.ones(2, 2)}, "mask of the wrong type"),
        (torch.zeros(2, 2), {"mask": torch.ones(2, 3, dtype=torch.bool)}, "mask and scores differ in shape"),
        (torch.zeros(0, 2), {}, "no list"),
        (torch.zeros(3), {"offsets": torch.tensor([0, 3, 3])}, "list 1 has no candidate"),
        (torch.zeros(3), {"offsets": torch.tensor([0, 2])}, "from 0 to 2"),
        (torch.zeros(3), {"offsets": torch.tensor([0, 4, 3])}, "offsets decrease"),
        (torch.zeros(3), {"offsets": torch.tensor([0.0, 3.0])}, "expected: integers"),
        (torch.zeros(1, 3), FLAT, "offsets need flat lists"),
        (torch.zeros(3), {**FLAT, "mask": torch.ones(3, dtype=torch.bool)}, "both mask and offsets"),
        (torch.tensor([0.0, 0.0, -math.inf]), {"gains": torch.zeros(3), **FLAT}, "seen:     -inf at 2"),
    ],
)
def test_what_is_refused(scores: Tensor, more: dict[str, Tensor], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ExpectedBleu()(scores, **{"gains": scores, **more})


def test_settings_that_are_refused() -> None:
    with pytest.raises(InputError, match="mean, sum or none"):
        LocalSoftmax(reduction="average")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="over lattices"):
        ListLoss(loss_of("lattice_softmax"))
    with pytest.raises(AttributeError, match="no attribute 'Unknown'"):
        xlate.losses.Unknown  # noqa: B018


def test_every_loss_over_lists_has_a_module() -> None:
    named = [getattr(xlate.losses, name) for name in xlate.losses.__all__]
    modules = [kind for kind in named if isinstance(kind, type) and issubclass(kind, ListLoss) and kind is not ListLoss]
    wrapped = {type(kind().loss) for kind in modules}
    over_lists = {k for k in losses().values() if k.needs is not Needs.LATTICE and not k.judges_each}
    assert wrapped == {kind for kind in over_lists if kind.__module__.startswith("xlate.")}
    for kind in modules:
        assert kind.__name__ == type(kind().loss).__name__


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", NAMES)
def test_losses_on_a_device_are_those_on_the_cpu(name: str) -> None:
    scores, gains, mask = lists()
    loss = module(name)
    there = scores.detach().cuda().requires_grad_()
    value = loss(there, gains.cuda(), mask.cuda())
    value.backward()
    (here,) = torch.autograd.grad(loss(scores, gains, mask), scores)
    torch.testing.assert_close(there.grad.cpu(), here)
    flat = loss(there.detach()[mask.cuda()], gains[mask].cuda(), offsets=offsets().cuda())
    torch.testing.assert_close(flat, value.detach())
