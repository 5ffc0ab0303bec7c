"""Cube pruning of the phrase decoder: the best moves to each number of covered words, taken from the best downwards.

Hypotheses that have translated the same words and end at the same place meet the options of one span in a *cube*: rows
are hypotheses, columns options, both best first, so the best cells lie near the corner (Huang & Chiang 2007, section
3). A cell waits in a heap under its score. The corner of a cube, which seldom comes to the top, waits under its
estimate without a history; the language model is asked when it does, and it goes back under its score.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.lm.ngram import NgramArrays
from xlate.kernels.lm.phrase_lm import fetch_ahead
from xlate.kernels.memory.lent import lent
from xlate.kernels.memory.trie import Trie, new_trie, room
from xlate.kernels.search.phrase_coverage import Coverages, expand_cover, new_coverages
from xlate.kernels.search.phrase_decoder import (
    PhraseNumbers,
    PhraseSentence,
    add_option,
    add_root,
    ask,
    finish,
    fixed_score,
    local_score,
    orient,
    reaches,
    target_of,
)
from xlate.kernels.search.phrase_hypotheses import Search, empty_search, survivors, with_room

NONE = -1
# Steps between two looks at whether arrays must grow; handing over so many arrays takes time.
STEPS = 256
# Rows of one cube (places in `rows_R`), its edge, and the next cube that leads to the same number of covered words.
CUBE = np.dtype([("begin", np.int64), ("end", np.int64), ("edge", np.int64), ("next", np.int64)])
# A cell: its cube, row and option; the score and the history behind the move once the language model was asked. And
# what all options of a row have in common: what the move scores besides, with hypothesis and estimate, and where it is.
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
        ("stack", np.int64),
        ("first", np.int64),
    ]
)
UNASKED = -1


class Cubes(NamedTuple):
    """The first `sizes[0]` rows, `sizes[1]` cubes, `sizes[2]` cells and `sizes[3]` places of the heap are in use.

    The heap holds numbers of cells, the one with the best estimate first; cells are those of one level.
    """

    rows_R: NDArray[np.int64]
    cubes: NDArray[Any]
    heads_L: NDArray[np.int64]
    cells: NDArray[Any]
    heap: NDArray[np.int64]
    estimates: NDArray[np.float64]
    sizes: NDArray[np.int64]


@njit(cache=True, nogil=True)
def search_cubes(
    lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Searches one sentence; returns what `search_phrases` returns."""
    n = sentence.words
    coverages, search, stacks, cubes = new_coverages(n, sentence.future_nn), empty_search(n), new_trie(64), _no_cubes(n)
    add_root(search, coverages, numbers)
    for level in range(n):
        alive, offsets_G1 = _groups(search, survivors(search, level, numbers.limits.beam))
        for g in range(len(offsets_G1) - 1):
            group = alive[offsets_G1[g] : offsets_G1[g + 1]]
            cover = search.nodes[group[0]].cover
            coverages = expand_cover(
                coverages,
                cover,
                n,
                sentence.longest,
                numbers.distortion_limit,
                sentence.cell_offsets_C1,
                sentence.future_nn,
            )
            edges = coverages.covers[cover].edges_end - coverages.covers[cover].edges_begin
            cubes = _with_room(cubes, len(group), edges, 0)
            _open_cubes(search, numbers, coverages, cubes, group)
        corners = _count_cubes(cubes, level + 1)
        cubes, stacks = _with_room(cubes, 0, 0, corners), room(stacks, corners)
        _fill_heap(lm, sentence, numbers, search, coverages, stacks, cubes, level + 1)
        taken = 0
        while taken >= 0:
            search, stacks, cubes = (
                with_room(search, STEPS),
                room(stacks, 4 * STEPS),
                _with_room(cubes, 0, 0, 2 * STEPS),
            )
            taken = _take_best(lm, sentence, numbers, search, coverages, stacks, cubes, level + 1, taken)
    goal = finish(lm, search, numbers, n)
    return search.nodes[: search.counts[0]], search.arcs[: search.counts[1]], goal


