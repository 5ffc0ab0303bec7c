"""Ramp losses (Gimpel & Smith 2012, section 4): differences of two maxima over a list, bounded where a hinge is not.

With cost(e) = -scale · g(e), model best, hope and fear are the maxima of s, s - cost and s + cost:

    ramp 1: fear - model best        ramp 2: model best - hope        ramp 3: fear - hope
"""

from __future__ import annotations

from torch import Tensor, nn

from xlate.errors import InputError
from xlate.losses.segments import picked, segment_argmax

KINDS = {1: (0.0, -1.0), 2: (1.0, 0.0), 3: (1.0, -1.0)}


class Ramp(nn.Module):
    """The loss as an autograd module; piecewise linear, so second derivatives are 0 wherever there are any.

    Raises:
        InputError: a kind other than 1, 2 and 3.
    """

    def __init__(self, scale: float = 1.0, kind: int = 3) -> None:
        super().__init__()
        if kind not in KINDS:
            raise InputError("kind of ramp loss", seen=kind, expected="1, 2 or 3")
        self.scale = scale
        self.kind = kind

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        """The summed loss; scalar, an empty list adding nothing; arguments as in `ExpectedBleu`."""
        good_C, bad_C = (scores_C + sign * self.scale * gain_C for sign in KINDS[self.kind])
        good_I, bad_I = (picked(s, segment_argmax(s, candidate_offsets_I1)) for s in (good_C, bad_C))
        return (bad_I - good_I).sum()
