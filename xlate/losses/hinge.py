"""Margin losses: the best candidate must lead every other one by a score in proportion to the difference of their
gains.

    hinge       Σ max_e ( γ s(e) + margin · (g(e*) - g(e)) ) - γ s(e*)      e* = argmax_e g(e), the first of equals
    perceptron  the same without a margin                                   (Rosenblatt 1958; Crammer & Singer 2001)

If true candidates have the gain 1 and all others 0, this is the hinge loss of a classifier. An instance with a single
candidate adds nothing. At a tie the derivative is not 0, since weights that are all 0 would otherwise never move.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from xlate.array_types import Floats, Floats32, Uints
from xlate.kernels.learning.slopes import Slope, best_gain
from xlate.losses.lists import Lists
from xlate.losses.loss import MarginLoss


@Slope
def hinge_slope(score_X: Floats, gain_X: Floats32, slope_X: Floats, size: int, numbers: Floats, _state: Uints) -> float:
    """Moves score from the other candidate with the highest score plus cost, the first of equals, to the one with the
    highest gain.
    """
    gamma, margin = numbers[0], numbers[1]
    slope_X[:size] = 0.0
    best = best_gain(gain_X, size)
    own, worst, most = gamma * score_X[best], -1, -np.inf
    for x in range(size):
        value = gamma * score_X[x] + margin * (gain_X[best] - gain_X[x])
        if x != best and value > most:
            worst, most = x, value
    if worst < 0 or most < own:
        return 0.0
    slope_X[best], slope_X[worst] = gamma, -gamma
    return float(most - own)


class Hinge(MarginLoss):
    """The loss as an autograd module; `margin` says how much score a unit of gain is worth."""

    name = "hinge"
    slope = hinge_slope

    def each(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """The loss of every list."""
        values_C = self.gamma * scores_C
        best_I = lists.argmax(gain_C)
        costly_C = values_C + self.margin * (lists.spread(lists.picked(gain_C, best_I)) - gain_C)
        worst_I = lists.argmax(lists.without(costly_C, best_I))
        missing_I = lists.picked(costly_C, worst_I) - lists.picked(values_C, best_I)
        return missing_I.masked_fill((worst_I < 0) | (worst_I == best_I) | (missing_I < 0), 0.0)


class Perceptron(Hinge):
    """The hard perceptron: no margin."""

    name = "perceptron"

    def __init__(self) -> None:
        super().__init__(margin=0.0)
