"""Sums and maxima of the segments of a flat tensor, differentiable and always in the same order."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def segment_ids(offsets_I1: Tensor) -> Tensor:
    """The segment of every value: offsets 0 2 3 give 0 0 1."""
    lengths_I = offsets_I1[1:] - offsets_I1[:-1]
    return torch.repeat_interleave(torch.arange(len(lengths_I), device=offsets_I1.device), lengths_I)


def segment_sum(values_C: Tensor, offsets_I1: Tensor) -> Tensor:
    """The sum of each segment, 0 for an empty one, differentiable any number of times; shape (I,)."""
    sums_I: Tensor = _SegmentSum.apply(values_C, offsets_I1)  # type: ignore[no-untyped-call]
    return sums_I


class _SegmentSum(torch.autograd.Function):
    """A sum with all derivatives; PyTorch's `segment_reduce` has only the first."""

    @staticmethod
    def forward(values_C: Tensor, offsets_I1: Tensor) -> Tensor:
        return torch.segment_reduce(values_C, "sum", offsets=offsets_I1, initial=0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, gradient_I: Tensor) -> tuple[Tensor, None]:
        (offsets_I1,) = ctx.saved_tensors
        return gradient_I[segment_ids(offsets_I1)], None


def segment_max(values_C: Tensor, offsets_I1: Tensor) -> Tensor:
    """The largest value of each segment, -inf for an empty one; shape (I,), no gradient."""
    return torch.segment_reduce(values_C.detach(), "max", offsets=offsets_I1, initial=float("-inf"))


def finite_shift(top_I: Tensor) -> Tensor:
    """What is subtracted before exp, so that nothing overflows: the maximum, 0 where there is none.

    It cancels, so the gradient may treat it as a constant.
    """
    return torch.where(torch.isfinite(top_I), top_I, torch.zeros_like(top_I))


def log_of_sums(sums_I: Tensor) -> Tensor:
    """ln of sums, -inf of 0, which is a constant: the gradient of ln 0 is 1/0, and 0 times that is not a number."""
    nothing_I = sums_I == 0
    return torch.log(sums_I.masked_fill(nothing_I, 1.0)).masked_fill(nothing_I, float("-inf"))


def segment_argmax(values_C: Tensor, offsets_I1: Tensor) -> Tensor:
    """Where the largest value of each segment stands, the first of equals, -1 for an empty segment; shape (I,)."""
    top_I = segment_max(values_C, offsets_I1)
    places_C = torch.arange(len(values_C), device=values_C.device, dtype=torch.float64)
    beside_C = places_C.masked_fill(values_C.detach() < top_I[segment_ids(offsets_I1)], float("inf"))
    first_I = torch.segment_reduce(beside_C, "min", offsets=offsets_I1, initial=float("inf"))
    return first_I.masked_fill(torch.isinf(first_I), -1.0).to(torch.int64)


def picked(values_C: Tensor, places_I: Tensor) -> Tensor:
    """The values at some places, 0 where the place is -1, differentiable; shape (I,)."""
    if not len(values_C):
        return values_C.sum() + torch.zeros(len(places_I), dtype=values_C.dtype, device=values_C.device)
    return values_C[places_I.clamp(min=0)].masked_fill(places_I < 0, 0.0)
