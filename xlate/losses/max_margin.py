"""Max-margin and perceptron over true candidates and alternatives, the losses that the online kernel steps on.

    L = Σ_{x in X+} max(0, margin + max_{y in X-} s(y) - s(x))

With margin 1 the hinge, with margin 0 the hard perceptron (Rosenblatt 1958; Crammer & Singer 2001). An instance without
alternatives adds nothing. At a tie of scores the perceptron steps, the derivative here is that of the step's side.
"""

from __future__ import annotations

from torch import Tensor, nn

from xlate.losses.segments import picked, segment_argmax, segment_ids


class MaxMargin(nn.Module):
    """The loss as an autograd module; piecewise linear, so second derivatives are 0 wherever there are any."""

    def __init__(self, margin: float = 1.0) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        """The summed loss of a batch; scalar.

        Args:
            scores_C: finite scores of C candidates.
            gain_C: positive for a true candidate, else an alternative.
            candidate_offsets_I1: first candidate of each of I instances, and C.
        """
        true_C = gain_C > 0
        segment_C = segment_ids(candidate_offsets_I1)
        against_I = segment_argmax(scores_C.masked_fill(true_C, float("-inf")), candidate_offsets_I1)
        # Among positives only, the first place found is a positive: there is no alternative.
        none_I = (against_I < 0) | true_C[against_I.clamp(min=0)] if len(true_C) else against_I < 0
        against_X = picked(scores_C, against_I)[segment_C[true_C]]
        missing_X = self.margin + against_X - scores_C[true_C]
        counted_X = (missing_X >= 0) & ~none_I[segment_C[true_C]]
        return missing_X.masked_fill(~counted_X, 0.0).sum()
