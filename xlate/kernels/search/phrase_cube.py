"""Cube pruning of the phrase decoder: the best moves to each number of covered words, taken from the best downwards.

Hypotheses that have translated the same words and end at the same place meet the options of one span in a *cube*: rows
are hypotheses, columns options, both best first, so the best cells lie near the corner (Huang & Chiang 2007, section
3). A cell waits in a heap under its score. The corner of a cube, which seldom comes to the top, waits under its
estimate without a history; the language model is asked when it does, and it goes back under its score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xlate.array_types import AnyArray, Ints
from xlate.compiled import embedded, lent, loop
from xlate.kernels.lm.ngram import NgramArrays
from xlate.kernels.lm.phrase_lm import fetch_ahead
from xlate.kernels.memory.hashing import whole
from xlate.kernels.memory.trie import Trie, new_trie, room
from xlate.kernels.search.cube_heap import (
    STEPS,
    UNASKED,
    Cubes,
    add_cube,
    add_rows,
    count_cubes,
    cubes_with_room,
    drop_top,
    follow_top,
    groups_of,
    no_cubes,
    push_cell,
    sift_down,
)
from xlate.kernels.search.hypotheses import NONE, Hypotheses, finished, survivors, with_room
from xlate.kernels.search.phrase_coverage import Coverages, expand_cover, new_coverages
from xlate.kernels.search.phrase_moves import (
    PLACE_BITS,
    PhraseNumbers,
    PhraseSentence,
    add_option,
    ask,
    cover_of,
    end_of,
    finish,
    first_hypothesis,
    fixed_score,
    history_of,
    last_of,
    local_score,
    orient,
    reaches,
    shift_of,
    target_of,
)


@loop
def search_cubes(lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    n, none = sentence.words, whole(0)
    coverages, stacks, cubes = new_coverages(n, sentence.future_nn), new_trie(64), no_cubes(n)
    search = first_hypothesis(coverages, numbers, n)
    for level in range(n):
        alive, offsets_G1 = _groups(search, survivors(search, numbers.limits, level))
        for g in range(len(offsets_G1) - 1):
            group = alive[offsets_G1[g] : offsets_G1[g + 1]]
            cover = cover_of(search.nodes[group[0]])
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
            cubes = cubes_with_room(cubes, len(group), edges, none)
            _open_cubes(search, numbers, coverages, cubes, group)
        corners = count_cubes(cubes, level + 1)
        cubes, stacks = cubes_with_room(cubes, none, none, corners), room(stacks, corners)
        _fill_heap(lm, sentence, numbers, search, coverages, stacks, cubes, level + 1)
        taken = whole(0)
        while taken >= 0:
            search, stacks = with_room(search, whole(STEPS)), room(stacks, whole(4 * STEPS))
            cubes = cubes_with_room(cubes, none, none, whole(2 * STEPS))
            taken = _take_best(lm, sentence, numbers, search, coverages, stacks, cubes, (level + 1, taken))
    return finished(finish(lm, search, numbers, n))


@loop
def _groups(search: Hypotheses, alive: Ints) -> tuple[Ints, Ints]:
    """Hypotheses, best first, put together where coverage and end are equal; and where each of G groups begins."""
    nodes = search.nodes
    keys = np.empty(len(alive), dtype=np.int64)
    for at in range(len(alive)):
        keys[at] = (cover_of(nodes[alive[at]]) << PLACE_BITS) | end_of(nodes[alive[at]])
    return groups_of(alive, keys)


@loop
def _open_cubes(search: Hypotheses, numbers: PhraseNumbers, coverages: Coverages, cubes: Cubes, group: Ints) -> None:
    """Lists the cubes that a group of hypotheses begins; there must be room."""
    search, coverages, cubes = lent(search), lent(coverages), lent(cubes)
    begin = add_rows(cubes, group)
    described = coverages.covers[cover_of(search.nodes[group[0]])]
    for e in range(described.edges_begin, described.edges_end):
        if reaches(search, numbers, group[0], coverages.edges[e].begin):
            add_cube(cubes, begin, begin + len(group), e, coverages.covers[coverages.edges[e].cover].level)


@loop
def _fill_heap(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Hypotheses,
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
        _push_row(lm, sentence, numbers, search, coverages, stacks, cubes, (cube, cubes.cubes[cube].begin, level))
        cube = cubes.cubes[cube].next


@embedded
def _push_row(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Hypotheses,
    coverages: Coverages,
    stacks: Trie,
    cubes: Cubes,
    place: tuple[int, int, int],
) -> None:
    """Puts the first cell of a row into the heap, a corner under its estimate without a history; there must be room.

    The place is cube, row, and the level they lead to.
    """
    cube, row, level = place
    edge, node = coverages.edges[cubes.cubes[cube].edge], cubes.rows_R[row]
    placed = orient(search, numbers, coverages, stacks, node, edge.begin, edge.end)
    target = target_of(numbers, coverages, sentence.words, edge, 0, 0)
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = cube, row, sentence.cell_offsets_C1[edge.cell]
    cell.fixed = fixed_score(search, numbers, sentence.groups, node, edge.begin, edge.end, placed)
    cell.base = search.nodes[node].score + target.future + cell.fixed
    cell.backward, cell.stack, cell.first = placed.backward, placed.stack, placed.first
    cell.shift = shift_of(sentence, coverages, edge)
    if row == cubes.cubes[cube].begin:
        # Most corners never come to the top: the language model is asked when one does.
        cell.score, cell.lm_state = sentence.alone_O[cell.option], UNASKED
    else:
        cell.score, cell.lm_state = _ask(lm, sentence, numbers, search, cubes, row, cell.option)
    estimate = _estimate(sentence, numbers, search, cubes, cell)
    if estimate >= search.bars_L[level]:
        push_cell(cubes, estimate)
        _fetch_next(lm, sentence, search, node, cell)


@embedded
def _next_of_row(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Hypotheses,
    cubes: Cubes,
    before: Any,
    level: int,
) -> None:
    """Puts the cell behind the one on top of the heap in its place; there must be room."""
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = before.cube, before.row, before.option + 1
    cell.fixed, cell.base = before.fixed, before.base
    cell.backward, cell.stack, cell.first = before.backward, before.stack, before.first
    cell.shift = before.shift
    cell.score, cell.lm_state = _ask(lm, sentence, numbers, search, cubes, whole(cell.row), cell.option)
    estimate = _estimate(sentence, numbers, search, cubes, cell)
    if estimate < search.bars_L[level]:
        drop_top(cubes)
        return
    follow_top(cubes, estimate)
    _fetch_next(lm, sentence, search, cubes.rows_R[cell.row], cell)


@embedded
def _fetch_next(lm: NgramArrays, sentence: PhraseSentence, search: Hypotheses, node: int, cell: Any) -> None:
    """Asks for the memory that the query behind a cell begins with."""
    if cell.option + 1 < len(sentence.static_O):
        fetch_ahead(lm, sentence.phrases, cell.option + 1, history_of(search.nodes[node]))


@embedded
def _estimate(sentence: PhraseSentence, numbers: PhraseNumbers, search: Hypotheses, cubes: Cubes, cell: Any) -> float:
    last = last_of(search.nodes[cubes.rows_R[cell.row]])
    return float(
        cell.base + (cell.score + local_score(sentence, numbers, last, cell.option, cell.backward, cell.shift))
    )


@loop
def _take_best(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Hypotheses,
    coverages: Coverages,
    stacks: Trie,
    cubes: Cubes,
    reached: tuple[int, int],
) -> int:
    """Takes the best moves to a level in at most `STEPS` steps; returns how many were taken, -1 when that was all.

    `reached` is the level, and how many were taken before.

    It ends early when the best cell is below what the beam asks for, since all that waits is worse.
    """
    lm, sentence, numbers, search = lent(lm), lent(sentence), lent(numbers), lent(search)
    coverages, stacks, cubes = lent(coverages), lent(stacks), lent(cubes)
    level, taken = reached
    for _ in range(STEPS):
        if taken == numbers.pop_limit or cubes.sizes[3] == 0:
            return NONE
        top = cubes.cells[cubes.heap[0]]
        estimate = cubes.estimates[0]
        if estimate < search.bars_L[level]:
            # All that waits is worse.
            return NONE
        cube, row, option = whole(top.cube), whole(top.row), top.option
        if top.lm_state == UNASKED:
            top.score, top.lm_state = _ask(lm, sentence, numbers, search, cubes, row, option)
            sift_down(cubes, cubes.heap[0], estimate + top.score - sentence.alone_O[option])
            continue
        _make_move(sentence, numbers, search, coverages, stacks, cubes, top)
        taken += 1
        # Each cell has one way to it: along the first column to its row, then along the row.
        cell = coverages.edges[cubes.cubes[cube].edge].cell
        if option + 1 < sentence.cell_offsets_C1[cell + 1]:
            _next_of_row(lm, sentence, numbers, search, cubes, top, level)
        else:
            drop_top(cubes)
        if option == sentence.cell_offsets_C1[cell] and row + 1 < cubes.cubes[cube].end:
            _push_row(lm, sentence, numbers, search, coverages, stacks, cubes, (cube, row + 1, level))
    return taken


@embedded
def _ask(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Hypotheses,
    cubes: Cubes,
    row: int,
    option: int,
) -> tuple[float, int]:
    """What an option scores after the history of a row, and the history behind it."""
    logprob, after = ask(lm, sentence, search.memo, history_of(search.nodes[cubes.rows_R[row]]), option)
    return sentence.static_O[option] + numbers.lm_weight * logprob, after


@embedded
def _make_move(
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Hypotheses,
    coverages: Coverages,
    stacks: Trie,
    cubes: Cubes,
    cell: Any,
) -> None:
    """Makes the move of a cell whose score is known; there must be room."""
    node, edge, option = cubes.rows_R[cell.row], coverages.edges[cubes.cubes[cell.cube].edge], cell.option
    target = target_of(numbers, coverages, sentence.words, edge, cell.stack, cell.first)
    score = (
        cell.score
        + local_score(sentence, numbers, last_of(search.nodes[node]), option, cell.backward, cell.shift)
        + cell.fixed
    )
    add_option(sentence, numbers, search, stacks, target, node, option, (cell.lm_state, score))
