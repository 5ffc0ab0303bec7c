"""Sums and log-sums over the segments of a flat tensor, differentiable and in a fixed order."""

from __future__ import annotations

import torch
from torch import Tensor


def segment_ids(offsets_I1: Tensor) -> Tensor:
    """The segment of every value: offsets 0 2 3 give 0 0 1."""
    lengths_I = offsets_I1[1:] - offsets_I1[:-1]
    return torch.repeat_interleave(torch.arange(len(lengths_I), device=offsets_I1.device), lengths_I)


def segment_sum(values_C: Tensor, offsets_I1: Tensor) -> Tensor:
    """The sum of each segment, 0 for an empty one; shape (I,)."""
    return torch.segment_reduce(values_C, "sum", offsets=offsets_I1, initial=0.0)


def segment_max(values_C: Tensor, offsets_I1: Tensor) -> Tensor:
    """The largest value of each segment, -inf for an empty one; shape (I,), no gradient."""
    return torch.segment_reduce(values_C.detach(), "max", offsets=offsets_I1, initial=float("-inf"))


def segment_logsumexp(values_C: Tensor, offsets_I1: Tensor) -> Tensor:
    """ln Σ exp of each segment, -inf for an empty one or one of -inf only; shape (I,).

    The maximum is subtracted first, so no score overflows; it is constant in the gradient because it cancels.
    """
    top_I = segment_max(values_C, offsets_I1)
    shift_I = torch.where(torch.isfinite(top_I), top_I, torch.zeros_like(top_I))
    sums_I = segment_sum(torch.exp(values_C - shift_I[segment_ids(offsets_I1)]), offsets_I1)
    # ln 0 has the gradient 1/0, and 0 times that is not a number: such a segment is a constant instead.
    nothing_I = sums_I == 0
    return torch.log(sums_I.masked_fill(nothing_I, 1.0)).masked_fill(nothing_I, float("-inf")) + shift_I
