"""Cube pruning of the phrase decoder: the best moves to each number of covered words, taken from the best downwards.

Hypotheses that have translated the same words and end at the same place meet the options of one span in a *cube*: rows
are hypotheses, columns options, both best first, so the best cells lie near the corner (Huang & Chiang 2007, section
3). A cell waits in a heap under its estimate without a history; the language model is asked when it comes to the top,
and it goes back under its score unless it is still the best.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.ngram import NgramArrays
from xlate.kernels.phrase_coverage import Coverages, expand_cover, new_coverages
from xlate.kernels.phrase_decoder import (
    PhraseNumbers,
    PhraseSentence,
    Search,
    add_move,
    add_root,
    ask,
    empty_search,
    finish,
    orient,
    reaches,
    survivors,
    target_of,
    with_room,
)
from xlate.kernels.trie import Trie, new_trie, room

NONE = -1
# Rows of one cube (places in `rows_R`), its edge, and the next cube that leads to the same number of covered words.
CUBE = np.dtype([("begin", np.int32), ("end", np.int32), ("edge", np.int32), ("next", np.int32)])
# A cell of a cube that waits; `score` is that of the move, NaN until the language model was asked.
CELL = np.dtype(
    [("estimate", np.float64), ("score", np.float64), ("cube", np.int32), ("row", np.int32), ("option", np.int32)]
)


class Cubes(NamedTuple):
    """The first `sizes[0]` rows, `sizes[1]` cubes and `sizes[2]` waiting cells are in use; the cells are a heap."""

    rows_R: NDArray[np.int64]
    cubes: NDArray[Any]
    heads_L: NDArray[np.int32]
    cells: NDArray[Any]
    sizes: NDArray[np.int64]


class Space(NamedTuple):
    """All that grows while a sentence is searched."""

    search: Search
    coverages: Coverages
    stacks: Trie
    cubes: Cubes


@njit(cache=True, nogil=True)
def search_cubes(
    lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Searches one sentence; returns what `search_phrases` returns."""
    n = sentence.words
    cubes = Cubes(
        np.empty(1024, dtype=np.int64),
        np.empty(1024, dtype=CUBE),
        np.full(n + 1, NONE, dtype=np.int32),
        np.empty(1024, dtype=CELL),
        np.zeros(3, dtype=np.int64),
    )
    space = Space(empty_search(n), new_coverages(n, sentence.future_nn), new_trie(64), cubes)
    add_root(space.search, space.coverages, numbers)
    for level in range(n):
        if level > 0:
            space = _take_best(lm, sentence, numbers, space, level)
        space = _open_cubes(sentence, numbers, space, level)
    space = _take_best(lm, sentence, numbers, space, n)
    goal = finish(lm, space.search, numbers, n)
    search = space.search
    return search.nodes[: search.counts[0]], search.arcs[: search.counts[1]], goal


@njit(cache=True, nogil=True)
def _open_cubes(sentence: PhraseSentence, numbers: PhraseNumbers, space: Space, level: int) -> Space:
    """Groups the surviving hypotheses of a level, and lists the cubes they begin."""
    nodes = space.search.nodes
    alive = survivors(space.search, level, numbers.beam)
    keys = (nodes["cover"][alive].astype(np.int64) << 32) | nodes["end"][alive]
    order = np.argsort(keys, kind="mergesort")
    at = 0
    while at < len(alive):
        last = at
        while last < len(alive) and keys[order[last]] == keys[order[at]]:
            last += 1
        space = _open_group(sentence, numbers, space, alive[order[at:last]])
        at = last
    return space


