"""Logistic loss over pairs of hypotheses, the better one of which should score higher (Hopkins & May 2011).

L = Σ_(a, b) ln( 1 + exp( s(b) - s(a) ) ),    a the better of the two
"""

from __future__ import annotations

from torch import Tensor, nn


class PairwiseLogistic(nn.Module):
    """The loss of P given pairs as an autograd module: candidates `better_P` against `worse_P`."""

    def __init__(self, better_P: Tensor, worse_P: Tensor) -> None:
        super().__init__()
        self.better_P = better_P
        self.worse_P = worse_P

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:  # noqa: ARG002
        """The summed loss; scalar; gains and lists have had their say when the pairs were chosen."""
        return nn.functional.softplus(scores_C[self.worse_P] - scores_C[self.better_P]).sum()
