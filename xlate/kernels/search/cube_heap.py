"""Cubes of cube pruning, their cells, and the heap of waiting cells: arrays that grow together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints
from xlate.compiled import embedded, inlined, inner, loop
from xlate.kernels.memory import grown

NONE = -1
# Steps between two checks whether arrays must grow; passing so many arrays takes time.
STEPS = 256
# The history after a cell whose language model score is not yet known.
UNASKED = -1
# Rows of one cube (places in `rows_R`), its edge, and the next cube that leads to the same number of covered words.
CUBE = np.dtype([("begin", np.int64), ("end", np.int64), ("edge", np.int64), ("next", np.int64)])
# A cell: its cube, row and option; once the language model has been queried, the score and the history after the move.
# Also what all options of a row share: the rest of the move's score, that with hypothesis and estimate, and the place.
CELL = np.dtype(
    [
        ("score", np.float64),
        ("fixed", np.float64),
        ("base", np.float64),
        ("cube", np.int32),
        ("row", np.int32),
        ("option", np.int64),
        ("lm_state", np.int64),
        ("backward", np.int32),
        ("shift", np.int32),
        ("stack", np.int64),
        ("first", np.int64),
    ]
)


class Cubes(NamedTuple):
    """Arrays of cubes: `sizes[0]` rows, `sizes[1]` cubes, `sizes[2]` cells and `sizes[3]` heap places are in use.

    The heap holds numbers of cells, the one with the best estimate first; all cells belong to one level.
    """

    rows_R: Ints
    cubes: AnyArray
    heads_L: Ints
    cells: AnyArray
    heap: Ints
    estimates: Floats
    sizes: Ints


@loop
def no_cubes(words: int) -> Cubes:
    """Arrays without cubes for a sentence of `words` words."""
    return Cubes(
        np.empty(1024, dtype=np.int64),
        np.empty(1024, dtype=CUBE),
        np.full(words + 1, NONE, dtype=np.int64),
        np.empty(1024, dtype=CELL),
        np.empty(1024, dtype=np.int64),
        np.empty(1024, dtype=np.float64),
        np.zeros(4, dtype=np.int64),
    )


@loop
def groups_of(alive: Ints, keys: Ints) -> tuple[Ints, Ints]:
    """Hypotheses, best first, grouped by equal keys; and where each of G groups begins, (G + 1,)."""
    order = np.argsort(keys, kind="mergesort")
    offsets_G1, groups = np.empty(len(alive) + 1, dtype=np.int64), 0
    for at in range(len(alive)):
        if at == 0 or keys[order[at]] != keys[order[at - 1]]:
            offsets_G1[groups] = at
            groups += 1
    offsets_G1[groups] = len(alive)
    return alive[order], offsets_G1[: groups + 1]


@embedded
def add_rows(cubes: Cubes, group: Ints) -> int:
    """Appends the hypotheses of a group to the rows, for which there must be room; returns where they begin."""
    begin = cubes.sizes[0]
    cubes.rows_R[begin : begin + len(group)] = group
    cubes.sizes[0] += len(group)
    return int(begin)


@embedded
def add_cube(cubes: Cubes, begin: int, end: int, edge: int, level: int) -> None:
    """Adds a cube of some rows that leads to a level; there must be room."""
    cube = cubes.cubes[cubes.sizes[1]]
    cube.begin, cube.end, cube.edge, cube.next = begin, end, edge, cubes.heads_L[level]
    cubes.heads_L[level] = cubes.sizes[1]
    cubes.sizes[1] += 1


@embedded
def sift_down(cubes: Cubes, cell: int, estimate: float) -> None:
    """Puts a cell into the free place at the top, or below it."""
    heap, estimates, size = cubes.heap, cubes.estimates, cubes.sizes[3]
    at = 0
    while 2 * at + 1 < size:
        best = 2 * at + 1
        if best + 1 < size and estimates[best + 1] > estimates[best]:
            best += 1
        if estimates[best] <= estimate:
            break
        heap[at], estimates[at] = heap[best], estimates[best]
        at = best
    heap[at], estimates[at] = cell, estimate


@embedded
def drop_top(cubes: Cubes) -> None:
    """Takes the best cell out of the heap."""
    cubes.sizes[3] -= 1
    last = cubes.sizes[3]
    if last > 0:
        sift_down(cubes, cubes.heap[last], cubes.estimates[last])


@embedded
def push_cell(cubes: Cubes, estimate: float, bar: float) -> bool:
    """Puts the new cell into the heap unless it is below the bar; there must be room."""
    if estimate < bar:
        return False
    heap, estimates, at = cubes.heap, cubes.estimates, cubes.sizes[3]
    while at > 0 and estimates[(at - 1) >> 1] < estimate:
        parent = (at - 1) >> 1
        heap[at], estimates[at] = heap[parent], estimates[parent]
        at = parent
    heap[at], estimates[at] = cubes.sizes[2], estimate
    cubes.sizes[2] += 1
    cubes.sizes[3] += 1
    return True


@inlined
def next_cell(cubes: Cubes) -> Any:
    """A new cell, not yet in the heap: the next option in the row of the best cell."""
    cubes.cells[cubes.sizes[2]] = cubes.cells[cubes.heap[0]]
    cell = cubes.cells[cubes.sizes[2]]
    cell.option += 1
    return cell


@embedded
def follow_top(cubes: Cubes, estimate: float, bar: float) -> bool:
    """Replaces the best cell of the heap by the new one, or removes it if the new one is below the bar."""
    if estimate < bar:
        drop_top(cubes)
        return False
    sift_down(cubes, cubes.sizes[2], estimate)
    cubes.sizes[2] += 1
    return True


@inner
def count_cubes(cubes: Cubes, level: int) -> int:
    """How many cubes lead to a level."""
    count, cube = 0, cubes.heads_L[level]
    while cube >= 0:
        count, cube = count + 1, cubes.cubes[cube].next
    return count


@inner
def cubes_with_room(cubes: Cubes, rows: int, more: int, cells: int) -> Cubes:
    """The same cubes in arrays with room for more rows, cubes and cells."""
    sizes = cubes.sizes
    return Cubes(
        grown(cubes.rows_R, sizes[0], rows),
        grown(cubes.cubes, sizes[1], more),
        cubes.heads_L,
        grown(cubes.cells, sizes[2], cells),
        grown(cubes.heap, sizes[2], cells),
        grown(cubes.estimates, sizes[2], cells),
        sizes,
    )
