"""Stack search and cube pruning of the phrase decoder as loops over plain arrays.

Cube pruning takes the best moves to each number of covered words, from the best downwards. Hypotheses that have
translated the same words and end at the same place meet the options of one span in a *cube*: rows are hypotheses,
columns options, both best first, so the best cells lie near the corner (Huang & Chiang 2007, section 3). A cell waits
in a heap, ordered by its score. The corner of a cube, which rarely reaches the top, first waits by its estimate without
a history; at the top, the language model is queried, and the cell goes back with its score.
"""

from __future__ import annotations

from typing import Any

from xlate.array_types import AnyArray, Ints
from xlate.compiled import embedded, inlined, inner, lent, loop
from xlate.kernels.lm import fetch_ahead
from xlate.kernels.memory import Trie, room
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
    next_cell,
    no_cubes,
    push_cell,
    sift_down,
)
from xlate.kernels.search.hypotheses import NONE, Hypotheses, finished, survivors
from xlate.kernels.search.phrase_coverage import Coverages, expand_cover
from xlate.kernels.search.phrase_moves import (
    PLACE,
    PLACE_BITS,
    PhraseSentence,
    Work,
    add_option,
    ask,
    cover_of,
    end_of,
    end_sentence,
    finish,
    fixed_score,
    history_of,
    history_score,
    last_of,
    local_score,
    new_work,
    nodes_of_move,
    orient,
    reaches,
    shift_of,
    spot_of,
    target_of,
    with_room_for,
)


@loop
def search(sentence: PhraseSentence) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns the same as `hypotheses.finished`."""
    work = new_work(lent(sentence))
    for level in range(sentence.words):
        for node in survivors(work.search, sentence.limits, level):
            work = _with_moves(work, node)
    return finished(finish(work))


@inlined
def _with_moves(work: Work, node: int) -> Work:
    """The work, perhaps in new arrays, with the moves of one hypothesis added."""
    cover, options = cover_of(work.search.nodes[node]), len(work.sentence.static_O)
    coverages = expand_cover(work.coverages, cover)
    work = Work(work.sentence, work.search, coverages, work.stacks)
    described, nodes = work.coverages.covers[cover], options * nodes_of_move(work.sentence.histories)
    # Arrays grow rarely, because passing so many takes time.
    work = with_room_for(work, options, described.edges_end - described.edges_begin + nodes)
    _extend(work, node)
    return work


@embedded
def _extend(work: Work, node: int) -> None:
    """Adds the moves of one hypothesis that might fit into the beam."""
    work = lent(work)
    sentence, bars_L = work.sentence, work.search.bars_L
    before = work.search.nodes[node]
    before_score, last, described = before.score, last_of(work, node), work.coverages.covers[cover_of(before)]
    for e in range(described.edges_begin, described.edges_end):
        edge = work.coverages.edges[e]
        if not reaches(work, node, edge.begin):
            continue
        placed = orient(work, node, edge.begin, edge.end)
        target = target_of(work, edge, placed.stack, placed.first)
        fixed = fixed_score(work, node, edge, placed, last)
        shift, spot = shift_of(work, edge), spot_of(work, node, edge)
        rest = before_score + fixed + target.future
        for option in range(sentence.cell_offsets_C1[edge.cell], sentence.cell_offsets_C1[edge.cell + 1]):
            local = local_score(work, last, option, placed.backward, shift)
            local = history_score(sentence.histories, work, node, option, spot, local)
            if rest + sentence.alone_O[option] + local < bars_L[target.level] + sentence.log_early_threshold:
                continue
            logprob, after = ask(work, node, option)
            score = sentence.static_O[option] + local + (fixed + sentence.lm_weight * logprob)
            if before_score + score + target.future >= bars_L[target.level]:
                add_option(work, target, node, option, (after, score))


# A search in arrays that grow.
Held = tuple[Hypotheses, Coverages, Trie]


@loop
def begun(sentence: PhraseSentence) -> Held:
    """A search with hypothesis number 0, which has translated nothing."""
    work = new_work(sentence)
    return work.search, work.coverages, work.stacks


@loop
def extended(sentence: PhraseSentence, held: Held, node: int, level: int) -> Held:
    """The search with all moves of one hypothesis of a level, for the readable search."""
    work = Work(sentence, held[0], held[1], held[2])
    if level == sentence.words:
        work = with_room_for(work, 1, 0)
        end_sentence(work, node)
    else:
        work = _with_moves(work, node)
    return work.search, work.coverages, work.stacks


@loop
def search_cubes(sentence: PhraseSentence) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns the same as `hypotheses.finished`."""
    none, nodes = 0, nodes_of_move(sentence.histories)
    work, cubes = new_work(sentence), no_cubes(sentence.words)
    for level in range(sentence.words):
        search, coverages = work.search, work.coverages
        alive = survivors(search, sentence.limits, level)
        # Those with the same coverage and end, wherever the last span begins.
        alive, offsets_G1 = groups_of(alive, search.nodes["first"][alive] & ~(PLACE << PLACE_BITS))
        for g in range(len(offsets_G1) - 1):
            group = alive[offsets_G1[g] : offsets_G1[g + 1]]
            cover = cover_of(search.nodes[group[0]])
            coverages = expand_cover(coverages, cover)
            described = coverages.covers[cover]
            cubes = cubes_with_room(cubes, len(group), described.edges_end - described.edges_begin, none)
            _open_cubes(search, coverages, sentence.distortion_limit, cubes, group)
        corners = count_cubes(cubes, level + 1)
        cubes = cubes_with_room(cubes, none, none, corners)
        work = Work(sentence, search, coverages, room(work.stacks, corners))
        _fill_heap(work, cubes, level + 1)
        taken = 0
        while taken >= 0:
            work = with_room_for(work, STEPS, (3 + nodes) * STEPS)
            cubes = cubes_with_room(cubes, none, none, 2 * STEPS)
            taken = _take_best(work, cubes, level + 1, taken)
    return finished(finish(work))


