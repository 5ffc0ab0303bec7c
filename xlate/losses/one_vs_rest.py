"""One against the rest: a yes-or-no classifier for each candidate (Kolachina et al. 2010, section 3.1, Eq. 5).

With scores s, true candidates X+ and others X-:

    L = Σ_{x in X+} -ln σ(s(x)) + Σ_{y in X-} -ln σ(-s(y)),    σ(s) = 1 / (1 + exp(-s))

Candidates are not compared with each other, so their probabilities need not add up to 1. A few of the others, drawn at
random, can therefore represent all of them: a gain below -1 says how many a candidate represents, and its term counts
that many times. The expected gradient is that of the whole sum.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from xlate.array_types import Floats, Floats32, Uints
from xlate.kernels.learning.slopes import Slope
from xlate.losses.loss import Loss, Needs


@Slope
def one_vs_rest_slope(
    score_X: Floats, gain_X: Floats32, slope_X: Floats, size: int, _numbers: Floats, _state: Uints
) -> float:
    """The slope of each candidate: 1 if true, else 0, minus σ of its score; times the number that it represents."""
    loss = 0.0
    for x in range(size):
        score = score_X[x] if gain_X[x] > 0 else -score_X[x]
        # ln(1 + exp(-s)) without overflow; its derivative is -σ(-s).
        tail, times = np.exp(-abs(score)), max(1.0, -gain_X[x])
        loss += times * (np.log1p(tail) + max(-score, 0.0))
        miss = times * (tail if score >= 0 else 1.0) / (1.0 + tail)
        slope_X[x] = miss if gain_X[x] > 0 else -miss
    return float(loss)


class OneVsRest(Loss):
    """The loss as an autograd module; a gain above 0 marks a true candidate.

    Args:
        negatives: how many of the others compiled passes draw per instance; 0 uses all of them.
    """

    name = "one_vs_rest"
    needs = Needs.TRUTH
    slope = one_vs_rest_slope
    judges_each = True

    def __init__(self, negatives: int = 0) -> None:
        super().__init__()
        self.negatives = negatives

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:  # noqa: ARG002
        """The summed loss of a batch, in nats; scalar."""
        signed_C = scores_C.where(gain_C > 0, -scores_C)
        return (nn.functional.softplus(-signed_C) * (-gain_C).clamp(min=1.0)).sum()
