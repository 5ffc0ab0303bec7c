"""Local softmax with a sink state: the loss of Tillmann & Zhang (2007), Eq. 7 and Table II.

For an instance with positives X+ and negatives X-, and score s(x) = w·x:

    L = Σ_{x in X+} -ln( exp s(x) / (exp s(x) + exp(sink) + Σ_{y in X-} exp s(y)) )

Other positives of the same instance are not in the sum. Because of the sink (exp(-4) in the paper, "an alternative
state that cannot be reached"), adding a constant to all scores changes the loss.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from xlate.losses.segments import segment_ids, segment_logsumexp

SINK = -4.0


class LocalSoftmax(nn.Module):
    """The loss as an autograd module; without positives an instance adds nothing, without negatives it has the sink."""

    def __init__(self, sink: float = SINK) -> None:
        super().__init__()
        self.sink = sink

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        """The sum of -ln p over all positives of a batch, in nats; scalar.

        Args:
            scores_C: scores of C candidates.
            gain_C: positive for a true candidate, else an alternative.
            candidate_offsets_I1: first candidate of each of I instances, and C.
        """
        true_C = gain_C > 0
        negative_C = scores_C.masked_fill(true_C, float("-inf"))
        against_I = segment_logsumexp(negative_C, candidate_offsets_I1)
        against_I = torch.logaddexp(against_I, torch.full_like(against_I, self.sink))
        scores_X = scores_C[true_C]
        against_X = against_I[segment_ids(candidate_offsets_I1)[true_C]]
        # -ln(e^s / (e^s + e^a)) = softplus(a - s), which neither over- nor underflows.
        return nn.functional.softplus(against_X - scores_X).sum()


def online_update(
    weights_D: NDArray[np.float64],
    positives: Sequence[NDArray[np.float64]],
    negatives: Sequence[NDArray[np.float64]],
    eta: float,
    sink: float = SINK,
) -> None:
    """Table II to the letter: changes `weights_D` in place, positive by positive, on dense feature vectors.

    The reference that the kernel is tested against; it overflows where the kernel does not.
    """
    for positive in positives:
        t = np.exp(weights_D @ positive)
        t_negatives = [np.exp(weights_D @ negative) for negative in negatives]
        total = t + np.exp(sink) + sum(t_negatives)
        weights_D += eta * (1.0 - t / total) * positive
        for t_i, negative in zip(t_negatives, negatives, strict=True):
            weights_D += eta * (-t_i / total) * negative
