"""The best values of each row."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def best_of_rows(score_B: NDArray[np.float64], offsets_S1: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The places of the `most` highest scores of each of S rows, best first, of equals the first."""
    places, size = np.empty(len(score_B), np.int64), 0
    for s in range(len(offsets_S1) - 1):
        first, last = offsets_S1[s], offsets_S1[s + 1]
        order = np.argsort(-score_B[first:last], kind="mergesort")
        for rank in range(min(most, last - first)):
            places[size] = first + order[rank]
            size += 1
    return places[:size].copy()
