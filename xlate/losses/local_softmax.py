"""Local softmax with a sink state: the loss of Tillmann & Zhang (2007), Eq. 7 and Table II.

For an instance with positives X+ and negatives X-, and score s(x) = w·x:

    L = Σ_{x in X+} -ln( exp s(x) / (exp s(x) + exp(sink) + Σ_{y in X-} exp s(y)) )

Other positives of the same instance are not in the sum. Because of the sink (exp(-4) in the paper, "an alternative
state that cannot be reached"), adding a constant to all scores changes the loss.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from xlate.array_types import Floats, Floats32, Uints
from xlate.kernels.learning.slopes import Slope
from xlate.losses.lists import Lists
from xlate.losses.loss import Loss, Needs

SINK = -4.0


@Slope
def local_softmax_slope(
    score_X: Floats, gain_X: Floats32, slope_X: Floats, size: int, numbers: Floats, _state: Uints
) -> float:
    """The slope for one positive, the first candidate with a gain above 0, against all others."""
    sink = numbers[0]
    top, true = sink, -1
    for x in range(size):
        top = max(top, score_X[x])
        if true < 0 and gain_X[x] > 0:
            true = x
    if true < 0:
        slope_X[:size] = 0.0
        return 0.0
    total = np.exp(sink - top)
    for x in range(size):
        slope_X[x] = np.exp(score_X[x] - top)
        total += slope_X[x]
    for x in range(size):
        slope_X[x] = (1.0 if x == true else 0.0) - slope_X[x] / total
    return float(np.log(total) + top - score_X[true])


class LocalSoftmax(Loss):
    """The loss as an autograd module. An instance without positives adds nothing; one without negatives still has the
    sink.
    """

    name = "local_softmax"
    needs = Needs.TRUTH
    slope = local_softmax_slope

    def __init__(self, sink: float = SINK) -> None:
        super().__init__()
        self.sink = sink

    def numbers(self) -> tuple[float, ...]:
        """The score of the sink."""
        return (self.sink,)

    def each(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """The sum of -ln p over the positives of each instance, in nats; a gain above 0 marks a positive."""
        true_C = gain_C > 0
        against_I = lists.logsumexp(scores_C.masked_fill(true_C, float("-inf")))
        against_I = torch.logaddexp(against_I, torch.full_like(against_I, self.sink))
        # -ln(e^s / (e^s + e^a)) = softplus(a - s), which neither over- nor underflows.
        missing_C = nn.functional.softplus(lists.spread(against_I) - scores_C)
        return lists.sum(missing_C.masked_fill(~true_C, 0.0))
