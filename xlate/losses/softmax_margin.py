"""Softmax-margin: conditional likelihood with the cost of each hypothesis added to its score (Gimpel & Smith 2010).

L = Σ_lists ln Σ_e exp( s(e) + scale · (g(e*) - g(e)) ) - s(e*)
"""

from __future__ import annotations

from torch import Tensor, nn

from xlate.losses.segments import picked, segment_argmax, segment_ids, segment_logsumexp


class SoftmaxMargin(nn.Module):
    """The loss as an autograd module; `scale` says how much score a unit of gain is worth."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        """The summed loss; scalar; arguments as in `ExpectedBleu`."""
        best_I = segment_argmax(gain_C, candidate_offsets_I1)
        cost_C = self.scale * (picked(gain_C, best_I)[segment_ids(candidate_offsets_I1)] - gain_C)
        total_I = segment_logsumexp(scores_C + cost_C, candidate_offsets_I1)
        return (total_I - picked(scores_C, best_I)).masked_fill(best_I < 0, 0.0).sum()
