"""Held-out figures: the block prediction error rate P and the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.candidates.store import CandidateStore
from xlate.kernels.learning.prediction import prediction_errors
from xlate.scoring.weights import Weights
from xlate.train.learner import instances_of


@dataclass(frozen=True)
class Validation:
    """P (Tillmann & Zhang 2007, Eq. 13) and the mean loss a positive, in nats; nan on an empty store."""

    error: float
    loss: float


def validate(store: CandidateStore, weights: Weights, *, use_sparse: bool, sink: float) -> Validation:
    """Measures weights on a held-out store of plain candidates with ±1 gains.

    P is the share of instances in which an alternative has the largest score; a tie counts as an error, so weights of
    zero have P = 1 wherever there is an alternative.
    """
    everything_I = np.arange(len(store), dtype=np.int64)
    errors, loss, positives = prediction_errors(
        everything_I, instances_of(store), weights.dense_D, weights.sparse_F, use_sparse, sink
    )
    nan = float("nan")
    return Validation(errors / len(store) if len(store) else nan, loss / positives if positives else nan)
