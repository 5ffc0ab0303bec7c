"""Online training, one step a positive: local softmax (Tillmann & Zhang 2007, Table II), perceptron, hinge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.learning.upkeep import Learned, Shrinkage, settle
from xlate.kernels.memory.prefetch import prefetch

SOFTMAX, MARGIN = 0, 1


class Instances(NamedTuple):
    """I instances with C candidates of D floats and N sparse ids in all; a candidate with gain above 0 is true."""

    candidate_offsets_I1: NDArray[np.int64]
    dense_CD: NDArray[np.float32]
    gain_CG: NDArray[np.float32]
    id_offsets_C1: NDArray[np.int64]
    ids_N: NDArray[np.int32]


class Steps(NamedTuple):
    """The loss and how steps down its gradient are taken.

    Attributes:
        loss: `SOFTMAX` with the sink's score `sink`, or `MARGIN`: a step only where the best negative is less than
            `margin` below the positive (0: perceptron, 1: hinge).
        eta_D, eta_sparse: step sizes; 0 keeps a weight as it is.
        use_sparse: whether sparse weights count in scores.
        project: keep float weights at or below 0.
        shrinkage: of sparse weights, before each step; not looked at unless `lazy`.
        lazy: sparse weights are shrunk or averaged, so that they must be settled.
        curvature: add up Σ_k η_k g_k² of the gradients g, for the bound of Theorem A.1.
    """

    loss: int
    sink: float
    margin: float
    eta_D: NDArray[np.float64]
    eta_sparse: float
    use_sparse: bool
    project: bool
    shrinkage: Shrinkage
    lazy: bool
    curvature: bool


@njit(cache=True, nogil=True)
def online_pass(
    order_I: NDArray[np.int64], instances: Instances, learned: Learned, steps: Steps
) -> tuple[float, float]:
    """Trains on the instances in `order_I`, changing `learned`; returns the summed loss and curvature before each step.

    A step looks at one positive and all negatives of an instance, shrinks, scores, and moves the weights; the largest
    score is subtracted before any exponential, so nothing overflows.
    """
    loss, curvature = 0.0, 0.0
    member_X, by_X = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.float64)
    gradient_F = np.zeros(len(learned.sparse_F) if steps.curvature else 0)
    moves_dense = (steps.eta_D != 0.0).any()
    for place in range(len(order_I)):
        _fetch_ahead(order_I, place, instances, learned, steps)
        first = instances.candidate_offsets_I1[order_I[place]]
        last = instances.candidate_offsets_I1[order_I[place] + 1]
        if last - first >= len(member_X):
            member_X, by_X = np.empty(2 * (last - first), np.int64), np.empty(2 * (last - first), np.float64)
        size = 1
        for c in range(first, last):
            if instances.gain_CG[c, 0] <= 0:
                member_X[size] = c
                size += 1
        for positive in range(first, last):
            if instances.gain_CG[positive, 0] <= 0:
                continue
            member_X[0] = positive
            learned.clock_1[0] += 1
            if steps.lazy:
                _settle_members(member_X, size, instances, learned, steps.shrinkage)
            for x in range(size):
                by_X[x] = score(member_X[x], instances, learned.dense_D, learned.sparse_F, steps.use_sparse)
            if steps.loss == SOFTMAX:
                loss += _softmax(by_X, size, steps.sink)
            else:
                loss += _margin(by_X, size, steps.margin)
            if steps.curvature:
                curvature += _curvature(member_X, by_X, size, instances, steps, gradient_F)
            for x in range(size):
                if by_X[x] != 0.0:
                    _move(member_X[x], by_X[x], instances, learned, steps, moves_dense)
    return loss, curvature


@njit(cache=True, nogil=True, inline="always")
def score(
    c: int,
    instances: Instances,
    dense_D: NDArray[np.float64],
    sparse_F: NDArray[np.float64],
    use_sparse: bool,
) -> float:
    """The score of one candidate."""
    total = 0.0
    for d in range(len(dense_D)):
        total += dense_D[d] * instances.dense_CD[c, d]
    if use_sparse:
        for n in range(instances.id_offsets_C1[c], instances.id_offsets_C1[c + 1]):
            total += sparse_F[instances.ids_N[n]]
    return total


@njit(cache=True, nogil=True, inline="always")
def _softmax(by_X: NDArray[np.float64], size: int, sink: float) -> float:
    """Turns scores, the positive's first, into minus the gradient of each; returns the loss."""
    top = sink
    for x in range(size):
        top = max(top, by_X[x])
    own = by_X[0]
    total = np.exp(sink - top)
    for x in range(size):
        by_X[x] = np.exp(by_X[x] - top)
        total += by_X[x]
    for x in range(size):
        by_X[x] = (1.0 if x == 0 else 0.0) - by_X[x] / total
    return float(np.log(total) + top - own)


