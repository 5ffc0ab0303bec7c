"""The losses over lists as modules for any training loop: padded or flat lists, a reduction, and checked inputs.

Your model gives the scores s(e) of candidates e; gains g(e) say how good they are. See `ListLoss.forward` for shapes
and masks.

Legend: B lists of at most N candidates each, C candidates in all, I lists; K statistics of a candidate.
"""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn

from xlate.errors import InputError, refuse_if
from xlate.losses import expected_bleu, hinge, local_softmax, pro, ramp, softmax_margin
from xlate.losses.lists import FlatLists, Lists, PaddedLists
from xlate.losses.loss import Loss, Needs

Reduction = Literal["mean", "sum", "none"]


class ListLoss(nn.Module):
    """A registered loss, or one of your own, over lists of candidates in either form.

    Gains are constants: no gradient goes through them. Half-precision inputs are computed, and returned, in single
    precision.

    Args:
        loss: the loss.
        reduction: "mean" over lists, "sum", or "none" for the loss of each list.

    Raises:
        InputError: the reduction is another one, or the loss is over lattices.

    Example:
        >>> import torch
        >>> from xlate.losses import ListLoss, loss_of
        >>> hinge = ListLoss(loss_of("hinge", margin=2.0), reduction="none")
        >>> hinge(torch.tensor([[1.0, 0.5, 0.0]]), torch.tensor([[1.0, 0.0, 0.5]]))
        tensor([1.5000])
    """

    def __init__(self, loss: Loss, reduction: Reduction = "mean") -> None:
        super().__init__()
        refuse_if(reduction not in get_args(Reduction), "unknown reduction", repr(reduction), "mean, sum or none")
        refuse_if(loss.needs is Needs.LATTICE, "a loss over lattices", loss.name, "one over lists")
        self.loss = loss
        self.reduction = reduction

    def forward(
        self, scores: Tensor, gains: Tensor, mask: Tensor | None = None, *, offsets: Tensor | None = None
    ) -> Tensor:
        """The loss of some lists: a scalar, or one value per list with `reduction="none"`.

        Padded lists work with `torch.vmap` and `torch.func`, but values are not checked there.

        Args:
            scores: padded, (B, N); one list alone, (N,); or flat, (C,).
            gains: what the loss needs to know of each candidate, in the same shape: how good it is, or above 0 for a
                true one; statistics with one more axis, (B, N, K) or (C, K).
            mask: for padded lists, true where there is a candidate; by default everywhere. Other values are ignored,
                and their gradient is 0.
            offsets: for flat lists, the first candidate of each of I lists, and C.

        Raises:
            InputError: shapes, types or devices do not fit, a score or gain is not finite, or a list is empty.
        """
        _check_tensors(scores, gains, self.loss.needs)
        scores = scores if scores.dtype in (torch.float32, torch.float64) else scores.float()
        gains = gains.detach().to(scores.dtype)
        if offsets is not None:
            _check_flat(scores, gains, mask, offsets)
            return self._reduced(scores, gains, FlatLists(offsets.to(torch.int64)))
        if scores.ndim == 2:
            return self._padded(scores, gains, mask)
        value = self._padded(scores[None], gains[None], None if mask is None else mask[None])
        return value[0] if self.reduction == "none" else value

    def _padded(self, scores: Tensor, gains: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            mask = torch.ones_like(scores, dtype=torch.bool)
        refuse_if(mask.dtype != torch.bool, "a mask of the wrong type", str(mask.dtype), "torch.bool: mask != 0")
        if mask.shape != scores.shape:
            seen, expected = _shape(mask), f"{_shape(scores)}, as the scores"
            raise InputError("mask and scores differ in shape", seen, expected)
        if not len(mask):
            raise InputError("no list", f"scores {_shape(scores)}", "one list or more")
        _check_filled(mask.any(-1))
        gap = ~mask
        scores = scores.masked_fill(gap, 0.0)
        gains = gains.masked_fill(gap.unsqueeze(-1) if gains.ndim == 3 else gap, 0.0)
        _check_finite(scores, gains)
        return self._reduced(scores, gains, PaddedLists(mask))

    def _reduced(self, scores: Tensor, gains: Tensor, lists: Lists) -> Tensor:
        if self.reduction == "none":
            return self.loss.each(scores, gains, lists)
        total = self.loss.total(scores, gains, lists)
        return total / len(lists) if self.reduction == "mean" else total

    def extra_repr(self) -> str:
        """The reduction, as the module prints it."""
        return f"reduction={self.reduction}"


def _check_tensors(scores: Tensor, gains: Tensor, needs: Needs) -> None:
    refuse_if(not scores.is_floating_point(), "scores of the wrong type", str(scores.dtype), "floating point")
    if scores.ndim not in (1, 2):
        expected = "(B, N) padded, (C,) with offsets, or (N,) of one list"
        raise InputError("scores of the wrong shape", _shape(scores), expected)
    wanted = gains.shape[:-1] if needs is Needs.STATISTICS else gains.shape
    if wanted != scores.shape:
        shape = ", ".join(map(str, scores.shape))
        expected = f"({shape}, K) statistics" if needs is Needs.STATISTICS else f"({shape}), as the scores"
        raise InputError("gains and scores differ in shape", _shape(gains), expected)
    refuse_if(gains.device != scores.device, "gains on a different device", str(gains.device), str(scores.device))


def _check_flat(scores: Tensor, gains: Tensor, mask: Tensor | None, offsets: Tensor) -> None:
    if mask is not None:
        raise InputError("both mask and offsets", expected="a mask for padded lists, or offsets for flat ones")
    if scores.ndim != 1:
        raise InputError("offsets need flat lists", f"scores {_shape(scores)}", "scores (C,)")
    if offsets.ndim != 1 or len(offsets) < 2 or offsets.is_floating_point() or offsets.dtype == torch.bool:
        seen = f"{offsets.dtype} {_shape(offsets)}"
        raise InputError("unusable offsets", seen, "integers (I + 1,) for one list or more")
    refuse_if(offsets.device != scores.device, "offsets on a different device", str(offsets.device), str(scores.device))
    if _any((offsets[:1] != 0) | (offsets[-1:] != len(scores))):
        seen = f"from {int(offsets[0])} to {int(offsets[-1])}"
        raise InputError("offsets do not span the candidates", seen, f"from 0 to {len(scores)}")
    sizes = offsets[1:] - offsets[:-1]
    if _any(sizes < 0):
        raise InputError("offsets decrease", f"list {_first(sizes < 0)}", "each at least the one before")
    _check_filled(sizes > 0)
    _check_finite(scores, gains)


def _check_filled(filled_I: Tensor) -> None:
    if _any(~filled_I):
        seen, remedy = f"list {_first(~filled_I)} has no candidate", "leave out lists without candidates"
        raise InputError("an empty list", seen, "one candidate or more", remedy)


def _check_finite(scores: Tensor, gains: Tensor) -> None:
    for name, values in (("score", scores), ("gain", gains)):
        odd = ~torch.isfinite(values)
        if _any(odd):
            place = tuple(odd.nonzero()[0].tolist())
            seen = f"{float(values.detach()[place])} at {', '.join(map(str, place))}"
            raise InputError(f"a {name} that is not finite", seen, "finite numbers")


def _any(flags: Tensor) -> bool:
    """Whether one is true; false inside `vmap`, where values cannot be inspected."""
    try:
        return bool(flags.any())
    except RuntimeError as error:
        if "vmap" not in str(error):
            raise
        return False


def _first(flags: Tensor) -> int:
    return int(flags.nonzero()[0, 0])


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


class NamedLoss(ListLoss):
    """A registered loss, created from its settings; the reduction is passed by keyword."""

    kind: ClassVar[type[Loss]]

    def __init__(self, *settings: float, reduction: Reduction = "mean", **named: float) -> None:
        super().__init__(self.kind(*settings, **named), reduction)


class ExpectedBleu(NamedLoss):
    """Minus the expected gain of a candidate drawn with p(e) ∝ exp γ s(e) (Auli, Galley & Gao 2014, section 5).

    Gains may be sentence BLEU or any other measure where higher is better; this is minimum risk training over lists. It
    can be differentiated any number of times.

    Args:
        gamma: the scale of the scores, above 0; the higher, the closer to the gain of the best candidate alone.
        reduction: "mean" over lists, "sum", or "none" for one value per list.

    Example:
        >>> import torch
        >>> from xlate.losses import ExpectedBleu
        >>> scores = torch.tensor([[0.0, 0.0, 9.9], [1.0, 1.0, 1.0]], requires_grad=True)
        >>> gains = torch.tensor([[0.2, 0.4, 0.0], [0.3, 0.6, 0.9]])
        >>> mask = torch.tensor([[True, True, False], [True, True, True]])
        >>> loss = ExpectedBleu()(scores, gains, mask)
        >>> loss.backward()
        >>> round(loss.item(), 4)
        -0.45
        >>> scores.grad[0]
        tensor([ 0.0250, -0.0250,  0.0000])
    """

    kind = expected_bleu.ExpectedBleu


class ExpectedCorpusBleu(NamedLoss):
    """Minus BLEU of the expected statistics of all lists together (Rosti et al. 2010).

    Its gains are the statistics for BLEU, in the order of `metrics.sentence_bleu`. The value belongs to all lists
    together, so there is no `reduction="none"`.

    Args:
        gamma: the scale of the scores, above 0.
        reduction: "mean" is minus BLEU, from 0 to 1; "sum" is that times the number of lists.
    """

    kind = expected_bleu.ExpectedCorpusBleu


class ConditionalLikelihood(NamedLoss):
    """-ln p of the candidate with the highest gain, p(e) ∝ exp γ s(e) (Auli, Galley & Gao 2014, section 5.2).

    Args:
        gamma: the scale of the scores, above 0.
        reduction: "mean" over lists, "sum", or "none" for one value per list.
    """

    kind = softmax_margin.ConditionalLikelihood


class SoftmaxMargin(NamedLoss):
    """-ln p of the candidate with the highest gain, with costs added to the other scores (Gimpel & Smith 2010).

    Args:
        gamma: the scale of the scores, above 0.
        margin: how much score a unit of gain is worth, 0 or more.
        reduction: "mean" over lists, "sum", or "none" for one value per list.
    """

    kind = softmax_margin.SoftmaxMargin


class Hinge(NamedLoss):
    """Max-margin: the candidate with the highest gain must lead each other one by their difference in gain.

    Args:
        gamma: the scale of the scores, above 0.
        margin: how much score a unit of gain is worth, 0 or more.
        reduction: "mean" over lists, "sum", or "none" for one value per list.
    """

    kind = hinge.Hinge


class Perceptron(NamedLoss):
    """By how much another candidate leads the one with the highest gain (Rosenblatt 1958).

    Args:
        reduction: "mean" over lists, "sum", or "none" for one value per list.
    """

    kind = hinge.Perceptron


class Ramp(NamedLoss):
    """The difference of two maxima over a list, which is bounded (Gimpel & Smith 2012).

    Args:
        margin: how much score a unit of gain is worth, 0 or more.
        kind: 1 (fear minus best), 2 (best minus hope) or 3 (fear minus hope).
        reduction: "mean" over lists, "sum", or "none" for one value per list.

    Raises:
        InputError: the kind is another one.
    """

    kind = ramp.Ramp


class Pro(NamedLoss):
    """Logistic loss of pairs of candidates drawn from each list (Hopkins & May 2011).

    Every call draws the pairs again from the same seed. The pairs depend on the gains, so this loss does not work with
    `torch.func`.

    Args:
        gamma: the scale of the scores, above 0.
        pairs: the number of pairs per list.
        least_difference: by how much the gains of a pair must differ.
        seed: for the draws.
        reduction: "mean" over lists, "sum", or "none" for one value per list.

    Raises:
        InputError: no pairs are requested, or the least difference is not above 0.
    """

    kind = pro.Pro


class LocalSoftmax(NamedLoss):
    """-ln of the share of each true candidate against all untrue ones and a sink (Tillmann & Zhang 2007, Eq. 7).

    Args:
        sink: the score of an unreachable state; the lower, the less it counts.
        reduction: "mean" over lists, "sum", or "none" for one value per list.

    Example:
        >>> import torch
        >>> from xlate.losses import LocalSoftmax
        >>> true = torch.tensor([1.0, -1.0, -1.0, 1.0, -1.0])
        >>> LocalSoftmax(sink=-9.0, reduction="none")(torch.zeros(5), true, offsets=torch.tensor([0, 3, 5]))
        tensor([1.0987, 0.6932])
    """

    kind = local_softmax.LocalSoftmax
