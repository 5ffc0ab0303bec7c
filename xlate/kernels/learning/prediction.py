"""How well weights tell true candidates from alternatives: the error rate of Tillmann & Zhang (2007), Eq. 13."""

from __future__ import annotations

from typing import Any

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.compiled import loop
from xlate.kernels.learning.candidates import CandidateArrays, plain_score


@loop
def prediction_errors(
    order_I: Ints,
    candidates: CandidateArrays,
    dense_D: Floats,
    sparse_F: Floats,
    use_sparse: bool,
    numbers: Floats,
    slope: Any,
) -> tuple[int, float, int]:
    """How many instances have a negative at the top (a tie is an error), the summed loss of true candidates, and these.

    An instance without candidates is no error, one with negatives only is. The loss is that of `slope` for each true
    candidate against all that are not, as training steps on it.
    """
    errors, loss, positives = 0, 0.0, 0
    score_X, slope_X, gain_X = np.empty(64), np.empty(64), np.zeros(64, dtype=np.float32)
    state = np.ones(1, dtype=np.uint64)
    gain_X[0] = 1.0
    for i in order_I:
        first, last = candidates.candidate_offsets_I1[i], candidates.candidate_offsets_I1[i + 1]
        if last - first >= len(score_X):
            room = 2 * (last - first)
            score_X, slope_X, gain_X = np.empty(room), np.empty(room), np.zeros(room, dtype=np.float32)
            gain_X[0] = 1.0
        best_true, best_false, size = -np.inf, -np.inf, 1
        for c in range(first, last):
            if candidates.gain_C[c] <= 0:
                score_X[size] = plain_score(i, c, candidates, dense_D, sparse_F, use_sparse)
                best_false = max(best_false, score_X[size])
                size += 1
        for c in range(first, last):
            if candidates.gain_C[c] > 0:
                score_X[0] = plain_score(i, c, candidates, dense_D, sparse_F, use_sparse)
                best_true = max(best_true, score_X[0])
                loss += slope(score_X, gain_X, slope_X, size, numbers, state)
                positives += 1
        if best_false > -np.inf and best_false >= best_true:
            errors += 1
    return errors, loss, positives
