"""The per-instance online update of local softmax (Tillmann & Zhang 2007, Table II), and the error rate of Eq. 13."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True, inline="always")
def _score(
    c: int,
    dense_CD: NDArray[np.float32],
    id_offsets_C1: NDArray[np.int64],
    ids_N: NDArray[np.int32],
    dense_w: NDArray[np.float64],
    sparse_w: NDArray[np.float64],
    use_sparse: bool,
) -> float:
    total = 0.0
    for d in range(len(dense_w)):
        total += dense_w[d] * dense_CD[c, d]
    if use_sparse:
        for n in range(id_offsets_C1[c], id_offsets_C1[c + 1]):
            total += sparse_w[ids_N[n]]
    return total


@njit(cache=True, nogil=True, inline="always")
def _add(
    c: int,
    by: float,
    dense_CD: NDArray[np.float32],
    id_offsets_C1: NDArray[np.int64],
    ids_N: NDArray[np.int32],
    dense_w: NDArray[np.float64],
    sparse_w: NDArray[np.float64],
    eta_D: NDArray[np.float64],
    eta_sparse: float,
    project: bool,
) -> None:
    for d in range(len(dense_w)):
        if eta_D[d] != 0.0:
            moved = dense_w[d] + eta_D[d] * by * dense_CD[c, d]
            dense_w[d] = min(moved, 0.0) if project else moved
    if eta_sparse != 0.0:
        for n in range(id_offsets_C1[c], id_offsets_C1[c + 1]):
            sparse_w[ids_N[n]] += eta_sparse * by


@njit(cache=True, nogil=True)
def local_softmax_online(
    order_I: NDArray[np.int64],
    candidate_offsets_I1: NDArray[np.int64],
    dense_CD: NDArray[np.float32],
    gain_CG: NDArray[np.float32],
    id_offsets_C1: NDArray[np.int64],
    ids_N: NDArray[np.int32],
    dense_w: NDArray[np.float64],
    sparse_w: NDArray[np.float64],
    eta_D: NDArray[np.float64],
    eta_sparse: float,
    use_sparse: bool,
    sink: float,
    project: bool,
) -> float:
    """Updates both weight vectors in place over the instances in `order_I`; returns the summed loss before each step.

    Steps are `eta_D` a float weight (0 keeps it as it is) and `eta_sparse`; with `project` a float weight above 0 is
    set to 0 after every step (floats are costs). Equal to `losses.local_softmax.online_update`, with the largest
    score subtracted so that nothing overflows.
    """
    loss = 0.0
    exp_C = np.empty(64, dtype=np.float64)
    for i in order_I:
        first, last = candidate_offsets_I1[i], candidate_offsets_I1[i + 1]
        if last - first > len(exp_C):
            exp_C = np.empty(2 * (last - first), dtype=np.float64)
        for positive in range(first, last):
            if gain_CG[positive, 0] <= 0:
                continue
            top = sink
            for c in range(first, last):
                if c == positive or gain_CG[c, 0] <= 0:
                    score = _score(c, dense_CD, id_offsets_C1, ids_N, dense_w, sparse_w, use_sparse)
                    exp_C[c - first] = score
                    top = max(top, score)
            own = exp_C[positive - first]
            total = np.exp(sink - top)
            for c in range(first, last):
                if c == positive or gain_CG[c, 0] <= 0:
                    exp_C[c - first] = np.exp(exp_C[c - first] - top)
                    total += exp_C[c - first]
            loss += np.log(total) + top - own
            by = 1.0 - exp_C[positive - first] / total
            _add(positive, by, dense_CD, id_offsets_C1, ids_N, dense_w, sparse_w, eta_D, eta_sparse, project)
            for c in range(first, last):
                if gain_CG[c, 0] <= 0:
                    by = -exp_C[c - first] / total
                    _add(c, by, dense_CD, id_offsets_C1, ids_N, dense_w, sparse_w, eta_D, eta_sparse, project)
    return loss


@njit(cache=True, nogil=True)
def prediction_errors(
    candidate_offsets_I1: NDArray[np.int64],
    dense_CD: NDArray[np.float32],
    gain_CG: NDArray[np.float32],
    id_offsets_C1: NDArray[np.int64],
    ids_N: NDArray[np.int32],
    dense_w: NDArray[np.float64],
    sparse_w: NDArray[np.float64],
    use_sparse: bool,
    sink: float,
) -> tuple[int, float, int]:
    """How many instances have a negative at the top (Eq. 13; a tie is an error), the summed loss, and the positives.

    An instance without candidates is no error, one with negatives only is.
    """
    errors, loss, positives = 0, 0.0, 0
    for i in range(len(candidate_offsets_I1) - 1):
        first, last = candidate_offsets_I1[i], candidate_offsets_I1[i + 1]
        best_true, best_false = -np.inf, -np.inf
        for c in range(first, last):
            score = _score(c, dense_CD, id_offsets_C1, ids_N, dense_w, sparse_w, use_sparse)
            if gain_CG[c, 0] > 0:
                best_true = max(best_true, score)
            else:
                best_false = max(best_false, score)
        if best_false > -np.inf and best_false >= best_true:
            errors += 1
        top = max(sink, best_false)
        against = np.exp(sink - top)
        for c in range(first, last):
            if gain_CG[c, 0] <= 0:
                against += np.exp(_score(c, dense_CD, id_offsets_C1, ids_N, dense_w, sparse_w, use_sparse) - top)
        log_against = np.log(against) + top
        for c in range(first, last):
            if gain_CG[c, 0] > 0:
                gap = log_against - _score(c, dense_CD, id_offsets_C1, ids_N, dense_w, sparse_w, use_sparse)
                loss += max(gap, 0.0) + np.log1p(np.exp(-abs(gap)))
                positives += 1
    return errors, loss, positives
