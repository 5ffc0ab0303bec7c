"""How well weights tell true candidates from alternatives: the error rate of Tillmann & Zhang (2007), Eq. 13."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.learning.online import Instances, score


@njit(cache=True, nogil=True)
def prediction_errors(
    order_I: NDArray[np.int64],
    instances: Instances,
    dense_D: NDArray[np.float64],
    sparse_F: NDArray[np.float64],
    use_sparse: bool,
    sink: float,
) -> tuple[int, float, int]:
    """How many instances have a negative at the top (a tie is an error), the summed softmax loss, and the positives.

    An instance without candidates is no error, one with negatives only is.
    """
    errors, loss, positives = 0, 0.0, 0
    score_X = np.empty(64, dtype=np.float64)
    for i in order_I:
        first, last = instances.candidate_offsets_I1[i], instances.candidate_offsets_I1[i + 1]
        if last - first > len(score_X):
            score_X = np.empty(2 * (last - first), dtype=np.float64)
        best_true, best_false = -np.inf, -np.inf
        for c in range(first, last):
            score_X[c - first] = score(c, instances, dense_D, sparse_F, use_sparse)
            if instances.gain_CG[c, 0] > 0:
                best_true = max(best_true, score_X[c - first])
            else:
                best_false = max(best_false, score_X[c - first])
        if best_false > -np.inf and best_false >= best_true:
            errors += 1
        top = max(sink, best_false)
        against = np.exp(sink - top)
        for c in range(first, last):
            if instances.gain_CG[c, 0] <= 0:
                against += np.exp(score_X[c - first] - top)
        log_against = np.log(against) + top
        for c in range(first, last):
            if instances.gain_CG[c, 0] > 0:
                gap = log_against - score_X[c - first]
                loss += max(gap, 0.0) + np.log1p(np.exp(-abs(gap)))
                positives += 1
    return errors, loss, positives
