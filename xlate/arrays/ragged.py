"""Rows of different lengths, kept as one flat array and offsets; and look-up of keys among sorted ones.

Row r of R rows holds the values `offsets_R1[r]` to `offsets_R1[r + 1]` of a flat array. Offsets begin with 0 and never
decrease. Every list of candidates, bag of features, sentence and phrase in xlate is stored this way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.array_types import NO_INTS, AnyInts, Bools, Ints


def offsets_of(lengths: Sequence[int] | AnyInts | Bools) -> Ints:
    """The offsets of R rows from their lengths: 0 and the running sums, shape (R + 1,).

    Example:
        >>> offsets_of([2, 0, 3]).tolist()
        [0, 2, 2, 5]
    """
    offsets_R1 = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets_R1[1:])
    return offsets_R1


def lengths_of(offsets_R1: AnyInts, rows: Sequence[int] | AnyInts) -> Ints:
    """The lengths of some rows, without reading the others.

    Example:
        >>> lengths_of(np.array([0, 2, 2, 5]), [2, 0]).tolist()
        [3, 2]
    """
    rows = np.asarray(rows, np.int64)
    return np.asarray(offsets_R1[rows + 1] - offsets_R1[rows], np.int64)


def row_numbers(offsets_R1: AnyInts) -> Ints:
    """The row of each value: offsets 0 2 2 5 give 0 0 2 2 2."""
    return np.repeat(np.arange(len(offsets_R1) - 1), np.diff(offsets_R1))


def places_in_rows(offsets_R1: AnyInts) -> Ints:
    """The place of each value in its row, from 0: offsets 0 2 2 5 give 0 1 0 1 2."""
    return np.arange(offsets_R1[-1]) - np.repeat(offsets_R1[:-1], np.diff(offsets_R1))


def marked_in_rows(marked_T: Bools, offsets_R1: AnyInts) -> Ints:
    """How many values of each row are marked, (R,), using only memory proportional to the rows.

    Example:
        >>> marked_in_rows(np.array([True, False, True]), np.array([0, 2, 2, 3])).tolist()
        [1, 0, 1]
    """
    count_R = np.zeros(len(offsets_R1) - 1, np.int64)
    filled = np.flatnonzero(np.diff(offsets_R1))
    if len(filled):
        count_R[filled] = np.add.reduceat(marked_T, np.asarray(offsets_R1)[filled], dtype=np.int64)
    return count_R


def places_of(offsets_R1: AnyInts, rows: Sequence[int] | AnyInts) -> Ints:
    """The places of the values of some rows in the flat array, row after row."""
    return gathered(offsets_R1, rows)[0]


def gathered(offsets_R1: AnyInts, rows: Sequence[int] | AnyInts) -> tuple[Ints, Ints]:
    """The places of the values of some rows, and the offsets of these rows when they are concatenated."""
    rows = np.asarray(rows, np.int64)
    first = np.asarray(offsets_R1[rows])
    lengths = np.asarray(offsets_R1[rows + 1]) - first
    new = offsets_of(lengths)
    return np.repeat(first - new[:-1], lengths) + np.arange(new[-1]), new


def joined_offsets(many: Sequence[AnyInts]) -> Ints:
    """The offsets of the rows of several arrays when they are concatenated."""
    return offsets_of(np.concatenate([NO_INTS, *(np.diff(offsets) for offsets in many)]))


def places_of_keys(sorted_K: AnyInts, keys_N: AnyInts) -> Ints:
    """The place of each of N keys among K ascending ones, the first place of equals, -1 if missing; shape (N,).

    Example:
        >>> places_of_keys(np.array([2, 5, 5]), np.array([5, 3, 2, 9])).tolist()
        [1, -1, 0, -1]
    """
    if not len(sorted_K):
        return np.full(len(keys_N), -1, np.int64)
    at = np.minimum(np.searchsorted(sorted_K, keys_N), len(sorted_K) - 1)
    return np.where(sorted_K[at] == keys_N, at, -1)
