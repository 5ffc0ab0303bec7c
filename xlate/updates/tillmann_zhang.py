"""Steps of a convex loss: α = η L max(0, 1 - lead) (Tillmann & Zhang 2006, as Watanabe et al. 2007 give it)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.array_types import Bools, Floats
from xlate.updates.online import OneList, PairUpdate


@dataclass(frozen=True)
class TillmannZhang(PairUpdate):
    """Every oracle should lead by 1, the more so the more the hypothesis loses.

    Attributes:
        eta: η, the learning rate.
    """

    eta: float = 0.01
    name = "tillmann_zhang"

    def violated(self, loss_MK: Floats, lead_MK: Floats) -> Bools:
        """The pairs in which the oracle leads by less than 1."""
        violated_MK: Bools = (loss_MK > 0) & (lead_MK < 1)
        return violated_MK

    def alphas(self, given: OneList, loss_MK: Floats, lead_MK: Floats) -> Floats:  # noqa: ARG002
        """η L (1 - lead) for each of them."""
        return self.eta * np.maximum(loss_MK, 0.0) * np.maximum(1.0 - lead_MK, 0.0)
