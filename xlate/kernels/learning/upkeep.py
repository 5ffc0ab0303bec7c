"""What every step of training does to every sparse weight, done only when a weight is next looked at.

Step t first shrinks all sparse weights, then updates those of one instance. A weight that no instance has touched since
step s has only been shrunk, so `settle` can make up for the t - s steps at once: it shrinks the weight as often, and
adds what the weight was at the end of steps s to t - 1 to the sum that the average is made of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Learned(NamedTuple):
    """D float and F sparse weights in training.

    `clock_1[0]` counts steps. `touched_F` is the step up to which a sparse weight is settled, and the sums are of all
    values of a weight at the end of steps 0 (where it began) to that step, the last one not counted; all three are
    empty when there is nothing to settle.
    """

    dense_D: NDArray[np.float64]
    sparse_F: NDArray[np.float64]
    dense_sum_D: NDArray[np.float64]
    sparse_sum_F: NDArray[np.float64]
    touched_F: NDArray[np.int64]
    clock_1: NDArray[np.int64]


class Shrinkage(NamedTuple):
    """One step's shrinkage: a weight's size loses `less` but never passes 0 (L1), or is multiplied by `keep` (L2)."""

    less: float
    keep: float


@njit(cache=True, nogil=True)
def settle(learned: Learned, shrinkage: Shrinkage, n: int) -> None:
    """Brings sparse weight n and its sum to the present step."""
    missed = learned.clock_1[0] - learned.touched_F[n]
    if missed == 0:
        return
    learned.touched_F[n] = learned.clock_1[0]
    weight = learned.sparse_F[n]
    if weight == 0.0:
        return
    size = abs(weight)
    if shrinkage.less > 0.0:
        whole = min(missed - 1, int(size / shrinkage.less))
        total = (whole + 1) * size - shrinkage.less * (0.5 * whole * (whole + 1))
        size = max(size - missed * shrinkage.less, 0.0)
    elif shrinkage.keep < 1.0:
        kept = shrinkage.keep**missed
        total = size * (1.0 - kept) / (1.0 - shrinkage.keep)
        size *= kept
    else:
        total = missed * size
    sign = 1.0 if weight > 0.0 else -1.0
    learned.sparse_sum_F[n] += sign * total
    learned.sparse_F[n] = sign * size


@njit(cache=True, nogil=True)
def settle_all(learned: Learned, shrinkage: Shrinkage) -> None:
    """Brings every sparse weight to the present step; to be done before the shrinkage changes."""
    for n in range(len(learned.touched_F)):
        settle(learned, shrinkage, n)