@njit(cache=True, nogil=True, inline="always")
def _margin(by_X: NDArray[np.float64], size: int, margin: float) -> float:
    """Turns scores, the positive's first, into a step towards it from the best negative if that is too close."""
    best = 0
    for x in range(1, size):
        if best == 0 or by_X[x] > by_X[best]:
            best = x
    missing = margin + by_X[best] - by_X[0] if best > 0 else -1.0
    by_X[:size] = 0.0
    if missing < 0.0:
        return 0.0
    by_X[0], by_X[best] = 1.0, -1.0
    return float(missing)


@njit(cache=True, nogil=True, inline="always")
def _move(c: int, by: float, instances: Instances, learned: Learned, steps: Steps, moves_dense: bool) -> None:
    if moves_dense:
        for d in range(len(steps.eta_D)):
            if steps.eta_D[d] != 0.0:
                moved = learned.dense_D[d] + steps.eta_D[d] * by * instances.dense_CD[c, d]
                learned.dense_D[d] = min(moved, 0.0) if steps.project else moved
    if steps.eta_sparse != 0.0:
        for n in range(instances.id_offsets_C1[c], instances.id_offsets_C1[c + 1]):
            learned.sparse_F[instances.ids_N[n]] += steps.eta_sparse * by


@njit(cache=True, nogil=True)
def _settle_members(
    member_X: NDArray[np.int64], size: int, instances: Instances, learned: Learned, shrinkage: Shrinkage
) -> None:
    """Settles all weights that a step looks at, and adds up the float weights as they were before it."""
    for x in range(size):
        c = member_X[x]
        for n in range(instances.id_offsets_C1[c], instances.id_offsets_C1[c + 1]):
            settle(learned, shrinkage, instances.ids_N[n])
    for d in range(len(learned.dense_D)):
        learned.dense_sum_D[d] += learned.dense_D[d]


@njit(cache=True, nogil=True)
def _curvature(
    member_X: NDArray[np.int64],
    by_X: NDArray[np.float64],
    size: int,
    instances: Instances,
    steps: Steps,
    gradient_F: NDArray[np.float64],
) -> float:
    """Σ_k η_k g_k² of one step; `gradient_F` is zero before and after."""
    total = 0.0
    for d in range(len(steps.eta_D)):
        gradient = 0.0
        for x in range(size):
            gradient += by_X[x] * instances.dense_CD[member_X[x], d]
        total += steps.eta_D[d] * gradient * gradient
    for x in range(size):
        for n in range(instances.id_offsets_C1[member_X[x]], instances.id_offsets_C1[member_X[x] + 1]):
            gradient_F[instances.ids_N[n]] += by_X[x]
    for x in range(size):
        for n in range(instances.id_offsets_C1[member_X[x]], instances.id_offsets_C1[member_X[x] + 1]):
            feature = instances.ids_N[n]
            total += steps.eta_sparse * gradient_F[feature] * gradient_F[feature]
            gradient_F[feature] = 0.0
    return total


@njit(cache=True, nogil=True, inline="always")
def _fetch_ahead(order_I: NDArray[np.int64], place: int, instances: Instances, learned: Learned, steps: Steps) -> None:
    """Instances come in random order, so each would wait for memory several times; later ones are asked for early."""
    size = len(order_I)
    if place + 16 < size:
        prefetch(instances.candidate_offsets_I1, order_I[place + 16])
    if place + 8 < size:
        first = instances.candidate_offsets_I1[order_I[place + 8]]
        last = instances.candidate_offsets_I1[order_I[place + 8] + 1]
        prefetch(instances.gain_CG, first * instances.gain_CG.shape[1])
        prefetch(instances.id_offsets_C1, first)
        prefetch(instances.id_offsets_C1, last)
        width = instances.dense_CD.shape[1]
        for at in range(first * width, last * width, 16):
            prefetch(instances.dense_CD, at)
    if steps.use_sparse and place + 5 < size:
        i = order_I[place + 5]
        first = instances.id_offsets_C1[instances.candidate_offsets_I1[i]]
        last = instances.id_offsets_C1[instances.candidate_offsets_I1[i + 1]]
        for at in range(first, last, 16):
            prefetch(instances.ids_N, at)
    if steps.use_sparse and place + 2 < size:
        i = order_I[place + 2]
        first = instances.id_offsets_C1[instances.candidate_offsets_I1[i]]
        last = instances.id_offsets_C1[instances.candidate_offsets_I1[i + 1]]
        for n in range(first, last):
            prefetch(learned.sparse_F, instances.ids_N[n])
            if steps.lazy:
                prefetch(learned.touched_F, instances.ids_N[n])
                prefetch(learned.sparse_sum_F, instances.ids_N[n])
