"""Candidates in lists, flat or padded, with the same operations over each list for both forms.

In flat form, the C candidates of I lists follow one another, and offsets say where each list begins. In padded form,
each row of a tensor (I, N) is a list, and a mask says which of its places hold a candidate. No shape depends on the
mask's values there, so padded lists work with `torch.vmap` and every transform of `torch.func`. C stands for candidates
in either form: (C,) or (I, N). Sums and maxima of flat lists are always computed in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from xlate.scoring.linear import segment_ids


class _SegmentSum(torch.autograd.Function):
    """A sum with all derivatives; PyTorch's `segment_reduce` has only the first."""

    @staticmethod
    def forward(values_C: Tensor, offsets_I1: Tensor) -> Tensor:
        return torch.segment_reduce(values_C, "sum", offsets=offsets_I1, initial=0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(inputs[1])
        ctx.size = len(inputs[0])

    @staticmethod
    def backward(ctx: Any, gradient_I: Tensor) -> tuple[Tensor, None]:
        (offsets_I1,) = ctx.saved_tensors
        return gradient_I[segment_ids(offsets_I1, ctx.size)], None


def finite_shift(top_I: Tensor) -> Tensor:
    """What is subtracted before exp to avoid overflow: the maximum, 0 if there is none.

    It cancels, so the gradient may treat it as a constant.
    """
    return torch.where(torch.isfinite(top_I), top_I, torch.zeros_like(top_I))


def log_of_sums(sums_I: Tensor) -> Tensor:
    """ln of sums; -inf for 0, as a constant, because the gradient of ln 0 is 1/0, and 0 times that is nan."""
    nothing_I = sums_I == 0
    return torch.log(sums_I.masked_fill(nothing_I, 1.0)).masked_fill(nothing_I, float("-inf"))


NOTHING = float("-inf")


@dataclass(frozen=True)
class FlatLists:
    """Lists one after the other: list i is candidates [offsets[i]] to [offsets[i + 1]], `size` in all, if known."""

    offsets_I1: Tensor
    size: int | None = None

    def __len__(self) -> int:
        """How many lists there are."""
        return len(self.offsets_I1) - 1

    @cached_property
    def ids_C(self) -> Tensor:
        """The list of each candidate."""
        return segment_ids(self.offsets_I1, self.size)

    def spread(self, values_I: Tensor) -> Tensor:
        """For each candidate, the value of its list, C."""
        return values_I[self.ids_C]

    def sum(self, values_C: Tensor) -> Tensor:
        """The sum of each list, 0 for an empty one, (I,)."""
        sums_I: Tensor = _SegmentSum.apply(values_C, self.offsets_I1)  # type: ignore[no-untyped-call]
        return sums_I

    def _tops(self, values_C: Tensor) -> Tensor:
        """The largest value of each list, -inf for an empty one, without gradient, (I,)."""
        return torch.segment_reduce(values_C.detach(), "max", offsets=self.offsets_I1, initial=NOTHING)

    def logsumexp(self, values_C: Tensor) -> Tensor:
        """ln Σ exp of each list, -inf for an empty one or one of -inf only, (I,)."""
        shift_I = finite_shift(self._tops(values_C))
        return log_of_sums(self.sum(torch.exp(values_C - self.spread(shift_I)))) + shift_I

    def argmax(self, values_C: Tensor) -> Tensor:
        """The place of the largest value of each list, the first of equals, -1 for an empty list, (I,)."""
        places_C = torch.arange(len(values_C), device=values_C.device, dtype=torch.float64)
        beside_C = places_C.masked_fill(values_C.detach() < self.spread(self._tops(values_C)), float("inf"))
        first_I = torch.segment_reduce(beside_C, "min", offsets=self.offsets_I1, initial=float("inf"))
        return first_I.masked_fill(torch.isinf(first_I), -1.0).to(torch.int64)

    def picked(self, values_C: Tensor, places_I: Tensor) -> Tensor:
        """The values at the places from `argmax`, 0 where there is none, differentiable, (I,)."""
        if not len(values_C):
            return values_C.sum() + torch.zeros(len(places_I), dtype=values_C.dtype, device=values_C.device)
        return values_C[places_I.clamp(min=0)].masked_fill(places_I < 0, 0.0)

    def without(self, values_C: Tensor, places_I: Tensor) -> Tensor:
        """The values with -inf at the places from `argmax`, C."""
        return values_C.index_fill(0, places_I[places_I >= 0], NOTHING)

    def shares(self, values_C: Tensor) -> Tensor:
        """The share of each exp value in the sum of its list, C."""
        return torch.exp(values_C - self.spread(self.logsumexp(values_C)))

    def flat(self, values_C: Tensor) -> tuple[Tensor, Tensor]:
        """The values of all candidates in flat form, and the offsets of the lists."""
        return values_C, self.offsets_I1


@dataclass(frozen=True)
class PaddedLists:
    """Each row is a list; `mask_IN` is true where there is a candidate. Other places hold finite values."""

    mask_IN: Tensor

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.mask_IN)

    def spread(self, values_I: Tensor) -> Tensor:
        """Along its row."""
        return values_I.unsqueeze(-1).expand_as(self.mask_IN)

    def sum(self, values_C: Tensor) -> Tensor:
        """Along each row."""
        return values_C.masked_fill(~self.mask_IN, 0.0).sum(-1)

    def logsumexp(self, values_C: Tensor) -> Tensor:
        """With the largest value of each row subtracted first."""
        held_C = values_C.masked_fill(~self.mask_IN, NOTHING)
        shift_I = finite_shift(held_C.detach().amax(-1))
        return log_of_sums(torch.exp(held_C - shift_I.unsqueeze(-1)).sum(-1)) + shift_I

    def argmax(self, values_C: Tensor) -> Tensor:
        """Counted within its row."""
        held_C = values_C.detach().masked_fill(~self.mask_IN, NOTHING)
        places_C = self._places.expand_as(self.mask_IN)
        size = self.mask_IN.shape[-1]
        first_I = places_C.masked_fill(~self.mask_IN | (held_C < held_C.amax(-1, keepdim=True)), size).amin(-1)
        return first_I.masked_fill(first_I == size, -1)

    def picked(self, values_C: Tensor, places_I: Tensor) -> Tensor:
        """By their places in the row."""
        found_I = values_C.gather(-1, places_I.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        return found_I.masked_fill(places_I < 0, 0.0)

    def without(self, values_C: Tensor, places_I: Tensor) -> Tensor:
        """By their places in the row."""
        return values_C.masked_fill(self._places == places_I.unsqueeze(-1), NOTHING)

    def shares(self, values_C: Tensor) -> Tensor:
        """0 where there is no candidate."""
        below_C = values_C - self.spread(self.logsumexp(values_C))
        return torch.exp(below_C.masked_fill(~self.mask_IN, NOTHING))

    def flat(self, values_C: Tensor) -> tuple[Tensor, Tensor]:
        """The values under the mask; the mask determines the shape, so this does not work with `vmap`."""
        return values_C[self.mask_IN], nn.functional.pad(self.mask_IN.sum(-1).cumsum(0), (1, 0))

    @property
    def _places(self) -> Tensor:
        return torch.arange(self.mask_IN.shape[-1], device=self.mask_IN.device)


Lists = FlatLists | PaddedLists
