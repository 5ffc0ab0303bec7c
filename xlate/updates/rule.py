"""Update rules: plain or AdaGrad steps, penalties, averages, and weights kept at or below 0, each with each.

A step of size η changes a weight w with the uphill gradient g::

    plain      w + η g
    adaptive   w + η g / (√G + 1e-8), where G is the sum of all g² so far     (Duchi, Hazan & Singer 2011)
    l1         the size of w falls by η·l1, never past 0
    l2         w is multiplied by 1 - η·l2
    average    training gives the mean of the weights before the first step and after each step
    project    dense weights stay at or below 0: compiled plain steps set them back after every candidate, all
               others after every step

With AdaGrad the η of penalties is divided as above. With `every`, penalties concern every sparse weight before each
step; a compiled pass catches up with a weight when it next looks at it. Otherwise they concern only the weights that
a step moves: l2 is part of the gradient, l1 comes after the step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.array_types import AnyArray, Floats
from xlate.errors import InputError
from xlate.kernels.learning.updates import Learned, Rule, settle_all

Arrays = dict[str, AnyArray]


@dataclass(frozen=True)
class UpdateRule:
    """How steps are made; see the head of this file.

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
        """Checks every value."""
        if min(self.l1, self.l2) < 0:
            raise InputError("a penalty below 0", seen=f"l1 {self.l1}, l2 {self.l2}", expected="0 or more")
        if self.every and self.l1 and self.l2:
            raise InputError("two penalties", seen=f"l1 {self.l1}, l2 {self.l2}", expected="one of them")

    @property
    def settles(self) -> bool:
        """Whether a step also changes weights that it does not touch, which then must be caught up with later."""
        return self.average or (self.every and (self.l1 > 0 or self.l2 > 0))

    def compiled(self, eta_D: Floats, eta: float) -> Rule:
        """The rule in the form that compiled loops take, with step sizes for dense and for sparse weights."""
        return Rule(eta_D, eta, self.adaptive, self.l1, self.l2, self.every, self.settles, self.project)

    def memory(self, dense: int, sparse: int) -> Arrays:
        """Empty arrays for what steps must remember beside the weights, by their names in `Learned`."""
        held: Arrays = {}
        if self.adaptive:
            held |= {"dense_squares_D": np.zeros(dense), "sparse_squares_F": np.zeros(sparse, dtype=np.float32)}
        if self.settles:
            held |= {
                "dense_sum_D": np.zeros(dense),
                "sparse_sum_F": np.zeros(sparse),
                "touched_F": np.zeros(sparse, dtype=np.int64),
                "clock_1": np.zeros(1, dtype=np.int64),
            }
        return held

    def learned(self, dense_D: Floats, sparse_F: AnyArray, memory: Arrays) -> Learned:
        """The weights together with what steps remember; steps change all arrays in place."""
        # Of arrays that are not remembered compiled loops take empty ones; steps are counted in any case.
        absent = UpdateRule(adaptive=True, average=True).memory(0, 0) | {"clock_1": np.zeros(1, dtype=np.int64)}
        return Learned(dense_D, sparse_F, **{name: memory.get(name, array) for name, array in absent.items()})

    def result(self, learned: Learned, eta_D: Floats, eta: float) -> tuple[AnyArray, AnyArray]:
        """The dense and sparse weights that training ends with: the last ones or the averages; penalties that were put
        off are applied first.
        """
        if not self.settles:
            return learned.dense_D, learned.sparse_F
        settle_all(learned, self.compiled(eta_D, eta))
        if not self.average:
            return learned.dense_D, learned.sparse_F
        steps = float(learned.clock_1[0]) + 1.0
        dense_D = (learned.dense_sum_D + learned.dense_D) / steps
        return dense_D, (learned.sparse_sum_F + learned.sparse_F) / steps
