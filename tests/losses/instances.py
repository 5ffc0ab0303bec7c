"""Random scores, labels and instance boundaries, and the loss written out in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from xlate.arrays.ragged import offsets_of

Instance = list[tuple[float, bool]]


def instances(limit: float = 6.0, max_instances: int = 4) -> st.SearchStrategy[list[Instance]]:
    """Lists of instances; an instance is a list of (score, whether it is a positive)."""
    candidate = st.tuples(st.floats(-limit, limit, allow_subnormal=False), st.booleans())
    return st.lists(st.lists(candidate, max_size=5), max_size=max_instances)


def flat(given: Sequence[Instance]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, gains of 1 and -1, and offsets."""
    scores = np.array([score for instance in given for score, _ in instance], np.float64)
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