@njit(cache=True, nogil=True)
def _open_group(sentence: PhraseSentence, numbers: PhraseNumbers, space: Space, group: NDArray[np.int64]) -> Space:
    search, stacks = space.search, space.stacks
    cover = search.nodes[group[0]].cover
    coverages = expand_cover(
        space.coverages,
        cover,
        sentence.words,
        sentence.longest,
        numbers.distortion_limit,
        sentence.cell_offsets_C1,
        sentence.future_nn,
    )
    described = coverages.covers[cover]
    cubes = _with_room(space.cubes, len(group), described.edges_end - described.edges_begin, 0)
    begin = cubes.sizes[0]
    cubes.rows_R[begin : begin + len(group)] = group
    cubes.sizes[0] += len(group)
    for e in range(described.edges_begin, described.edges_end):
        if reaches(search, numbers, group[0], coverages.edges[e].begin):
            level = coverages.covers[coverages.edges[e].cover].level
            cube = cubes.cubes[cubes.sizes[1]]
            cube.begin, cube.end, cube.edge, cube.next = begin, begin + len(group), e, cubes.heads_L[level]
            cubes.heads_L[level] = cubes.sizes[1]
            cubes.sizes[1] += 1
    return Space(search, coverages, stacks, cubes)


@njit(cache=True, nogil=True)
def _take_best(lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers, space: Space, level: int) -> Space:
    """Takes the best moves to a level, at most `pop_limit`."""
    cubes = space.cubes
    cubes.sizes[2] = 0
    cube = cubes.heads_L[level]
    while cube >= 0:
        space = _push(sentence, numbers, space, cube, cubes.cubes[cube].begin, 0)
        cube = cubes.cubes[cube].next
    taken = 0
    while taken < numbers.pop_limit and space.cubes.sizes[2] > 0:
        top = space.cubes.cells[0]
        if np.isnan(top.score):
            row, option, cube = top.row, top.option, top.cube
            space = _score_top(lm, sentence, numbers, space, level)
            if option == 0 and row + 1 < space.cubes.cubes[cube].end:
                space = _push(sentence, numbers, space, cube, row + 1, 0)
            if option + 1 < _options(sentence, space, cube):
                space = _push(sentence, numbers, space, cube, row, option + 1)
        else:
            if top.estimate < space.search.bars_L[level]:
                break
            space = _take_top(lm, sentence, numbers, space)
            taken += 1
    return space


@njit(cache=True, inline="always")
def _options(sentence: PhraseSentence, space: Space, cube: int) -> int:
    cell = space.coverages.edges[space.cubes.cubes[cube].edge].cell
    return int(sentence.cell_offsets_C1[cell + 1] - sentence.cell_offsets_C1[cell])


@njit(cache=True, nogil=True)
def _push(sentence: PhraseSentence, numbers: PhraseNumbers, space: Space, cube: int, row: int, option: int) -> Space:
    """Puts one more cell of a cube into the heap, under its estimate without a history."""
    cubes = _with_room(space.cubes, 0, 0, 1)
    edge = space.coverages.edges[cubes.cubes[cube].edge]
    stacks = room(space.stacks, 1)
    place = sentence.cell_offsets_C1[edge.cell] + option
    before = space.search.nodes[cubes.rows_R[row]]
    backward, forward, stack = orient(
        space.search, numbers, space.coverages, stacks, cubes.rows_R[row], edge.begin, edge.end
    )
    target = target_of(numbers, space.coverages, sentence.words, edge, stack)
    fixed = numbers.forward_F3[before.forward, forward] - numbers.distortion_weight * abs(edge.begin - before.end)
    estimate = before.score + fixed + target.future + sentence.alone_O[place] + sentence.backward_O3[place, backward]
    at = cubes.sizes[2]
    cubes.sizes[2] += 1
    cell = cubes.cells[at]
    cell.estimate, cell.score, cell.cube, cell.row, cell.option = estimate, np.nan, cube, row, option
    _sift_up(cubes.cells, at)
    return Space(space.search, space.coverages, stacks, cubes)


@njit(cache=True, nogil=True)
def _sift_up(cells: NDArray[Any], at: int) -> None:
    estimate, score = cells[at].estimate, cells[at].score
    cube, row, option = cells[at].cube, cells[at].row, cells[at].option
    while at > 0:
        parent = (at - 1) >> 1
        if cells[parent].estimate >= estimate:
            break
        cells[at] = cells[parent]
        at = parent
    _write(cells, at, estimate, score, cube, row, option)


