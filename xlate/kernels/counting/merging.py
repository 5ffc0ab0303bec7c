"""Merges sorted runs of counted pairs of sequences.

Letters: R runs, one after another; N rows of all runs; M other sequences; X shapes; B pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.compiled import compiled, inner, loop
from xlate.kernels.memory import row_values


class CountedRows(NamedTuple):
    """N counted pairs, each run sorted by (source side, target side, shape); run r begins at `runs_R1[r]`.

    Sides and shapes are numbers of sequences, in the order of the sequences.
    """

    source_N: Ints32
    target_N: Ints32
    shape_N: Ints32
    weight_N: Ints
    runs_R1: Ints


@inner
def _compare(ids_T: Ints32, offsets_N1: Ints, row: int, others_U: Ints32, offsets_M1: Ints, other: int) -> int:
    """Below 0 when a sequence comes before one of others in lexicographic order, 0 when they are equal."""
    a, b = offsets_N1[row], offsets_M1[other]
    a_length, b_length = offsets_N1[row + 1] - a, offsets_M1[other + 1] - b
    for k in range(min(a_length, b_length)):
        if ids_T[a + k] != others_U[b + k]:
            return int(ids_T[a + k]) - int(others_U[b + k])
    return int(a_length - b_length)


@loop
def rows_among(ids_T: Ints32, offsets_N1: Ints, others_U: Ints32, offsets_M1: Ints) -> Ints32:
    """The row of each of N sorted sequences among M other sorted ones, (N,); -1 where it is not there, or has the
    number 0 of unknown words.
    """
    row_N, other = np.full(len(offsets_N1) - 1, -1, np.int32), 0
    for row in range(len(row_N)):
        while other < len(offsets_M1) - 1 and _compare(ids_T, offsets_N1, row, others_U, offsets_M1, other) > 0:
            other += 1
        if other == len(offsets_M1) - 1:
            break
        if _compare(ids_T, offsets_N1, row, others_U, offsets_M1, other) == 0:
            known = (row_values(ids_T, offsets_N1, row) > 0).all()
            row_N[row] = other if known else -1
    return row_N


@loop
def add_pairs(
    key_N: Ints, order_N: Ints, counts_ND: Ints32, source_B: Ints32, target_B: Ints32, counts_BD: Ints
) -> None:
    """Adds the counts of N pairs, of which `order_N` is the order, to those of the same ones among B sorted pairs.

    The key of a pair is its source side times 2^32, plus its target side; keys below 0 are of no pair.
    """
    b = 0
    for n in order_N:
        while b < len(source_B) and (np.int64(source_B[b]) << np.int64(32) | target_B[b]) < key_N[n]:
            b += 1
        if b < len(source_B) and (np.int64(source_B[b]) << np.int64(32) | target_B[b]) == key_N[n]:
            counts_BD[b] += counts_ND[n]


@compiled
def merge_rows(rows: CountedRows, inverse_X: Ints32) -> tuple[Ints32, Ints32, Ints32, Ints32, Ints]:
    """Adds up the pairs of sorted runs.

    Args:
        rows: the pairs.
        inverse_X: the rank of each shape in another order.

    Returns:
        Source and target side of each pair, its heaviest shape (of equally heavy ones, the last, or in the other order
        the last), and its weight; (B,).
    """
    next_R = rows.runs_R1[:-1].copy()
    # Untouched pages of these cost no memory.
    most = rows.runs_R1[-1]
    source_B, target_B = np.empty(most, np.int32), np.empty(most, np.int32)
    shape_B, inverse_B = np.empty(most, np.int32), np.empty(most, np.int32)
    weight_B = np.empty(most, np.int64)
    found = 0
    source, target, shape, weight = _next_row(rows, next_R)
    while source >= 0:
        source_B[found], target_B[found], weight_B[found] = source, target, 0
        heaviest = 0
        while source == source_B[found] and target == target_B[found]:
            weight_B[found] += weight
            if weight > heaviest or (weight == heaviest and inverse_X[shape] > inverse_X[inverse_B[found]]):
                inverse_B[found] = shape
            if weight >= heaviest:
                shape_B[found], heaviest = shape, weight
            source, target, shape, weight = _next_row(rows, next_R)
        found += 1
    return source_B[:found], target_B[:found], shape_B[:found], inverse_B[:found], weight_B[:found]


@inner
def _next_row(rows: CountedRows, next_R: Ints) -> tuple[int, int, int, int]:
    """The first of the next rows of all runs, with the summed weight of its equals; the source is -1 at the end."""
    source = target = shape = -1
    weight = 0
    for r in range(len(next_R)):
        row = next_R[r]
        if row == rows.runs_R1[r + 1]:
            continue
        its_source, its_target, its_shape = rows.source_N[row], rows.target_N[row], rows.shape_N[row]
        before = source < 0 or its_source < source
        if not before and its_source == source:
            before = its_target < target or (its_target == target and its_shape < shape)
        if before:
            source, target, shape, weight = its_source, its_target, its_shape, 0
    for r in range(len(next_R)):
        row = next_R[r]
        if row == rows.runs_R1[r + 1] or rows.source_N[row] != source:
            continue
        if rows.target_N[row] == target and rows.shape_N[row] == shape:
            weight += rows.weight_N[row]
            next_R[r] += 1
    return source, target, shape, weight
