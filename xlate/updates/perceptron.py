"""The perceptron: a step of size 1 where a hypothesis scores at least as high as an oracle (Liang et al. 2006).

They have one oracle and one hypothesis. Of several pairs the mean is taken, so that a step is as long as theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.array_types import Bools, Floats
from xlate.updates.online import OneList, PairUpdate


@dataclass(frozen=True)
class AveragedPerceptron(PairUpdate):
    """No margin is asked for, and no step is measured; the average of the weights is what makes it hold."""

    name = "averaged_perceptron"

    def violated(self, loss_MK: Floats, lead_MK: Floats) -> Bools:
        """The pairs in which the oracle does not lead."""
        violated_MK: Bools = (loss_MK > 0) & (lead_MK <= 0)
        return violated_MK

    def alphas(self, given: OneList, loss_MK: Floats, lead_MK: Floats) -> Floats:  # noqa: ARG002
        """The same for each of them, 1 in all."""
        alpha_MK = self.violated(loss_MK, lead_MK).astype(np.float64)
        return alpha_MK / max(float(alpha_MK.sum()), 1.0)