@njit(cache=True, nogil=True)
def _sift_down(cells: NDArray[Any], size: int) -> None:
    estimate, score = cells[0].estimate, cells[0].score
    cube, row, option = cells[0].cube, cells[0].row, cells[0].option
    at = 0
    while 2 * at + 1 < size:
        best = 2 * at + 1
        if best + 1 < size and cells[best + 1].estimate > cells[best].estimate:
            best += 1
        if cells[best].estimate <= estimate:
            break
        cells[at] = cells[best]
        at = best
    _write(cells, at, estimate, score, cube, row, option)


@njit(cache=True, inline="always")
def _write(cells: NDArray[Any], at: int, estimate: float, score: float, cube: int, row: int, option: int) -> None:
    cell = cells[at]
    cell.estimate, cell.score, cell.cube, cell.row, cell.option = estimate, score, cube, row, option


@njit(cache=True, nogil=True)
def _score_top(lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers, space: Space, level: int) -> Space:
    """Asks the language model about the cell on top, which then goes where its score belongs."""
    cubes, top = space.cubes, space.cubes.cells[0]
    node = cubes.rows_R[top.row]
    edge = space.coverages.edges[cubes.cubes[top.cube].edge]
    option = sentence.cell_offsets_C1[edge.cell] + top.option
    logprob, _ = ask(lm, sentence, space.search.memo, space.search.nodes[node].lm_state, option)
    score = sentence.static_O[option] + numbers.lm_weight * logprob
    top.estimate += score - sentence.alone_O[option]
    top.score = score
    if top.estimate < space.search.bars_L[level]:
        cubes.sizes[2] -= 1
        last = cubes.cells[cubes.sizes[2]]
        _write(cubes.cells, 0, last.estimate, last.score, last.cube, last.row, last.option)
    _sift_down(cubes.cells, cubes.sizes[2])
    return space


@njit(cache=True, nogil=True)
def _take_top(lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers, space: Space) -> Space:
    """Makes the move of the cell on top."""
    cubes, top = space.cubes, space.cubes.cells[0]
    node, local, option = cubes.rows_R[top.row], top.score, top.option
    edge = space.coverages.edges[cubes.cubes[top.cube].edge]
    cubes.sizes[2] -= 1
    last = cubes.cells[cubes.sizes[2]]
    _write(cubes.cells, 0, last.estimate, last.score, last.cube, last.row, last.option)
    _sift_down(cubes.cells, cubes.sizes[2])
    search, stacks = with_room(space.search, 1), room(space.stacks, 1)
    place = sentence.cell_offsets_C1[edge.cell] + option
    before = search.nodes[node]
    backward, forward, stack = orient(search, numbers, space.coverages, stacks, node, edge.begin, edge.end)
    target = target_of(numbers, space.coverages, sentence.words, edge, stack)
    _, lm_state = ask(lm, sentence, search.memo, before.lm_state, place)
    fixed = numbers.forward_F3[before.forward, forward] - numbers.distortion_weight * abs(edge.begin - before.end)
    score = local + sentence.backward_O3[place, backward] + fixed
    add_move(search, numbers, target, node, sentence.forward_O[place], lm_state, score, place)
    return Space(search, space.coverages, stacks, cubes)


@njit(cache=True, nogil=True)
def _with_room(cubes: Cubes, rows: int, more: int, cells: int) -> Cubes:
    """The same cubes in arrays that can take more rows, cubes and waiting cells."""
    sizes, rows_R, records, waiting = cubes.sizes, cubes.rows_R, cubes.cubes, cubes.cells
    if sizes[0] + rows <= len(rows_R) and sizes[1] + more <= len(records) and sizes[2] + cells <= len(waiting):
        return cubes
    if sizes[0] + rows > len(rows_R):
        rows_R = np.empty(2 * len(rows_R) + rows, dtype=np.int64)
        rows_R[: sizes[0]] = cubes.rows_R[: sizes[0]]
    if sizes[1] + more > len(records):
        records = np.empty(2 * len(records) + more, dtype=CUBE)
        records[: sizes[1]] = cubes.cubes[: sizes[1]]
    if sizes[2] + cells > len(waiting):
        waiting = np.empty(2 * len(waiting) + cells, dtype=CELL)
        waiting[: sizes[2]] = cubes.cells[: sizes[2]]
    return Cubes(rows_R, records, cubes.heads_L, waiting, sizes)
