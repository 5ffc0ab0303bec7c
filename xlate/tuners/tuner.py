"""What tuners share: the lists they are given, what these score under some weights, and the size of weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xlate.array_types import AnyFloats, Bools, Floats
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.scores import best_candidates
from xlate.scoring.weights import Weights


def checked_lists(lists: CandidateBatch, start: Weights) -> CandidateArrays:
    """Lists as compiled loops take them, with their parts written out; gains are left at 0.

    Raises:
        InputError: no hypothesis, features that are not finite, weights that do not fit.
    """
    if not lists.candidates:
        raise InputError("nothing to tune on", seen="no hypothesis")
    most = int(lists.part_ids_N.max(initial=-1))
    if lists.dense_CD.shape[1] != len(start.dense_D) or most >= len(start.sparse_F):
        raise InputError(
            "weights do not fit the lists",
            seen=f"{len(start.dense_D)} float and {len(start.sparse_F)} sparse weights",
            expected=f"{lists.dense_CD.shape[1]} and more than {most}",
        )
    values_N = np.zeros(0) if lists.part_values_N is None else lists.part_values_N
    if not (np.isfinite(lists.dense_CD).all() and np.isfinite(values_N).all() and start.finite):
        raise InputError("features or weights are not finite", expected="numbers")
    return lists.arrays(np.zeros(lists.candidates), parts=True)


def trained(trained_D: Bools | None, start: Weights) -> Bools:
    """Which float weights move, (D,): all where it is not said."""
    return np.ones(len(start.dense_D), np.bool_) if trained_D is None else trained_D


def scaled(weights: Weights, trained_D: Bools) -> Weights:
    """The same weights with sizes that sum to 1 over the tuned floats, as Moses keeps them.

    Translations do not depend on the scale, but beam thresholds do, and how far a step of a tuner reaches.
    """
    size = float(np.abs(weights.dense_D[trained_D]).sum())
    if size == 0.0:
        return weights
    dense_D = np.where(trained_D, weights.dense_D / size, weights.dense_D)
    return replace(weights, dense_D=dense_D, sparse_F=weights.sparse_F / size)


def best_statistics(lists: CandidateArrays, statistics_CK: AnyFloats, weights: Weights) -> Floats:
    """The summed statistics of each list's best hypothesis under some weights, (K,); of equals the first."""
    dense_D, sparse_F = (np.ascontiguousarray(w, dtype=np.float64) for w in (weights.dense_D, weights.sparse_F))
    best_I = best_candidates(lists, dense_D, sparse_F)
    sums_K: Floats = statistics_CK[best_I[best_I >= 0]].sum(axis=0, dtype=np.float64)
    return sums_K
