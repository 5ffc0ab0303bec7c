"""TER as a function of summed statistics, for many sums at once."""

from __future__ import annotations

import numpy as np

from xlate.array_types import AnyArray, Floats


def ter_scores(stats_BK: AnyArray) -> Floats:
    """TER, in per cent (lower is better), of each of B rows of statistics, (B,) (Snover et al. 2006).

    A row holds the fewest edits to one reference and the mean reference length, K = 2. Without reference words the
    rate is 100 if anything was put out, otherwise 0, as in sacrebleu.
    """
    sums_BK: Floats = np.asarray(stats_BK, dtype=np.float64)
    edits_B, length_B = sums_BK[:, 0], sums_BK[:, 1]
    without_B = np.where(edits_B > 0, 100.0, 0.0)
    return np.where(length_B > 0, 100.0 * edits_B / np.where(length_B > 0, length_B, 1.0), without_B)
