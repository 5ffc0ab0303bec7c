"""Candidates in lists, flat or padded, and what losses compute over each list: the same operations on both forms.

Flat, C candidates of I lists stand one behind the other, and offsets say where each list begins. Padded, each row of a
tensor (I, N) is a list, and a mask says which of its places hold a candidate; no shape depends on the mask's values
there, so padded lists go through `torch.vmap` and every transform of `torch.func`. C stands for candidates in either
form: (C,) or (I, N).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from xlate.losses.segments import (
    finite_shift,
    log_of_sums,
    picked,
    segment_argmax,
    segment_ids,
    segment_max,
    segment_sum,
)

NOTHING = float("-inf")


class Lists(ABC):
    """Where the candidates of I lists stand."""

    @abstractmethod
    def __len__(self) -> int:
        """How many lists there are."""

    @abstractmethod
    def spread(self, values_I: Tensor) -> Tensor:
        """The value of its list for each candidate, C."""

    @abstractmethod
    def sum(self, values_C: Tensor) -> Tensor:
        """The sum of each list, 0 of an empty one, (I,)."""

    @abstractmethod
    def logsumexp(self, values_C: Tensor) -> Tensor:
        """ln Σ exp of each list, -inf of an empty one or one of -inf only, (I,)."""

    @abstractmethod
    def argmax(self, values_C: Tensor) -> Tensor:
        """Where the largest value of each list stands, the first of equals, -1 in an empty list, (I,)."""

    @abstractmethod
    def picked(self, values_C: Tensor, places_I: Tensor) -> Tensor:
        """The values at the places that `argmax` gives, 0 where there is none, differentiable, (I,)."""

    @abstractmethod
    def without(self, values_C: Tensor, places_I: Tensor) -> Tensor:
        """The values with -inf at the places that `argmax` gives, C."""

    @abstractmethod
    def flat(self, values_C: Tensor) -> tuple[Tensor, Tensor]:
        """The values of all candidates one behind the other, and the offsets of the lists."""

    def shares(self, values_C: Tensor) -> Tensor:
        """The share of exp value in the sum of its list, C."""
        return torch.exp(values_C - self.spread(self.logsumexp(values_C)))


@dataclass(frozen=True)
class FlatLists(Lists):
    """Lists one behind the other: list i is candidates [offsets[i]] to [offsets[i + 1]]."""

    offsets_I1: Tensor

    def __len__(self) -> int:
        """I."""
        return len(self.offsets_I1) - 1

    @cached_property
    def ids_C(self) -> Tensor:
        """The list of each candidate."""
        return segment_ids(self.offsets_I1)

    def spread(self, values_I: Tensor) -> Tensor:
        """By the list of each candidate."""
        return values_I[self.ids_C]

    def sum(self, values_C: Tensor) -> Tensor:
        """In the order of the candidates."""
        return segment_sum(values_C, self.offsets_I1)

    def logsumexp(self, values_C: Tensor) -> Tensor:
        """With the largest value of each list subtracted first."""
        shift_I = finite_shift(segment_max(values_C, self.offsets_I1))
        return log_of_sums(self.sum(torch.exp(values_C - self.spread(shift_I)))) + shift_I

    def argmax(self, values_C: Tensor) -> Tensor:
        """Counted through all candidates."""
        return segment_argmax(values_C, self.offsets_I1)

    def picked(self, values_C: Tensor, places_I: Tensor) -> Tensor:
        """By their places."""
        return picked(values_C, places_I)

    def without(self, values_C: Tensor, places_I: Tensor) -> Tensor:
        """By their places."""
        return values_C.index_fill(0, places_I[places_I >= 0], NOTHING)

    def flat(self, values_C: Tensor) -> tuple[Tensor, Tensor]:
        """They stand so already."""
        return values_C, self.offsets_I1


@dataclass(frozen=True)
class PaddedLists(Lists):
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
        """Only what the mask holds; its values decide about the shape, so this does not go through `vmap`."""
        return values_C[self.mask_IN], nn.functional.pad(self.mask_IN.sum(-1).cumsum(0), (1, 0))

    @property
    def _places(self) -> Tensor:
        return torch.arange(self.mask_IN.shape[-1], device=self.mask_IN.device)
