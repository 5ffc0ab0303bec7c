"""The arrays of a `CandidateBatch` as compiled loops take them, and the score of a candidate.

A feature may be a pair: one of an instance's context with one of a candidate. Pairs are computed, not stored: an
instance of X context features and a candidate of T ids have X · T of them. Their ids are hashes, so that several
pairs may share a weight, as in Vowpal Wabbit; the more weights there are, the fewer do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, Floats, Floats32, Ints, Ints32
from xlate.compiled import inlined

# Odd numbers without a pattern, below 2^63: products wrap around alike in numpy, torch and compiled code.
CONTEXT, PART, BOTH = 0x1E3779B97F4A7C15, 0x42B2AE3D27D4EB4F, 0x5851F42D4C957F2D


def crossed_ids(context: Any, part: Any, size: int) -> Any:
    """The ids of pairs among `size` weights, a power of two; arrays or tensors of 64-bit integers, element by element.

    This is what `crossed` computes for one pair.
    """
    return ((((context * CONTEXT) ^ (part * PART)) * BOTH) >> 32) & (size - 1)


@inlined
def crossed(context: int, part: int, size: int) -> int:
    """The id of a pair among `size` weights, a power of two."""
    mixed: int = ((((np.int64(context) * CONTEXT) ^ (np.int64(part) * PART)) * BOTH) >> 32) & (size - 1)  # type: ignore[assignment]
    return mixed


class CandidateArrays(NamedTuple):
    """I instances of C candidates with D dense features; P parts with N sparse ids (see `CandidateBatch`).

    `gain_C` is one gain a candidate. Arrays that a batch does not have are empty: the three of parts when every
    candidate is one part, `part_values_N` when all values are 1, `base_C` when there are no fixed scores, the two of
    contexts when ids stand for themselves; else ids are crossed with those of their instance's context (`crossed`).
    Values are in single precision, but for lists that are only scored anew, whose totals are written with all digits.
    """

    candidate_offsets_I1: Ints
    dense_CD: Floats32
    gain_C: Floats32
    base_C: Floats32
    part_offsets_I1: Ints
    candidate_part_offsets_C1: Ints
    candidate_parts_K: Ints32
    part_id_offsets_P1: Ints
    part_ids_N: Ints32
    part_values_N: AnyFloats
    context_offsets_I1: Ints = np.zeros(0, np.int64)
    contexts_X: Ints32 = np.zeros(0, np.int32)


@inlined
def context_of(i: int, candidates: CandidateArrays) -> tuple[int, int]:
    """Where the context of an instance begins and ends; one place that means nothing when there are no contexts."""
    if len(candidates.context_offsets_I1) == 0:
        return 0, 1
    return int(candidates.context_offsets_I1[i]), int(candidates.context_offsets_I1[i + 1])


@inlined
def feature_of(n: int, x: int, candidates: CandidateArrays, size: int) -> int:
    """The feature of id n in place x of the context, among `size` weights; the id itself when there are no contexts."""
    if len(candidates.context_offsets_I1) == 0:
        return int(candidates.part_ids_N[n])
    return int(crossed(candidates.contexts_X[x], candidates.part_ids_N[n], size))


@inlined
def plain_score(
    i: int, c: int, candidates: CandidateArrays, dense_D: Floats, sparse_F: AnyFloats, use_sparse: bool
) -> float:
    """The score of candidate c of instance i, which is one part."""
    total = 0.0
    for d in range(len(dense_D)):
        total += dense_D[d] * candidates.dense_CD[c, d]
    if use_sparse:
        first, last = candidates.part_id_offsets_P1[c], candidates.part_id_offsets_P1[c + 1]
        if len(candidates.part_values_N) > 0:
            for n in range(first, last):
                total += sparse_F[candidates.part_ids_N[n]] * candidates.part_values_N[n]
        elif len(candidates.context_offsets_I1) > 0:
            begin, end = candidates.context_offsets_I1[i], candidates.context_offsets_I1[i + 1]
            for n in range(first, last):
                for x in range(begin, end):
                    total += sparse_F[crossed(candidates.contexts_X[x], candidates.part_ids_N[n], len(sparse_F))]
        else:
            for n in range(first, last):
                total += sparse_F[candidates.part_ids_N[n]]
    if len(candidates.base_C) > 0:
        total += candidates.base_C[c]
    return total


@inlined
def part_score(part: int, candidates: CandidateArrays, sparse_F: AnyFloats) -> float:
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
