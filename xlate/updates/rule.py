"""Update rules: plain or AdaGrad steps, penalties, averages, and weights kept at or below 0, in any combination.

A step of size η changes a weight w with the uphill gradient g::

    plain      w + η g
    adaptive   w + η g / (√G + 1e-8), where G is the sum of all g² so far     (Duchi, Hazan & Singer 2011)
    l1         the size of w falls by η·l1, never past 0
    l2         w is multiplied by 1 - η·l2
    average    training gives the mean of the weights before the first step and after each step
    project    dense weights stay at or below 0: compiled plain steps set them back after every candidate, all
               others after every step

With AdaGrad the η of penalties is divided as above. With `every`, penalties apply to every sparse weight before each
step; a compiled pass catches up with a weight when it next uses it. Otherwise they apply only to the weights that a
step moves: l2 is part of the gradient, l1 comes after the step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from xlate.array_types import AnyArray, Floats
from xlate.errors import refuse_if
from xlate.kernels.learning.slopes import EPSILON, Learned, Rule, settle_all

Arrays = dict[str, AnyArray]
# What steps may remember, by its name in `Learned`.
MEMORY: dict[str, type[np.generic]] = {
    "dense_squares_D": np.float64,
    "sparse_squares_F": np.float32,
    "dense_sum_D": np.float64,
    "sparse_sum_F": np.float64,
    "touched_F": np.int64,
    "clock_1": np.int64,
}


@dataclass(frozen=True)
class UpdateRule:
    """How steps are made; see the module docstring.

    Raises:
        InputError: a penalty is below 0, or there are two penalties on every weight.
    """

    adaptive: bool = False
    l1: float = 0.0
    l2: float = 0.0
    every: bool = True
    average: bool = False
    project: bool = False

    def __post_init__(self) -> None:
        """Checks the penalties."""
        seen = f"l1 {self.l1}, l2 {self.l2}"
        refuse_if(min(self.l1, self.l2) < 0, "a penalty below 0", seen, "0 or more")
        refuse_if(self.every and self.l1 > 0 and self.l2 > 0, "two penalties", seen, "one of them")

    @property
    def settles(self) -> bool:
        """Whether a step also changes weights that it does not touch, which must then catch up later."""
        return self.average or (self.every and (self.l1 > 0 or self.l2 > 0))

    def compiled(self, eta_D: Floats, eta: float) -> Rule:
        """The rule in the form that compiled loops take, with step sizes for dense and for sparse weights."""
        return Rule(eta_D, eta, self.adaptive, self.l1, self.l2, self.every, self.settles, self.project)

    def learned(self, dense_D: Floats, sparse_F: AnyArray, memory: Arrays | None = None) -> Learned:
        """The weights together with what steps remember about them; steps change all arrays in place.

        Anything missing from `memory` is added with its initial value; it then has everything to remember besides the
        weights.
        """
        held: Arrays = {} if memory is None else memory
        sizes, arrays = {"D": len(dense_D), "F": len(sparse_F), "1": 1}, []
        for name, kind in MEMORY.items():
            if self.adaptive if "squares" in name else self.settles:
                arrays.append(held.setdefault(name, np.zeros(sizes[name[-1]], kind)))
            else:
                # Compiled loops take empty arrays in place of unused ones; steps are counted in any case.
                arrays.append(np.zeros(1 if name == "clock_1" else 0, kind))
        return Learned(dense_D, sparse_F, *arrays)

    def result(self, learned: Learned, eta_D: Floats, eta: float) -> tuple[AnyArray, AnyArray]:
        """The final dense and sparse weights of training: the last ones or the averages; deferred penalties are applied
        first.
        """
        if self.settles:
            settle_all(learned, self.compiled(eta_D, eta))
        if not self.average:
            return learned.dense_D, learned.sparse_F
        steps = float(learned.clock_1[0]) + 1.0
        dense_D = (learned.dense_sum_D + learned.dense_D) / steps
        return dense_D, (learned.sparse_sum_F + learned.sparse_F) / steps


class TensorSteps:
    """The steps of a rule on tensors of any device; each step changes every weight, directly by the rule.

    This is the reference for the compiled form, whose steps touch only some weights and are faster on a CPU.

    Args:
        rule: how steps are made.
        learned: the weights, and what earlier steps remember; here dense weights have the precision of sparse ones.
        device: where the tensors are.
    """

    def __init__(self, rule: UpdateRule, learned: Learned, device: torch.device) -> None:
        self.rule = rule
        dense_D, sparse_F, *kept = (torch.tensor(array, device=device) for array in learned[:-2])
        # Recorded steps change these tensors, so everything else changes them in place too.
        self._tensors = (dense_D.to(sparse_F.dtype), sparse_F, *kept)
        self.dense_D, self.sparse_F, self._squares_D, self._squares_F, self._sum_D, self._sum_F = self._tensors
        self.clock = int(learned.clock_1[0])

    def load(self, learned: Learned) -> None:
        """Reads the weights and what steps remember."""
        for tensor, array in zip(self._tensors, learned[:-2], strict=True):
            tensor.copy_(torch.as_tensor(array))
        self.clock = int(learned.clock_1[0])

    def store(self, learned: Learned) -> None:
        """Writes them back."""
        arrays: tuple[AnyArray, ...] = learned[:-2]
        for array, tensor in zip(arrays, self._tensors, strict=True):
            array[:] = tensor.cpu().numpy()
        # Nothing is deferred here, so no weight must catch up.
        learned.touched_F[:] = learned.clock_1[0] = self.clock

    def begin(self, eta: float) -> None:
        """Does what comes before a step: adds to the sums for averages and applies penalties on every sparse weight."""
        rule = self.rule
        self.clock += 1
        if rule.settles:
            self._sum_D += self.dense_D
            self._sum_F += self.sparse_F
        if not rule.every or not (rule.l1 or rule.l2):
            return
        rate = self._rate(eta, self._squares_F)
        size_F = (self.sparse_F.abs() - rate * rule.l1).clamp(min=0.0)
        self.sparse_F.copy_(self.sparse_F.sign() * size_F * (1.0 - rate * rule.l2))

    def step(self, eta_D: Tensor, eta: float, uphill_D: Tensor, ids_U: Tensor, uphill_U: Tensor) -> None:
        """Moves all dense weights and U distinct sparse weights by their gradients."""
        rule = self.rule
        if rule.adaptive:
            self._squares_D += torch.where(eta_D != 0, uphill_D**2, torch.zeros_like(uphill_D))
        rate_D = self._rate(eta_D, self._squares_D)
        moved_D = self.dense_D + rate_D * uphill_D
        if rule.project:
            moved_D = torch.where(eta_D != 0, moved_D.clamp(max=0.0), moved_D)
        self.dense_D.copy_(moved_D)
        if eta == 0.0 or not len(ids_U):
            return
        before_U = weight_U = self.sparse_F[ids_U]
        # Penalties of a step apply to the weights that it moves; choosing these by index would wait for the device.
        moved_U = uphill_U != 0
        if not rule.every:
            uphill_U = moved_U * (uphill_U - rule.l2 * weight_U)
        squares_U = self._squares_F
        if rule.adaptive:
            squares_U = self._squares_F[ids_U] + (uphill_U**2).to(self._squares_F.dtype)
            self._squares_F.index_copy_(0, ids_U, squares_U)
        rate = self._rate(eta, squares_U)
        weight_U = weight_U + rate * uphill_U
        if rule.l1 and not rule.every:
            weight_U = weight_U.sign() * (weight_U.abs() - rate * rule.l1).clamp(min=0.0)
        self.sparse_F.index_copy_(0, ids_U, torch.where(moved_U, weight_U.to(self.sparse_F.dtype), before_U))

    def _rate(self, eta: float | Tensor, squares: Tensor) -> float | Tensor:
        if not self.rule.adaptive:
            return eta
        return eta / (squares.to(self.sparse_F.dtype).sqrt() + EPSILON)
