"""Stack search and cube pruning of the phrase decoder as loops over plain arrays.

Cube pruning takes the best moves to each number of covered words, from the best downwards. Hypotheses that have
translated the same words and end at the same place meet the options of one span in a *cube*: rows are hypotheses,
columns options, both best first, so the best cells lie near the corner (Huang & Chiang 2007, section 3). A cell waits
in a heap under its score. The corner of a cube, which seldom comes to the top, waits under its estimate without a
history; the language model is asked when it does, and it goes back under its score.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32
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
from xlate.kernels.search.phrase_history import nodes_of_move
from xlate.kernels.search.phrase_moves import (
    PLACE_BITS,
    PhraseNumbers,
    PhraseSentence,
    Work,
    add_option,
    ask,
    cover_of,
    end_of,
    end_sentence,
    finish,
    first_hypothesis,
    fixed_score,
    history_of,
    history_score,
    last_of,
    local_score,
    orient,
    reaches,
    rest_distortion,
    shift_of,
    target_of,
)


@loop
def search_phrases(lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    n, options, nodes = sentence.words, len(sentence.static_O), nodes_of_move(sentence.histories)
    coverages, stacks = new_coverages(n, sentence.future_nn), new_trie(64)
    search = first_hypothesis(coverages, numbers, n)
    for level in range(n):
        for node in survivors(search, numbers.limits, level):
            cover = cover_of(search.nodes[node])
            coverages = expand_cover(
                coverages,
                cover,
                n,
                sentence.longest,
                numbers.distortion_limit,
                sentence.cell_offsets_C1,
                sentence.future_nn,
            )
            described = coverages.covers[cover]
            # Growing seldom: handing over so many arrays takes time.
            search = with_room(search, options)
            stacks = room(stacks, described.edges_end - described.edges_begin + options * nodes)
            _extend(Work(lm, sentence, numbers, search, coverages, stacks), node)
    return finished(finish(Work(lm, sentence, numbers, search, coverages, stacks)))


@loop
def _extend(work: Work, node: int) -> None:
    """Adds the moves of one hypothesis that the beam may have a place for."""
    work = lent(work)
    sentence, numbers, bars_L = work.sentence, work.numbers, work.search.bars_L
    before = work.search.nodes[node]
    before_score, lm_state, last = before.score, history_of(before), last_of(work, node)
    described = work.coverages.covers[cover_of(before)]
    for e in range(described.edges_begin, described.edges_end):
        edge = work.coverages.edges[e]
        if not reaches(work, node, edge.begin):
            continue
        placed = orient(work, node, edge.begin, edge.end)
        target = target_of(work, edge, placed.stack, placed.first)
        fixed = fixed_score(work, node, edge, placed, last)
        shift = shift_of(work, edge)
        rest = before_score + fixed + target.future
        for option in range(sentence.cell_offsets_C1[edge.cell], sentence.cell_offsets_C1[edge.cell + 1]):
            local = local_score(work, last, option, placed.backward, shift)
            local = history_score(sentence.histories, work, node, e, option, local)
            if rest + sentence.alone_O[option] + local < bars_L[target.level] + numbers.log_early_threshold:
                continue
            logprob, after = ask(work, lm_state, option)
            score = sentence.static_O[option] + local + (fixed + numbers.lm_weight * logprob)
            if before_score + score + target.future >= bars_L[target.level]:
                add_option(work, target, node, option, (after, score))


class Expansion(NamedTuple):
    """A search in arrays that grow, and the M moves of the hypothesis that was expanded last.

    `target_M` numbers the hypotheses that they lead to; `level_M` and `future_M` are their levels and estimates.
    """

    search: Hypotheses
    coverages: Coverages
    stacks: Trie
    target_M: Ints32
    label_M: Ints32
    score_M: Floats
    level_M: Ints
    future_M: Floats


@loop
def start_expanding(sentence: PhraseSentence, numbers: PhraseNumbers) -> Expansion:
    """The hypothesis that has translated nothing, number 0, as the target of a move."""
    coverages, stacks = new_coverages(sentence.words, sentence.future_nn), new_trie(64)
    search = first_hypothesis(coverages, numbers, sentence.words)
    nothing = np.zeros(1, dtype=np.int32)
    future_M = search.nodes["estimate"][:1].copy()
    return Expansion(search, coverages, stacks, nothing, nothing, np.zeros(1), np.zeros(1, dtype=np.int64), future_M)


@loop
def expanded(
    lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers, known: Expansion, node: int
) -> Expansion:
    """All moves of one hypothesis of a search without limits: what the readable search goes by."""
    search, coverages, stacks = known.search, known.coverages, known.stacks
    n, options, first = sentence.words, len(sentence.static_O), search.counts[1]
    cover = cover_of(search.nodes[node])
    search = with_room(search, options + 1)
    complete = coverages.covers[cover].level == n
    if complete:
        end_sentence(Work(lm, sentence, numbers, search, coverages, stacks), node)
    else:
        coverages = expand_cover(
            coverages,
            cover,
            n,
            sentence.longest,
            numbers.distortion_limit,
            sentence.cell_offsets_C1,
            sentence.future_nn,
        )
        described = coverages.covers[cover]
        nodes = nodes_of_move(sentence.histories)
        stacks = room(stacks, described.edges_end - described.edges_begin + options * nodes)
        _extend(Work(lm, sentence, numbers, search, coverages, stacks), node)
    arcs = search.arcs[first : search.counts[1]]
    level_M, future_M = np.full(len(arcs), n + 1, dtype=np.int64), np.zeros(len(arcs))
    for m in range(len(arcs)):
        if not complete:
            target = search.nodes[arcs[m].target]
            behind = cover_of(target)
            rest = rest_distortion(coverages, numbers, behind, end_of(target))
            level_M[m] = coverages.covers[behind].level
            future_M[m] = coverages.covers[behind].future - numbers.distortion_weight * rest
    return Expansion(
        search, coverages, stacks, arcs["target"].copy(), arcs["label"].copy(), arcs["score"].copy(), level_M, future_M
    )


@loop
def search_cubes(lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    n, none, nodes = sentence.words, whole(0), nodes_of_move(sentence.histories)
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
            _open_cubes(Work(lm, sentence, numbers, search, coverages, stacks), cubes, group)
        corners = count_cubes(cubes, level + 1)
        cubes, stacks = cubes_with_room(cubes, none, none, corners), room(stacks, corners)
        _fill_heap(Work(lm, sentence, numbers, search, coverages, stacks), cubes, level + 1)
        taken = whole(0)
        while taken >= 0:
            search, stacks = with_room(search, whole(STEPS)), room(stacks, whole((3 + nodes) * STEPS))
            cubes = cubes_with_room(cubes, none, none, whole(2 * STEPS))
            taken = _take_best(Work(lm, sentence, numbers, search, coverages, stacks), cubes, level + 1, taken)
    return finished(finish(Work(lm, sentence, numbers, search, coverages, stacks)))


@loop
def _groups(search: Hypotheses, alive: Ints) -> tuple[Ints, Ints]:
    """Hypotheses, best first, put together where coverage and end are equal; and where each of G groups begins."""
    nodes = search.nodes
    keys = np.empty(len(alive), dtype=np.int64)
    for at in range(len(alive)):
        keys[at] = (cover_of(nodes[alive[at]]) << PLACE_BITS) | end_of(nodes[alive[at]])
    return groups_of(alive, keys)


@loop
def _open_cubes(work: Work, cubes: Cubes, group: Ints) -> None:
    """Lists the cubes that a group of hypotheses begins; there must be room."""
    work, cubes = lent(work), lent(cubes)
    begin, coverages = add_rows(cubes, group), work.coverages
    described = coverages.covers[cover_of(work.search.nodes[group[0]])]
    for e in range(described.edges_begin, described.edges_end):
        if reaches(work, group[0], coverages.edges[e].begin):
            add_cube(cubes, begin, begin + len(group), e, coverages.covers[coverages.edges[e].cover].level)


@loop
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
    """Puts the first cell of a row into the heap, a corner under its estimate without a history; there must be room."""
    edge, node = work.coverages.edges[cubes.cubes[cube].edge], cubes.rows_R[row]
    placed = orient(work, node, edge.begin, edge.end)
    target = target_of(work, edge, 0, 0)
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = cube, row, work.sentence.cell_offsets_C1[edge.cell]
    cell.fixed = fixed_score(work, node, edge, placed, last_of(work, node))
    cell.base = work.search.nodes[node].score + target.future + cell.fixed
    cell.backward, cell.stack, cell.first = placed.backward, placed.stack, placed.first
    cell.shift = shift_of(work, edge)
    if row == cubes.cubes[cube].begin:
        # Most corners never come to the top: the language model is asked when one does.
        cell.score, cell.lm_state = work.sentence.alone_O[cell.option], UNASKED
    else:
        cell.score, cell.lm_state = _ask(work, cubes, row, cell.option)
    estimate = _estimate(work, cubes, cell)
    if estimate >= work.search.bars_L[level]:
        push_cell(cubes, estimate)
        _fetch_next(work, node, cell)


@embedded
def _next_of_row(work: Work, cubes: Cubes, before: Any, level: int) -> None:
    """Puts the cell behind the one on top of the heap in its place; there must be room."""
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = before.cube, before.row, before.option + 1
    cell.fixed, cell.base = before.fixed, before.base
    cell.backward, cell.stack, cell.first = before.backward, before.stack, before.first
    cell.shift = before.shift
    cell.score, cell.lm_state = _ask(work, cubes, whole(cell.row), cell.option)
    estimate = _estimate(work, cubes, cell)
    if estimate < work.search.bars_L[level]:
        drop_top(cubes)
        return
    follow_top(cubes, estimate)
    _fetch_next(work, cubes.rows_R[cell.row], cell)


@embedded
def _fetch_next(work: Work, node: int, cell: Any) -> None:
    """Asks for the memory that the query behind a cell begins with."""
    if cell.option + 1 < len(work.sentence.static_O):
        fetch_ahead(work.lm, work.sentence.phrases, cell.option + 1, history_of(work.search.nodes[node]))


@embedded
def _estimate(work: Work, cubes: Cubes, cell: Any) -> float:
    return float(cell.base + (cell.score + _local(work, cubes, cell)))


@embedded
def _local(work: Work, cubes: Cubes, cell: Any) -> float:
    node = cubes.rows_R[cell.row]
    score = local_score(work, last_of(work, node), cell.option, cell.backward, cell.shift)
    edge = cubes.cubes[cell.cube].edge
    return history_score(work.sentence.histories, work, node, edge, cell.option, score)


@loop
def _take_best(work: Work, cubes: Cubes, level: int, taken: int) -> int:
    """Takes the best moves to a level in at most `STEPS` steps; returns how many were taken, -1 when that was all.

    It ends early when the best cell is below what the beam asks for, since all that waits is worse.
    """
    work, cubes = lent(work), lent(cubes)
    cell_offsets_C1 = work.sentence.cell_offsets_C1
    for _ in range(STEPS):
        if taken == work.numbers.pop_limit or cubes.sizes[3] == 0:
            return NONE
        top = cubes.cells[cubes.heap[0]]
        estimate = cubes.estimates[0]
        if estimate < work.search.bars_L[level]:
            return NONE
        cube, row, option = whole(top.cube), whole(top.row), top.option
        if top.lm_state == UNASKED:
            top.score, top.lm_state = _ask(work, cubes, row, option)
            sift_down(cubes, cubes.heap[0], estimate + top.score - work.sentence.alone_O[option])
            continue
        edge = work.coverages.edges[cubes.cubes[cube].edge]
        target = target_of(work, edge, top.stack, top.first)
        score = top.score + _local(work, cubes, top) + top.fixed
        add_option(work, target, cubes.rows_R[row], option, (top.lm_state, score))
        taken += 1
        # Each cell has one way to it: along the first column to its row, then along the row.
        if option + 1 < cell_offsets_C1[edge.cell + 1]:
            _next_of_row(work, cubes, top, level)
        else:
            drop_top(cubes)
        if option == cell_offsets_C1[edge.cell] and row + 1 < cubes.cubes[cube].end:
            _push_row(work, cubes, cube, row + 1, level)
    return taken


@embedded
def _ask(work: Work, cubes: Cubes, row: int, option: int) -> tuple[float, int]:
    """What an option scores after the history of a row, and the history behind it."""
    logprob, after = ask(work, history_of(work.search.nodes[cubes.rows_R[row]]), option)
    return work.sentence.static_O[option] + work.numbers.lm_weight * logprob, after
