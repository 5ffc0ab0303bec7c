"""Theorem A.1 of Tillmann & Zhang (2007) on a real run: both sides of the bound on the online loss, an epoch each.

With m steps of fixed size η from w_0 and any w::

    1/m Σ L_i(w_{i-1})  ≤  1/m Σ L_i(w) + |w - w_0|² / (2ηm) + η/(2m) Σ |g_i|²

g_i is the gradient of step i. The right side is taken at the weights an epoch ends with; the infimum is lower still or
equal, so a left side above it would show an error in the update. Where weights have steps of their own, `|·|²` is a
sum over them with the step inside: `|w - w_0|²/η` → Σ_k (w_k - w_0k)²/η_k and `η|g|²` → Σ_k η_k g_k². What is not
trained is a constant of the loss. The theorem is about fixed steps without shrinkage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.array_types import Ints
from xlate.candidates.store import CandidateStore
from xlate.kernels.learning.instances import prediction_errors
from xlate.scoring.weights import Weights
from xlate.train.learner import plain_arrays
from xlate.train.state import PhaseSettings


@dataclass(frozen=True)
class Bound:
    """Both sides for one epoch, in nats a step."""

    online_loss: float
    right_side: float

    @property
    def holds(self) -> bool:
        """Whether the left side is at most the right one, up to rounding."""
        return self.online_loss <= self.right_side * (1 + 1e-9) + 1e-12


def measure_bound(
    settings: PhaseSettings,
    store: CandidateStore,
    order_I: Ints,
    begin: Weights,
    end: Weights,
    online_loss: float,
    curvature: float,
    scale: float,
) -> Bound:
    """The bound of an epoch over the instances in `order_I`, from its first weights to its last.

    Args:
        settings: of the phase; store: its instances.
        order_I: the instances seen.
        begin: weights before the epoch; end: behind it.
        online_loss: summed over the steps, each before its update; curvature: Σ_i Σ_k η_k g_ik².
        scale: what the steps of the epoch were multiplied with.
    """
    module = settings.loss_module()
    assert module.slope is not None
    given = settings.use_sparse, module.numbers_array, module.slope.pointer
    _, loss, steps = prediction_errors(order_I, plain_arrays(store), end.dense_D, end.sparse_F, *given)
    m = max(1, steps)
    moved_D = np.where(settings.trained, (end.dense_D - begin.dense_D) ** 2, 0.0)
    distance = float(moved_D.sum()) / (settings.eta * scale) if any(settings.trained) else 0.0
    if settings.train_sparse:
        distance += float(((end.sparse_F - begin.sparse_F) ** 2).sum()) / (settings.eta_sparse * scale)
    return Bound(online_loss / m, loss / m + distance / (2 * m) + curvature / (2 * m))
