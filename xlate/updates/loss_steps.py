"""Any loss over lists as an online update: a step down its slope on the hypotheses and oracles of one list."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Uints
from xlate.errors import InputError
from xlate.kernels.learning.lists import slopes_of_list
from xlate.losses.loss import Loss, Needs, best_as_truth
from xlate.updates.online import OneList, OnlineStep, OnlineUpdate


class LossSteps(OnlineUpdate):
    """Steps of size η down a loss, whose list is what the pairs of other updates are made of.

    Raises:
        InputError: a loss that does not look at one list by itself, or has no compiled slope.
    """

    def __init__(self, loss: Loss, eta: float, seed: int = 0) -> None:
        if loss.needs not in (Needs.GAINS, Needs.TRUTH) or loss.slope is None or loss.judges_each:
            seen, expected = loss.name, "one over lists: expected_bleu, softmax_margin, ramp …"
            raise InputError("not a loss of one list", seen=seen, expected=expected)
        self.loss, self.eta = loss, eta
        self._pointer = loss.slope.pointer
        self._state = np.full(1, seed, dtype=np.uint64)

    @property
    def memory(self) -> Uints:
        """The state of the numbers by which a loss draws candidates."""
        return self._state

    def step(self, given: OneList) -> OnlineStep:
        """A step down the slope."""
        gains = given.gain_C.astype(np.float32)
        if self.loss.needs is Needs.TRUTH:
            gains = best_as_truth(gains, np.array([0, len(gains)])).astype(np.float32)
        numbers = self.loss.numbers_array
        loss, slope_C = slopes_of_list(given.score_C, gains, numbers, self._state, self._pointer)
        return OnlineStep(self.eta * slope_C, loss)
