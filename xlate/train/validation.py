"""Held-out figures: the block prediction error rate P and the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.candidates.store import CandidateStore
from xlate.kernels.learning.instances import prediction_errors
from xlate.losses.loss import Loss
from xlate.scoring.weights import Weights
from xlate.train.learner import plain_arrays


@dataclass(frozen=True)
class Validation:
    """P (Tillmann & Zhang 2007, Eq. 13) and the mean loss of a true candidate; nan on an empty store."""

    error: float
    loss: float


def validate(store: CandidateStore, weights: Weights, loss: Loss, *, use_sparse: bool) -> Validation:
    """Measures weights on a held-out store of plain candidates with ±1 gains, by the loss that they are trained with.

    P is the share of instances in which an alternative has the largest score; a tie counts as an error, so weights of
    zero have P = 1 wherever there is an alternative.

    Raises:
        ValueError: a loss without a compiled slope.
    """
    if loss.slope is None:
        raise ValueError(f"{loss.name} has no compiled slope")
    everything_I, nan = np.arange(len(store), dtype=np.int64), float("nan")
    given = weights.dense_D, weights.sparse_F, use_sparse, loss.numbers_array, loss.slope.pointer
    errors, total, positives = prediction_errors(everything_I, plain_arrays(store), *given)
    return Validation(errors / len(store) if len(store) else nan, total / positives if positives else nan)
