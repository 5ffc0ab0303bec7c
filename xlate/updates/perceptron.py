"""The perceptron: α is 1 for every hypothesis that scores at least as high as an oracle (Liang et al. 2006)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xlate.updates.online import Floats, OneList, PairUpdate


@dataclass(frozen=True)
class AveragedPerceptron(PairUpdate):
    """No margin is asked for, and no step is measured; the average of the weights is what makes it hold."""

    name = "averaged_perceptron"

    def violated(self, loss_MK: Floats, lead_MK: Floats) -> NDArray[np.bool_]:
        """The pairs in which the oracle does not lead."""
        violated_MK: NDArray[np.bool_] = (loss_MK > 0) & (lead_MK <= 0)
        return violated_MK

    def alphas(self, given: OneList, loss_MK: Floats, lead_MK: Floats) -> Floats:  # noqa: ARG002
        """1 for each of them."""
        return self.violated(loss_MK, lead_MK).astype(np.float64)
