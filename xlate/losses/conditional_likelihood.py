"""Conditional likelihood of the hypothesis with the highest gain (Auli, Galley & Gao 2014, section 5.2, CLL).

L = Σ_lists ln Σ_e exp s(e) - s(e*),    e* = argmax_e g(e), the first of equals
"""

from __future__ import annotations

from torch import Tensor, nn

from xlate.losses.segments import picked, segment_argmax, segment_logsumexp


class ConditionalLikelihood(nn.Module):
    """The loss as an autograd module; an empty list adds nothing."""

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        """The summed loss in nats; scalar; arguments as in `ExpectedBleu`."""
        best_I = segment_argmax(gain_C, candidate_offsets_I1)
        total_I = segment_logsumexp(scores_C, candidate_offsets_I1)
        return (total_I - picked(scores_C, best_I)).masked_fill(best_I < 0, 0.0).sum()
