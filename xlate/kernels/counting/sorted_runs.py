"""Merges sorted runs of counted rules, which may lie on disk.

Letters: R runs, one behind the other; N rows of all runs; M distinct sequences; P source and Q target sides; B rules.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.compiled import compiled


class CountedRows(NamedTuple):
    """N counted rules, each run sorted by (source side, target side, shape); run r begins at `runs_R1[r]`.

    Sides and shapes are rows of the sequences of all runs, in which those of a run are sorted too.
    """

    source_N: Ints32
    target_N: Ints32
    shape_N: Ints32
    weight_N: Ints
    runs_R1: Ints


class Numbers(NamedTuple):
    """The number of each sequence of all runs among the distinct ones, which are in the order of a dictionary."""

    source: Ints32
    target: Ints32
    shape: Ints32


class Totals(NamedTuple):
    """What all rules of each source side and of each target side weigh."""

    source_P: Ints
    target_Q: Ints


@compiled
def merge_sequences(ids_T: Ints32, offsets_N1: Ints, runs_R1: Ints) -> tuple[Ints32, Ints]:
    """Numbers the sequences of sorted runs in the order of a dictionary, equal ones alike.

    Returns:
        The number of each sequence, (N,), and one sequence of each number, (M,).
    """
    next_R = runs_R1[:-1].copy()
    number_N, row_M = np.empty(runs_R1[-1], dtype=np.int32), np.empty(runs_R1[-1], dtype=np.int64)
    found = 0
    while True:
        least = -1
        for r in range(len(next_R)):
            row = next_R[r]
            if row < runs_R1[r + 1] and (least < 0 or _compare(ids_T, offsets_N1, row, least) < 0):
                least = row
        if least < 0:
            return number_N, row_M[:found]
        row_M[found] = least
        for r in range(len(next_R)):
            row = next_R[r]
            if row < runs_R1[r + 1] and _compare(ids_T, offsets_N1, row, least) == 0:
                number_N[row] = found
                next_R[r] += 1
        found += 1


@compiled
def _compare(ids_T: Ints32, offsets_N1: Ints, one: int, other: int) -> int:
    """Below 0 when one sequence stands before another in a dictionary, 0 when they are equal."""
    a, b = offsets_N1[one], offsets_N1[other]
    a_length, b_length = offsets_N1[one + 1] - a, offsets_N1[other + 1] - b
    for k in range(min(a_length, b_length)):
        if ids_T[a + k] != ids_T[b + k]:
            return int(ids_T[a + k]) - int(ids_T[b + k])
    return int(a_length - b_length)


@compiled
def merge_rows(
    rows: CountedRows, numbers: Numbers, totals: Totals, least_P: Ints
) -> tuple[Ints32, Ints32, Ints32, Ints]:
    """Adds up rules of sorted runs; a rule of source side p is left out when it weighs less than `least_P[p]`.

    `totals`, zeros at first, get the weights of all rules, also of those left out.

    Returns:
        Source and target side of each rule, its heaviest shape (the last of equally heavy ones), its weight; (B,).
    """
    next_R = rows.runs_R1[:-1].copy()
    # Untouched pages of these cost no memory.
    rules = rows.runs_R1[-1]
    source_B, target_B = np.empty(rules, dtype=np.int32), np.empty(rules, dtype=np.int32)
    shape_B, weight_B = np.empty(rules, dtype=np.int32), np.empty(rules, dtype=np.int64)
    found = 0
    source, target, shape, weight = _next_row(rows, numbers, next_R)
    while source >= 0:
        source_B[found], target_B[found], weight_B[found] = source, target, 0
        heaviest = 0
        while source == source_B[found] and target == target_B[found]:
            weight_B[found] += weight
            if weight >= heaviest:
                shape_B[found], heaviest = shape, weight
            source, target, shape, weight = _next_row(rows, numbers, next_R)
        totals.source_P[source_B[found]] += weight_B[found]
        totals.target_Q[target_B[found]] += weight_B[found]
        if weight_B[found] >= least_P[source_B[found]]:
            found += 1
    return source_B[:found], target_B[:found], shape_B[:found], weight_B[:found]


@compiled
def _next_row(rows: CountedRows, numbers: Numbers, next_R: Ints) -> tuple[int, int, int, int]:
    """The first of the next rows of all runs, with the weights of all that equal it; the source is -1 at the end."""
    source = target = shape = -1
    weight = 0
    for r in range(len(next_R)):
        row = next_R[r]
        if row == rows.runs_R1[r + 1]:
            continue
        its_source = numbers.source[rows.source_N[row]]
        its_target = numbers.target[rows.target_N[row]]
        its_shape = numbers.shape[rows.shape_N[row]]
        before = source < 0 or its_source < source
        if not before and its_source == source:
            before = its_target < target or (its_target == target and its_shape < shape)
        if before:
            source, target, shape, weight = its_source, its_target, its_shape, 0
    for r in range(len(next_R)):
        row = next_R[r]
        if row == rows.runs_R1[r + 1] or numbers.source[rows.source_N[row]] != source:
            continue
        if numbers.target[rows.target_N[row]] == target and numbers.shape[rows.shape_N[row]] == shape:
            weight += rows.weight_N[row]
            next_R[r] += 1
    return source, target, shape, weight
