"""The logs of the chances of candidates, from their scores."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def log_sum_exp(scores: NDArray[np.float64], first: int, last: int) -> float:
    """ln Σ exp of scores[first:last], which must not be empty."""
    top = scores[first]
    for option in range(first + 1, last):
        top = max(top, scores[option])
    total = 0.0
    for option in range(first, last):
        total += np.exp(scores[option] - top)
    return float(top + np.log(total))


@njit(cache=True, nogil=True)
def log_chances(scores: NDArray[np.float64], first: int, last: int, alone: bool) -> None:
    """Puts ln p in the place of scores[first:last], which must not be empty.

    p is the softmax of the scores, or with `alone` the logistic function of each.
    """
    if not alone:
        scores[first:last] -= log_sum_exp(scores, first, last)
        return
    for c in range(first, last):
        scores[c] = min(scores[c], 0.0) - np.log1p(np.exp(-abs(scores[c])))
