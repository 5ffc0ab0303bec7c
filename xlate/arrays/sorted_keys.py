"""Finds keys among sorted ones."""

from __future__ import annotations

import numpy as np

from xlate.array_types import AnyInts, Ints


def places_of_keys(sorted_K: AnyInts, keys_N: AnyInts) -> Ints:
    """Where each of N keys stands among K ascending ones, the first place of equals, -1 where it is not; shape (N,).

    Example:
        >>> places_of_keys(np.array([2, 5, 5]), np.array([5, 3, 2, 9])).tolist()
        [1, -1, 0, -1]
    """
    if not len(sorted_K):
        return np.full(len(keys_N), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(sorted_K, keys_N), len(sorted_K) - 1)
    return np.where(sorted_K[at] == keys_N, at, -1)
