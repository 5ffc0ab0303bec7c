"""Numbers that are no literals."""

from __future__ import annotations

import numpy as np
from numba import int64, njit

from xlate.kernels.memory.whole import whole

FIVE = 5


@njit
def doubled(number: int) -> int:
    return 2 * number


@njit
def in_many_ways(given_N: np.ndarray) -> int:  # type: ignore[type-arg]
    total, so_far = doubled(whole(FIVE)) + doubled(whole(0)), whole(0)
    while so_far < 8:
        so_far = doubled(so_far) + 1
    return total + so_far + doubled(whole(given_N[0]))


def test_a_function_is_compiled_once_whatever_it_is_called_with() -> None:
    assert whole(-3) == -3
    assert in_many_ways(np.array([4], dtype=np.int32)) == 10 + 15 + 8
    assert doubled.signatures == [(int64,)]
