"""Log likelihood of the hypothesis with the highest gain: plain, and with costs added to the scores of the others.

    cll             Σ_lists ln Σ_e exp γ s(e) - γ s(e*)                 (Auli, Galley & Gao 2014, section 5.2)
    softmax_margin  Σ_lists ln Σ_e exp( γ s(e) + margin · (g(e*) - g(e)) ) - γ s(e*)      (Gimpel & Smith 2010)

e* = argmax_e g(e), the first of equals.
"""

from __future__ import annotations

from torch import Tensor

from xlate.array_types import Floats, Floats32, Uints
from xlate.kernels.learning.slopes import Slope, best_gain, shares
from xlate.losses.lists import Lists
from xlate.losses.loss import MarginLoss


@Slope
def likelihood_slope(
    score_X: Floats, gain_X: Floats32, slope_X: Floats, size: int, numbers: Floats, _state: Uints
) -> float:
    """Moves score to the best hypothesis from every one, in proportion to its probability."""
    gamma, margin = numbers[0], numbers[1]
    best = best_gain(gain_X, size)
    for x in range(size):
        slope_X[x] = gamma * score_X[x] + margin * (gain_X[best] - gain_X[x])
    total = shares(slope_X, size)
    for x in range(size):
        slope_X[x] = gamma * ((1.0 if x == best else 0.0) - slope_X[x])
    return float(total - gamma * score_X[best])


class SoftmaxMargin(MarginLoss):
    """The loss as an autograd module; a unit of gain is worth `margin` units of score. An empty list adds nothing."""

    name = "softmax_margin"
    slope = likelihood_slope

    def each(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """The loss of every list, in nats."""
        values_C = self.gamma * scores_C
        best_I = lists.argmax(gain_C)
        cost_C = self.margin * (lists.spread(lists.picked(gain_C, best_I)) - gain_C)
        missing_I = lists.logsumexp(values_C + cost_C) - lists.picked(values_C, best_I)
        return missing_I.masked_fill(best_I < 0, 0.0)


class ConditionalLikelihood(SoftmaxMargin):
    """The conditional log likelihood: softmax-margin without costs."""

    name = "cll"

    def __init__(self, gamma: float = 1.0) -> None:
        super().__init__(gamma, 0.0)