@inner
def _open_cubes(search: Hypotheses, coverages: Coverages, limit: int, cubes: Cubes, group: Ints) -> None:
    """Adds the cubes that a group of hypotheses begins; there must be room."""
    search, coverages, cubes = lent(search), lent(coverages), lent(cubes)
    begin, before = add_rows(cubes, group), search.nodes[group[0]]
    described = coverages.covers[cover_of(before)]
    for e in range(described.edges_begin, described.edges_end):
        edge = coverages.edges[e]
        if limit < 0 or abs(edge.begin - end_of(before)) <= limit:
            add_cube(cubes, begin, begin + len(group), e, coverages.covers[edge.cover].level)


@inner
def _fill_heap(work: Work, cubes: Cubes, level: int) -> None:
    """Puts the corners of all cubes that lead to a level into the heap."""
    work, cubes = lent(work), lent(cubes)
    cubes.sizes[2], cubes.sizes[3] = 0, 0
    cube = cubes.heads_L[level]
    while cube >= 0:
        _push_row(work, cubes, cube, cubes.cubes[cube].begin, level)
        cube = cubes.cubes[cube].next


@embedded
def _push_row(work: Work, cubes: Cubes, cube: int, row: int, level: int) -> None:
    """Puts the first cell of a row into the heap, a corner by its estimate without a history; there must be room."""
    edge, node = work.coverages.edges[cubes.cubes[cube].edge], cubes.rows_R[row]
    placed = orient(work, node, edge.begin, edge.end)
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = cube, row, work.sentence.cell_offsets_C1[edge.cell]
    cell.fixed = fixed_score(work, node, edge, placed, last_of(work, node))
    cell.base = work.search.nodes[node].score + target_of(work, edge, 0, 0).future + cell.fixed
    cell.backward, cell.stack, cell.first = placed.backward, placed.stack, placed.first
    cell.shift = shift_of(work, edge)
    if row == cubes.cubes[cube].begin:
        # Most corners never reach the top: the language model is queried when one does.
        cell.score, cell.lm_state = work.sentence.alone_O[cell.option], UNASKED
    else:
        cell.score, cell.lm_state = _scored(work, node, cell.option)
    if push_cell(cubes, cell.base + (cell.score + _local(work, cubes, cell)), work.search.bars_L[level]):
        _fetch_next(work, node, cell)


@embedded
def _fetch_next(work: Work, node: int, cell: Any) -> None:
    """Prefetches the memory that the query after a cell reads first."""
    if cell.option + 1 < len(work.sentence.static_O):
        fetch_ahead(work.sentence.lm, work.sentence.phrases, cell.option + 1, history_of(work.search.nodes[node]))


@embedded
def _local(work: Work, cubes: Cubes, cell: Any) -> float:
    node, edge = cubes.rows_R[cell.row], work.coverages.edges[cubes.cubes[cell.cube].edge]
    score = local_score(work, last_of(work, node), cell.option, cell.backward, cell.shift)
    return history_score(work.sentence.histories, work, node, cell.option, spot_of(work, node, edge), score)


@embedded
def _scored(work: Work, node: int, option: int) -> tuple[float, int]:
    """The score of an option after a hypothesis, and the history after it."""
    logprob, after = ask(work, node, option)
    return work.sentence.static_O[option] + work.sentence.lm_weight * logprob, after


@inner
def _take_best(work: Work, cubes: Cubes, level: int, taken: int) -> int:
    """Takes the best moves to a level in at most `STEPS` steps; returns how many were taken, -1 when none are left.

    It ends early when the best cell is too low for the beam, since all waiting cells are worse.
    """
    work, cubes = lent(work), lent(cubes)
    cell_offsets_C1, bars_L = work.sentence.cell_offsets_C1, work.search.bars_L
    for _ in range(STEPS):
        if taken == work.sentence.pop_limit or cubes.sizes[3] == 0 or cubes.estimates[0] < bars_L[level]:
            return NONE
        top = cubes.cells[cubes.heap[0]]
        cube, row, option, node = top.cube, top.row, top.option, cubes.rows_R[top.row]
        if top.lm_state == UNASKED:
            top.score, top.lm_state = _scored(work, node, option)
            sift_down(cubes, cubes.heap[0], cubes.estimates[0] + top.score - work.sentence.alone_O[option])
            continue
        edge = work.coverages.edges[cubes.cubes[cube].edge]
        target = target_of(work, edge, top.stack, top.first)
        score = top.score + _local(work, cubes, top) + top.fixed
        add_option(work, target, node, option, (top.lm_state, score))
        taken += 1
        # There is only one way to each cell: along the first column to its row, then along the row.
        if option + 1 < cell_offsets_C1[edge.cell + 1]:
            cell = next_cell(cubes)
            cell.score, cell.lm_state = _scored(work, node, cell.option)
            if follow_top(cubes, cell.base + (cell.score + _local(work, cubes, cell)), bars_L[level]):
                _fetch_next(work, node, cell)
        else:
            drop_top(cubes)
        if option == cell_offsets_C1[edge.cell] and row + 1 < cubes.cubes[cube].end:
            _push_row(work, cubes, cube, row + 1, level)
    return taken
