"""The logs of the chances of candidates, from their scores."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats
from xlate.compiled import loop


@loop
def log_sum_exp(scores: Floats, first: int, last: int) -> float:
    """ln Σ exp of scores[first:last], which must not be empty."""
    top = scores[first]
    for option in range(first + 1, last):
        top = max(top, scores[option])
    total = 0.0
    for option in range(first, last):
        total += np.exp(scores[option] - top)
    return float(top + np.log(total))


@loop
def log_chances(scores: Floats, first: int, last: int, alone: bool) -> None:
    """Puts ln p in the place of scores[first:last], which must not be empty.

    p is the softmax of the scores, or with `alone` the logistic function of each.
    """
    if not alone:
        scores[first:last] -= log_sum_exp(scores, first, last)
        return
    for c in range(first, last):
        scores[c] = min(scores[c], 0.0) - np.log1p(np.exp(-abs(scores[c])))
