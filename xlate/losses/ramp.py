"""Ramp losses (Gimpel & Smith 2012, section 4): differences of two maxima over a list; unlike a hinge they are bounded.

With cost(e) = -margin · g(e), model best, hope and fear are the maxima of s, s - cost and s + cost:

    ramp 1: fear - model best        ramp 2: model best - hope        ramp 3: fear - hope
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from xlate.array_types import Floats, Floats32, Uints
from xlate.errors import refuse_if
from xlate.kernels.learning.slopes import Slope
from xlate.losses.lists import Lists
from xlate.losses.loss import Loss, margin_of

KINDS = {1: (0.0, -1.0), 2: (1.0, 0.0), 3: (1.0, -1.0)}


@Slope
def ramp_slope(score_X: Floats, gain_X: Floats32, slope_X: Floats, size: int, numbers: Floats, _state: Uints) -> float:
    """Moves score from the candidate of one maximum to that of the other."""
    towards, away = numbers[0], numbers[1]
    good, bad, best, worst = 0, 0, -np.inf, -np.inf
    for x in range(size):
        slope_X[x] = 0.0
        if score_X[x] + towards * gain_X[x] > best:
            good, best = x, score_X[x] + towards * gain_X[x]
        if score_X[x] + away * gain_X[x] > worst:
            bad, worst = x, score_X[x] + away * gain_X[x]
    slope_X[good] += 1.0
    slope_X[bad] -= 1.0
    return float(worst - best)


class Ramp(Loss):
    """The loss as an autograd module; it is piecewise linear, so its second derivatives are 0 where they exist.

    Raises:
        InputError: the kind is not 1, 2 or 3.
    """

    name = "ramp"
    slope = ramp_slope

    def __init__(self, margin: float = 1.0, kind: int = 3) -> None:
        super().__init__()
        refuse_if(kind not in KINDS, "unknown kind of ramp loss", kind, "1, 2 or 3")
        self.margin = margin_of(margin)
        self.kind = kind

    def numbers(self) -> tuple[float, ...]:
        """What a unit of gain adds to the scores of the two maxima."""
        towards, away = KINDS[self.kind]
        return towards * self.margin, away * self.margin

    def each(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """The loss of every list; an empty one adds nothing."""
        good_C, bad_C = (scores_C + sign * self.margin * gain_C for sign in KINDS[self.kind])
        good_I, bad_I = (lists.picked(s_C, lists.argmax(s_C)) for s_C in (good_C, bad_C))
        return bad_I - good_I