@njit(cache=True, nogil=True, forceinline=True)
def _no_cubes(words: int) -> Cubes:
    return Cubes(
        np.empty(1024, dtype=np.int64),
        np.empty(1024, dtype=CUBE),
        np.full(words + 1, NONE, dtype=np.int64),
        np.empty(1024, dtype=CELL),
        np.empty(1024, dtype=np.int64),
        np.empty(1024, dtype=np.float64),
        np.zeros(4, dtype=np.int64),
    )


@njit(cache=True, nogil=True, forceinline=True)
def _groups(search: Search, alive: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Hypotheses, best first, put together where coverage and end are equal; and where each of G groups begins."""
    nodes = search.nodes
    keys = np.empty(len(alive), dtype=np.int64)
    for at in range(len(alive)):
        keys[at] = (np.int64(nodes[alive[at]].cover) << 32) | nodes[alive[at]].end
    order = np.argsort(keys, kind="mergesort")
    offsets_G1 = np.empty(len(alive) + 1, dtype=np.int64)
    groups = 0
    for at in range(len(alive)):
        if at == 0 or keys[order[at]] != keys[order[at - 1]]:
            offsets_G1[groups] = at
            groups += 1
    offsets_G1[groups] = len(alive)
    return alive[order], offsets_G1[: groups + 1]


@njit(cache=True, nogil=True)
def _open_cubes(
    search: Search, numbers: PhraseNumbers, coverages: Coverages, cubes: Cubes, group: NDArray[np.int64]
) -> None:
    """Lists the cubes that a group of hypotheses begins; there must be room."""
    search, coverages, cubes = lent(search), lent(coverages), lent(cubes)
    begin = cubes.sizes[0]
    cubes.rows_R[begin : begin + len(group)] = group
    cubes.sizes[0] += len(group)
    described = coverages.covers[search.nodes[group[0]].cover]
    for e in range(described.edges_begin, described.edges_end):
        if reaches(search, numbers, group[0], coverages.edges[e].begin):
            level = coverages.covers[coverages.edges[e].cover].level
            cube = cubes.cubes[cubes.sizes[1]]
            cube.begin, cube.end, cube.edge, cube.next = begin, begin + len(group), e, cubes.heads_L[level]
            cubes.heads_L[level] = cubes.sizes[1]
            cubes.sizes[1] += 1


@njit(cache=True, nogil=True)
def _count_cubes(cubes: Cubes, level: int) -> int:
    count, cube = 0, cubes.heads_L[level]
    while cube >= 0:
        count, cube = count + 1, cubes.cubes[cube].next
    return count


@njit(cache=True, nogil=True)
def _fill_heap(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Search,
    coverages: Coverages,
    stacks: Trie,
    cubes: Cubes,
    level: int,
) -> None:
    """Puts the corners of all cubes that lead to a level into the heap."""
    lm, sentence, numbers, search = lent(lm), lent(sentence), lent(numbers), lent(search)
    coverages, stacks, cubes = lent(coverages), lent(stacks), lent(cubes)
    cubes.sizes[2], cubes.sizes[3] = 0, 0
    cube = cubes.heads_L[level]
    while cube >= 0:
        _push_row(lm, sentence, numbers, search, coverages, stacks, cubes, cube, cubes.cubes[cube].begin, level)
        cube = cubes.cubes[cube].next


@njit(cache=True, nogil=True, forceinline=True)
def _push_row(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Search,
    coverages: Coverages,
    stacks: Trie,
    cubes: Cubes,
    cube: int,
    row: int,
    level: int,
) -> None:
    """Puts the first cell of a row into the heap, a corner under its estimate without a history; there must be room."""
    edge, node = coverages.edges[cubes.cubes[cube].edge], cubes.rows_R[row]
    placed = orient(search, numbers, coverages, stacks, node, edge.begin, edge.end)
    target = target_of(numbers, coverages, sentence.words, edge, 0, 0)
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = cube, row, sentence.cell_offsets_C1[edge.cell]
    cell.fixed = fixed_score(search, numbers, sentence.groups, node, edge.begin, edge.end, placed)
    cell.base = search.nodes[node].score + target.future + cell.fixed
    cell.backward, cell.stack, cell.first = placed.backward, placed.stack, placed.first
    if row == cubes.cubes[cube].begin:
        # Most corners never come to the top: the language model is asked when one does.
        cell.score, cell.lm_state = sentence.alone_O[cell.option], UNASKED
    else:
        cell.score, cell.lm_state = _ask(lm, sentence, numbers, search, cubes, row, cell.option)
    estimate = _estimate(sentence, numbers, search, cubes, cell)
    if estimate >= search.bars_L[level]:
        cubes.sizes[3] += 1
        _sift_up(cubes, cubes.sizes[3] - 1, cubes.sizes[2], estimate)
        cubes.sizes[2] += 1
        _fetch_next(lm, sentence, search, node, cell)


@njit(cache=True, nogil=True, forceinline=True)
def _next_of_row(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Search,
    cubes: Cubes,
    before: Any,
    level: int,
) -> None:
    """Puts the cell behind the one on top of the heap in its place; there must be room."""
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = before.cube, before.row, before.option + 1
    cell.fixed, cell.base = before.fixed, before.base
    cell.backward, cell.stack, cell.first = before.backward, before.stack, before.first
    cell.score, cell.lm_state = _ask(lm, sentence, numbers, search, cubes, cell.row, cell.option)
    estimate = _estimate(sentence, numbers, search, cubes, cell)
    if estimate < search.bars_L[level]:
        _drop_top(cubes)
        return
    _sift_down(cubes, cubes.sizes[2], estimate)
    cubes.sizes[2] += 1
    _fetch_next(lm, sentence, search, cubes.rows_R[cell.row], cell)


@njit(cache=True, nogil=True, forceinline=True)
def _fetch_next(lm: NgramArrays, sentence: PhraseSentence, search: Search, node: int, cell: Any) -> None:
    """Asks for the memory that the query behind a cell begins with."""
    if cell.option + 1 < len(sentence.static_O):
        fetch_ahead(lm, sentence.phrases, cell.option + 1, search.nodes[node].lm_state)


@njit(cache=True, nogil=True, forceinline=True)
def _estimate(sentence: PhraseSentence, numbers: PhraseNumbers, search: Search, cubes: Cubes, cell: Any) -> float:
    last = search.nodes[cubes.rows_R[cell.row]].last
    return float(cell.base + (cell.score + local_score(sentence, numbers, last, cell.option, cell.backward)))


@njit(cache=True, nogil=True, forceinline=True)
def _sift_up(cubes: Cubes, at: int, cell: int, estimate: float) -> None:
    """Puts a cell into the free place `at`, the last one, or above it."""
    heap, estimates = cubes.heap, cubes.estimates
    while at > 0 and estimates[(at - 1) >> 1] < estimate:
        parent = (at - 1) >> 1
        heap[at], estimates[at] = heap[parent], estimates[parent]
        at = parent
    heap[at], estimates[at] = cell, estimate


@njit(cache=True, nogil=True, forceinline=True)
def _sift_down(cubes: Cubes, cell: int, estimate: float) -> None:
    """Puts a cell into the free place on top, or below it."""
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


@njit(cache=True, nogil=True, forceinline=True)
def _drop_top(cubes: Cubes) -> None:
    cubes.sizes[3] -= 1
    last = cubes.sizes[3]
    if last > 0:
        _sift_down(cubes, cubes.heap[last], cubes.estimates[last])


@njit(cache=True, nogil=True)
def _take_best(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Search,
    coverages: Coverages,
    stacks: Trie,
    cubes: Cubes,
    level: int,
    taken: int,
) -> int:
    """Takes the best moves to a level in at most `STEPS` steps; returns how many were taken, -1 when that was all.

    It ends early when the best cell is below what the beam asks for, since all that waits is worse.
    """
    lm, sentence, numbers, search = lent(lm), lent(sentence), lent(numbers), lent(search)
    coverages, stacks, cubes = lent(coverages), lent(stacks), lent(cubes)
    for _ in range(STEPS):
        if taken == numbers.pop_limit or cubes.sizes[3] == 0:
            return NONE
        top = cubes.cells[cubes.heap[0]]
        estimate = cubes.estimates[0]
        if estimate < search.bars_L[level]:
            # All that waits is worse.
            return NONE
        cube, row, option = top.cube, top.row, top.option
        if top.lm_state == UNASKED:
            top.score, top.lm_state = _ask(lm, sentence, numbers, search, cubes, row, option)
            _sift_down(cubes, cubes.heap[0], estimate + top.score - sentence.alone_O[option])
            continue
        _make_move(sentence, numbers, search, coverages, stacks, cubes, top)
        taken += 1
        # Each cell has one way to it: along the first column to its row, then along the row.
        cell = coverages.edges[cubes.cubes[cube].edge].cell
        if option + 1 < sentence.cell_offsets_C1[cell + 1]:
            _next_of_row(lm, sentence, numbers, search, cubes, top, level)
        else:
            _drop_top(cubes)
        if option == sentence.cell_offsets_C1[cell] and row + 1 < cubes.cubes[cube].end:
            _push_row(lm, sentence, numbers, search, coverages, stacks, cubes, cube, row + 1, level)
    return taken


@njit(cache=True, nogil=True, forceinline=True)
def _ask(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Search,
    cubes: Cubes,
    row: int,
    option: int,
) -> tuple[float, int]:
    """What an option scores after the history of a row, and the history behind it."""
    logprob, after = ask(lm, sentence, search.memo, search.nodes[cubes.rows_R[row]].lm_state, option)
    return sentence.static_O[option] + numbers.lm_weight * logprob, after


@njit(cache=True, nogil=True, forceinline=True)
def _make_move(
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Search,
    coverages: Coverages,
    stacks: Trie,
    cubes: Cubes,
    cell: Any,
) -> None:
    """Makes the move of a cell whose score is known; there must be room."""
    node, edge, option = cubes.rows_R[cell.row], coverages.edges[cubes.cubes[cell.cube].edge], cell.option
    target = target_of(numbers, coverages, sentence.words, edge, cell.stack, cell.first)
    score = cell.score + local_score(sentence, numbers, search.nodes[node].last, option, cell.backward) + cell.fixed
    add_option(sentence, numbers, search, stacks, target, node, option, cell.lm_state, score)


@njit(cache=True, nogil=True, forceinline=True)
def _with_room(cubes: Cubes, rows: int, more: int, cells: int) -> Cubes:
    """The same cubes in arrays that can take more rows, cubes and cells."""
    rows_R, records, heads_L, waiting, heap, estimates, sizes = cubes
    if sizes[0] + rows > len(rows_R):
        rows_R = np.empty(2 * len(rows_R) + rows, dtype=np.int64)
        rows_R[: sizes[0]] = cubes.rows_R[: sizes[0]]
    if sizes[1] + more > len(records):
        records = np.empty(2 * len(records) + more, dtype=CUBE)
        records[: sizes[1]] = cubes.cubes[: sizes[1]]
    if sizes[2] + cells > len(waiting):
        size = 2 * len(waiting) + cells
        waiting, heap, estimates = np.empty(size, dtype=CELL), np.empty(size, dtype=np.int64), np.empty(size)
        waiting[: sizes[2]] = cubes.cells[: sizes[2]]
        heap[: sizes[3]] = cubes.heap[: sizes[3]]
        estimates[: sizes[3]] = cubes.estimates[: sizes[3]]
    return Cubes(rows_R, records, heads_L, waiting, heap, estimates, sizes)
