"""The union of two alignments, and the growing of their intersection inside it."""

from __future__ import annotations

import numpy as np

from xlate.array_types import Bools, Bytes, Ints, Ints32
from xlate.compiled import compiled

FORWARD, BACKWARD, BOTH = 1, 2, 3
NO_FINAL, FINAL_OR, FINAL_AND = 0, 1, 2


@compiled
def merge(
    first_source: Ints32,
    first_target: Ints32,
    first_offsets_S1: Ints,
    second_source: Ints32,
    second_target: Ints32,
    second_offsets_S1: Ints,
) -> tuple[Ints32, Ints32, Ints, Bytes]:
    """The sorted union of two sorted alignments: source_U, target_U, offsets_S1, and origin_U (1 the first, 2 the
    second, 3 both).
    """
    most = len(first_source) + len(second_source)
    source_U, target_U = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    origin_U = np.empty(most, dtype=np.uint8)
    offsets_S1 = np.zeros(len(first_offsets_S1), dtype=np.int64)
    u = 0
    for s in range(len(first_offsets_S1) - 1):
        a, b = first_offsets_S1[s], second_offsets_S1[s]
        while a < first_offsets_S1[s + 1] or b < second_offsets_S1[s + 1]:
            if b == second_offsets_S1[s + 1]:
                order = -1
            elif a == first_offsets_S1[s + 1]:
                order = 1
            else:
                order = first_source[a] - second_source[b]
                if order == 0:
                    order = first_target[a] - second_target[b]
            if order <= 0:
                source_U[u], target_U[u] = first_source[a], first_target[a]
            else:
                source_U[u], target_U[u] = second_source[b], second_target[b]
            origin_U[u] = BOTH if order == 0 else FORWARD if order < 0 else BACKWARD
            a += order <= 0
            b += order >= 0
            u += 1
        offsets_S1[s + 1] = u
    return source_U[:u], target_U[:u], offsets_S1, origin_U[:u]


@compiled
def grow(
    source_U: Ints32,
    target_U: Ints32,
    offsets_S1: Ints,
    origin_U: Bytes,
    source_lengths_S: Ints,
    target_lengths_S: Ints,
    diagonal: bool,
    final: int,
) -> Bools:
    """Which links of the union to keep; see `xlate.align.aligner` for the rules."""
    kept_U: Bools = origin_U == BOTH
    for s in range(len(offsets_S1) - 1):
        start, end = offsets_S1[s], offsets_S1[s + 1]
        source, target, origin, kept = source_U[start:end], target_U[start:end], origin_U[start:end], kept_U[start:end]
        grid = np.zeros((source_lengths_S[s] + 2, target_lengths_S[s] + 2), dtype=np.bool_)
        has_source = np.zeros(source_lengths_S[s], dtype=np.bool_)
        has_target = np.zeros(target_lengths_S[s], dtype=np.bool_)
        for u in range(len(source)):
            if kept[u]:
                _take(u, source, target, kept, grid, has_source, has_target)
        grew = True
        while grew:
            grew = False
            for u in range(len(source)):
                i, j = source[u], target[u]
                free = not (has_source[i] and has_target[j])
                if not kept[u] and free and _has_neighbour(grid, i + 1, j + 1, diagonal):
                    _take(u, source, target, kept, grid, has_source, has_target)
                    grew = True
        if final == NO_FINAL:
            continue
        for direction in (FORWARD, BACKWARD):
            for u in range(len(source)):
                taken = np.int64(has_source[source[u]]) + np.int64(has_target[target[u]])
                if not kept[u] and origin[u] == direction and taken < (2 if final == FINAL_OR else 1):
                    _take(u, source, target, kept, grid, has_source, has_target)
    return kept_U


@compiled
def _take(
    u: int, source: Ints32, target: Ints32, kept: Bools, grid: Bools, has_source: Bools, has_target: Bools
) -> None:
    kept[u] = True
    grid[source[u] + 1, target[u] + 1] = True
    has_source[source[u]] = True
    has_target[target[u]] = True


@compiled
def _has_neighbour(grid: Bools, row: int, column: int, diagonal: bool) -> bool:
    """Whether a kept link is a neighbour of a place; the grid has an empty margin of one."""
    straight = grid[row - 1, column] or grid[row + 1, column] or grid[row, column - 1] or grid[row, column + 1]
    if straight or not diagonal:
        return bool(straight)
    return bool(
        grid[row - 1, column - 1] or grid[row - 1, column + 1] or grid[row + 1, column - 1] or grid[row + 1, column + 1]
    )
