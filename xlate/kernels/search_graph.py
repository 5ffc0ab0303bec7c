"""Passes over the arcs of a search graph."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def completion_scores(
    source_A: NDArray[np.int32], target_A: NDArray[np.int32], score_A: NDArray[np.float64], goal: int, nodes: int
) -> NDArray[np.float64]:
    """The best score from each node to the goal, minus infinity where it cannot be reached; shape (nodes,).

    Arcs must be in an order where every arc stands before the arcs that leave its target.
    """
    best_N = np.full(nodes, -np.inf)
    if goal >= 0:
        best_N[goal] = 0.0
    for arc in range(len(source_A) - 1, -1, -1):
        through = score_A[arc] + best_N[target_A[arc]]
        if through > best_N[source_A[arc]]:
            best_N[source_A[arc]] = through
    return best_N
