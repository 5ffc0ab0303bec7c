"""The best values of each row."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.compiled import loop


@loop
def best_of_rows(score_B: Floats, offsets_S1: Ints, most: int) -> Ints:
    """The places of the `most` highest scores of each of S rows, best first, of equals the first."""
    places, size = np.empty(len(score_B), np.int64), 0
    for s in range(len(offsets_S1) - 1):
        first, last = offsets_S1[s], offsets_S1[s + 1]
        order = np.argsort(-score_B[first:last], kind="mergesort")
        for rank in range(min(most, last - first)):
            places[size] = first + order[rank]
            size += 1
    return places[:size].copy()
