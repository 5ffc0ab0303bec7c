"""How well folds hold copies together."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Ints


def parted_copies(group_S: Ints, fold_S: Ints) -> int:
    """How many pairs have a copy in another fold than their own."""
    _, place_S = np.unique(group_S, return_inverse=True)
    least_G = np.full(int(place_S.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    most_G = np.full(len(least_G), -1, np.int64)
    np.minimum.at(least_G, place_S, fold_S)
    np.maximum.at(most_G, place_S, fold_S)
    return int((least_G < most_G)[place_S].sum())
