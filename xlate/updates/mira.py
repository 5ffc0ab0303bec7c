"""MIRA: the smallest step that gives every oracle its margin over every hypothesis (Watanabe et al. 2007, Eq. 3 to 6).

With one oracle and one hypothesis the solution is the closed form `α = max(0, min(C, (L - lead) / |Δ|²))` of the
paper's section 4.1, which the first step of the ascent takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.kernels.learning.margins import largest_margins
from xlate.updates.online import OneList, PairUpdate

# Pairs of a list need a few steps each; where features hardly tell them apart, no more is gained by going on.
STEPS = 100_000


@dataclass(frozen=True)
class Mira(PairUpdate):
    """The quadratic program over all pairs.

    Attributes:
        C: what the α of a list sum to at most.

    Raises:
        InputError: C is not above 0.
    """

    C: float = 0.01
    name = "mira"

    def __post_init__(self) -> None:
        """Checks C."""
        if not 0 < self.C < float("inf"):
            raise InputError("C of MIRA", seen=self.C, expected="a positive number")

    def alphas(self, given: OneList, loss_MK: Floats, lead_MK: Floats) -> Floats:  # noqa: ARG002
        """Those of the largest dual."""
        rows = given.oracle_M, given.hypothesis_K
        alpha_MK: Floats = largest_margins(given.products_CC(), given.score_C, *rows, loss_MK, self.C, STEPS)
        return alpha_MK
