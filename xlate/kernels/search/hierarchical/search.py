"""Cube pruning of the hierarchical decoder: the best moves to each number of covered words, from the best downwards.

Hypotheses of one number of covered words whose next open span is the same meet the translations of one match in a
*cube*: rows are hypotheses, columns translations, both best first (Huang & Chiang 2007, section 3; for this search
Siahbani, Sankaran & Sarkar 2013). A cell waits in a heap under its score; the corner of a cube, which seldom comes to
the top, waits under its estimate without a history until the language model is asked."""

from __future__ import annotations

from typing import Any

from xlate.array_types import AnyArray
from xlate.compiled import embedded, inlined, lent, loop
from xlate.kernels.lm import NgramArrays, fetch_ahead
from xlate.kernels.memory import whole
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
from xlate.kernels.search.hierarchical.matches import NO_GAP
from xlate.kernels.search.hierarchical.moves import (
    RuleNumbers,
    RuleSentence,
    RuleWork,
    add_translation,
    asked,
    base_of,
    covered_by,
    matches_of,
    new_work,
    opened,
    reached,
    with_room_for,
)
from xlate.kernels.search.hypotheses import NONE, ended, finished, survivors


@loop
def search_rules(lm: NgramArrays, sentence: RuleSentence, numbers: RuleNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    work = new_work(lm, sentence, numbers)
    for level in range(sentence.words):
        for node in survivors(work.search, numbers.limits, level):
            first, last = matches_of(sentence, reached(work, node))
            # Arrays grow rarely, since it takes time to hand over so many.
            moves = sentence.label_offsets_M1[last] - sentence.label_offsets_M1[first]
            work = with_room_for(work, moves, 3 * moves)
            _extend(work, node, level)
    return finished(ended(work.search, numbers.limits, sentence.words, lm, numbers.end_word, numbers.lm_weight))


@loop
def _extend(work: RuleWork, node: int, level: int) -> None:
    """Adds the moves of a hypothesis of a level that the beam may have a place for."""
    work = lent(work)
    sentence, numbers, bars_L, before = work.sentence, work.numbers, work.search.bars_L, work.search.nodes[node]
    before_score, top = before.score, reached(work, node)
    glue = numbers.glue if top.glued else 0.0
    first, last = matches_of(sentence, top)
    for match in range(first, last):
        reaches, base = level + covered_by(sentence, match), base_of(work, top, match)
        for at in range(sentence.begin_M[match], sentence.end_M[match]):
            stack = opened(work, base, match, at)
            fixed, logprob, after = asked(work, before, top.parent, match, at, glue)
            score = sentence.static_T[at] + (fixed + numbers.lm_weight * logprob)
            if before_score + score + work.future_N[stack] >= bars_L[reaches]:
                add_translation(work, node, reaches, match, at, stack, (score, after))


@loop
def search_rule_cubes(lm: NgramArrays, sentence: RuleSentence, numbers: RuleNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    none, work, cubes = whole(0), new_work(lm, sentence, numbers), no_cubes(sentence.words)
    for level in range(sentence.words):
        alive = survivors(work.search, numbers.limits, level)
        # Those with the same span on top.
        tops = work.trie.word_N[work.search.nodes["first"][alive]] // sentence.structure.parents
        alive, offsets_G1 = groups_of(alive, tops)
        for g in range(len(offsets_G1) - 1):
            group = alive[offsets_G1[g] : offsets_G1[g + 1]]
            first, last = matches_of(sentence, reached(work, group[0]))
            cubes = cubes_with_room(cubes, len(group), last - first, none)
            begin = add_rows(cubes, group)
            for match in range(first, last):
                add_cube(cubes, begin, begin + len(group), match, level + covered_by(sentence, match))
        cubes = cubes_with_room(cubes, none, none, count_cubes(cubes, level + 1))
        _fill_heap(work, cubes, level + 1)
        taken = whole(0)
        while taken >= 0:
            work = with_room_for(work, whole(STEPS), whole(4 * STEPS))
            cubes = cubes_with_room(cubes, none, none, whole(2 * STEPS))
            taken = _take_best(work, cubes, level + 1, taken)
    return finished(ended(work.search, numbers.limits, sentence.words, lm, numbers.end_word, numbers.lm_weight))


@loop
def _fill_heap(work: RuleWork, cubes: Cubes, level: int) -> None:
    """Puts the corners of all cubes that lead to a level into the heap."""
    work, cubes = lent(work), lent(cubes)
    cubes.sizes[2], cubes.sizes[3] = 0, 0
    cube = cubes.heads_L[level]
    while cube >= 0:
        _push_row(work, cubes, cube, cubes.cubes[cube].begin, level)
        cube = cubes.cubes[cube].next


@embedded
def _push_row(work: RuleWork, cubes: Cubes, cube: int, row: int, level: int) -> None:
    """Puts the first cell of a row into the heap, a corner under its estimate without a history; there must be room."""
    sentence, match, node = work.sentence, cubes.cubes[cube].edge, cubes.rows_R[row]
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = cube, row, sentence.begin_M[match]
    cell.base = work.search.nodes[node].score + _rest(work, node, match)
    if row == cubes.cubes[cube].begin:
        # Most corners never come to the top: the language model is asked when one does.
        backtrack = sentence.backtrack_M2[match, 1 if sentence.swapped_T[cell.option] else 0]
        cell.score, cell.lm_state = sentence.alone_T[cell.option] + backtrack, UNASKED
    else:
        cell.score, cell.lm_state = _scored(work, cubes, cell)
    if push_cell(cubes, cell.base + cell.score, work.search.bars_L[level]):
        _fetch_next(work, node, cell)


@inlined
def _rest(work: RuleWork, node: int, match: int) -> float:
    """What a match scores after a hypothesis whatever the translation, and what is estimated of the spans left open."""
    sentence, top, gaps_M4 = work.sentence, reached(work, node), work.sentence.matches.gaps_M4
    rest = work.numbers.glue + sentence.suffix_n[sentence.matches.spans_M2[match, 1]] if top.glued else 0.0
    if not top.glued:
        rest = work.future_N[top.below]
    if gaps_M4[match, 0] != NO_GAP:
        rest += sentence.future_nn[gaps_M4[match, 0], gaps_M4[match, 1]]
    if gaps_M4[match, 2] != NO_GAP:
        rest += sentence.future_nn[gaps_M4[match, 2], gaps_M4[match, 3]]
    return float(rest)


@embedded
def _scored(work: RuleWork, cubes: Cubes, cell: Any) -> tuple[float, int]:
    """What the translation of a cell scores but for glue, and the history behind it."""
    node, match = cubes.rows_R[cell.row], cubes.cubes[cell.cube].edge
    parent = reached(work, node).parent
    fixed, logprob, after = asked(work, work.search.nodes[node], parent, match, cell.option, 0.0)
    return work.sentence.static_T[cell.option] + fixed + work.numbers.lm_weight * logprob, after


@embedded
def _fetch_next(work: RuleWork, node: int, cell: Any) -> None:
    """Asks for the memory that the query behind a cell begins with."""
    if cell.option + 1 < len(work.sentence.static_T):
        fetch_ahead(work.lm, work.sentence.phrases, cell.option + 1, work.search.nodes[node].second)


@loop
def _take_best(work: RuleWork, cubes: Cubes, level: int, taken: int) -> int:
    """Takes the best moves to a level in at most `STEPS` steps; returns how many were taken, -1 when that was all."""
    work, cubes = lent(work), lent(cubes)
    sentence, bars_L = work.sentence, work.search.bars_L
    for _ in range(STEPS):
        if taken == work.numbers.pop_limit or cubes.sizes[3] == 0 or cubes.estimates[0] < bars_L[level]:
            return NONE
        cell = cubes.cells[cubes.heap[0]]
        cube, row, at = whole(cell.cube), whole(cell.row), cell.option
        match, node = cubes.cubes[cube].edge, cubes.rows_R[row]
        if cell.lm_state == UNASKED:
            cell.score, cell.lm_state = _scored(work, cubes, cell)
            sift_down(cubes, cubes.heap[0], cell.base + cell.score)
            continue
        top = reached(work, node)
        stack = opened(work, base_of(work, top, match), match, at)
        score = cell.score + (work.numbers.glue if top.glued else 0.0)
        add_translation(work, node, level, match, at, stack, (score, cell.lm_state))
        taken += 1
        # Each cell has one way to it: along the first column to its row, then along the row.
        if at + 1 < sentence.end_M[match]:
            after = next_cell(cubes)
            after.score, after.lm_state = _scored(work, cubes, after)
            if follow_top(cubes, after.base + after.score, bars_L[level]):
                _fetch_next(work, node, after)
        else:
            drop_top(cubes)
        if at == sentence.begin_M[match] and row + 1 < cubes.cubes[cube].end:
            _push_row(work, cubes, cube, row + 1, level)
    return taken
