"""Sums of the weights of bags of sparse ids, and what a change of those sums means for each weight."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def bag_sums(
    offsets_C1: NDArray[np.int64],
    ids_N: NDArray[np.int32],
    values_N: NDArray[np.float32],
    weights_F: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Σ value · weight over the ids of each of C bags, (C,)."""
    sums_C = np.zeros(len(offsets_C1) - 1)
    for c in range(len(sums_C)):
        total = 0.0
        for n in range(offsets_C1[c], offsets_C1[c + 1]):
            total += weights_F[ids_N[n]] * values_N[n]
        sums_C[c] = total
    return sums_C


@njit(cache=True, nogil=True)
def bag_gradient(
    offsets_C1: NDArray[np.int64],
    ids_N: NDArray[np.int32],
    values_N: NDArray[np.float32],
    slopes_C: NDArray[np.float64],
    size: int,
) -> NDArray[np.float64]:
    """The gradient of F = `size` weights given that of the sums: Σ slope · value over the bags with an id, (F,)."""
    gradient_F = np.zeros(size)
    for c in range(len(slopes_C)):
        slope = slopes_C[c]
        # Of pairs and of sharp softmaxes few hypotheses have a slope.
        if slope == 0.0:
            continue
        for n in range(offsets_C1[c], offsets_C1[c + 1]):
            gradient_F[ids_N[n]] += slope * values_N[n]
    return gradient_F
