"""Random scores, labels and instance boundaries, and the loss written out in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from xlate.arrays.ragged import offsets_of
from xlate.losses.local_softmax import SINK

Instance = list[tuple[float, bool]]


def instances(limit: float = 6.0, max_instances: int = 4) -> st.SearchStrategy[list[Instance]]:
    """Lists of instances; an instance is a list of (score, whether it is a positive)."""
    candidate = st.tuples(st.floats(-limit, limit, allow_subnormal=False), st.booleans())
    return st.lists(st.lists(candidate, max_size=5), max_size=max_instances)


def flat(given: Sequence[Instance]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, gains of 1 and -1, and offsets."""
    scores = np.array([score for instance in given for score, _ in instance], dtype=np.float64)
    gains = np.array([1.0 if true else -1.0 for instance in given for _, true in instance])
    return scores, gains, offsets_of([len(instance) for instance in given])


def naive_loss(given: Sequence[Instance], sink: float = -4.0) -> float:
    """Eq. 7 with the sink of Table II, term by term."""
    loss = 0.0
    for instance in given:
        against = math.exp(sink) + sum(math.exp(score) for score, true in instance if not true)
        for score, true in instance:
            if true:
                loss -= math.log(math.exp(score) / (math.exp(score) + against))
    return loss


def naive_gradient(given: Sequence[Instance], sink: float = -4.0) -> list[float]:
    """Prediction minus truth: each positive adds p - 1 to itself and its share to every negative."""
    gradient = []
    for instance in given:
        against = math.exp(sink) + sum(math.exp(score) for score, true in instance if not true)
        totals = [math.exp(score) + against for score, true in instance if true]
        for score, true in instance:
            if true:
                gradient.append(math.exp(score) / (math.exp(score) + against) - 1)
            else:
                gradient.append(sum(math.exp(score) / total for total in totals))
    return gradient


def online_update(
    weights_D: np.ndarray,
    positives: Sequence[np.ndarray],
    negatives: Sequence[np.ndarray],
    eta: float,
    sink: float = SINK,
) -> None:
    """Table II as it is written: changes `weights_D` in place, positive by positive, with dense feature vectors.

    This is the reference that the kernel is tested against; it overflows where the kernel does not.
    """
    for positive in positives:
        t = np.exp(weights_D @ positive)
        t_negatives = [np.exp(weights_D @ negative) for negative in negatives]
        total = t + np.exp(sink) + sum(t_negatives)
        weights_D += eta * (1.0 - t / total) * positive
        for t_i, negative in zip(t_negatives, negatives, strict=True):
            weights_D += eta * (-t_i / total) * negative
