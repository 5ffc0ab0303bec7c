"""The arrays of a `CandidateBatch` as compiled loops take them, and the score of a candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class CandidateArrays(NamedTuple):
    """I instances of C candidates with D dense features; P parts with N sparse ids (see `CandidateBatch`).

    `gain_C` is one gain a candidate. Arrays that a batch does not have are empty: the three of parts when every
    candidate is one part, `part_values_N` when all values are 1, `base_C` when there are no fixed scores.
    Values are in single precision, but for lists that are only scored anew, whose totals are written with all digits.
    """

    candidate_offsets_I1: NDArray[np.int64]
    dense_CD: NDArray[np.float32]
    gain_C: NDArray[np.float32]
    base_C: NDArray[np.float32]
    part_offsets_I1: NDArray[np.int64]
    candidate_part_offsets_C1: NDArray[np.int64]
    candidate_parts_K: NDArray[np.int32]
    part_id_offsets_P1: NDArray[np.int64]
    part_ids_N: NDArray[np.int32]
    part_values_N: NDArray[np.floating]


@njit(cache=True, nogil=True, inline="always")
def plain_score(
    c: int,
    candidates: CandidateArrays,
    dense_D: NDArray[np.float64],
    sparse_F: NDArray[np.floating],
    use_sparse: bool,
) -> float:
    """The score of one candidate that is one part."""
    total = 0.0
    for d in range(len(dense_D)):
        total += dense_D[d] * candidates.dense_CD[c, d]
    if use_sparse:
        first, last = candidates.part_id_offsets_P1[c], candidates.part_id_offsets_P1[c + 1]
        if len(candidates.part_values_N) > 0:
            for n in range(first, last):
                total += sparse_F[candidates.part_ids_N[n]] * candidates.part_values_N[n]
        else:
            for n in range(first, last):
                total += sparse_F[candidates.part_ids_N[n]]
    if len(candidates.base_C) > 0:
        total += candidates.base_C[c]
    return total


@njit(cache=True, nogil=True, inline="always")
def part_score(part: int, candidates: CandidateArrays, sparse_F: NDArray[np.floating]) -> float:
    """The sum of the sparse weights of one part."""
    total = 0.0
    first, last = candidates.part_id_offsets_P1[part], candidates.part_id_offsets_P1[part + 1]
    if len(candidates.part_values_N) > 0:
        for n in range(first, last):
            total += sparse_F[candidates.part_ids_N[n]] * candidates.part_values_N[n]
    else:
        for n in range(first, last):
            total += sparse_F[candidates.part_ids_N[n]]
    return total
