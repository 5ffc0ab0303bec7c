"""Cube pruning of the hierarchical decoder: the best moves to each number of covered words, from the best downwards.

Hypotheses of one number of covered words whose next open span is the same meet the translations of one match in a
*cube*: rows are hypotheses, columns translations, both best first (Huang & Chiang 2007, section 3; for this search
Siahbani, Sankaran & Sarkar 2013). A cell waits in a heap under its score; the corner of a cube, which seldom comes to
the top, waits under its estimate without a history until the language model is asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from xlate.array_types import AnyArray, Ints
from xlate.compiled import embedded, inlined, lent, loop
from xlate.kernels.lm.ngram import NgramArrays
from xlate.kernels.lm.phrase_lm import fetch_ahead
from xlate.kernels.memory.hashing import whole
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
from xlate.kernels.search.hierarchical.matches import NO_GAP
from xlate.kernels.search.hierarchical.moves import (
    RuleNumbers,
    RuleSentence,
    Stacks,
    ask,
    base_of,
    covered_by,
    covered_so_far,
    finish,
    first_hypothesis,
    matches_of,
    new_stacks,
    opened,
    reached,
    stacks_with_room,
    structure_score,
)
from xlate.kernels.search.hypotheses import (
    NONE,
    Hypotheses,
    add_move,
    finished,
    key_of,
    survivors,
    with_room,
)


@loop
def search_rules(lm: NgramArrays, sentence: RuleSentence, numbers: RuleNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    n, stacks = sentence.words, new_stacks()
    search = first_hypothesis(sentence, numbers, stacks)
    for level in range(n):
        for node in survivors(search, numbers.limits, level):
            first, last = matches_of(sentence, reached(sentence, stacks, search.nodes[node].first))
            # Growing seldom: handing over so many arrays takes time.
            search = with_room(search, sentence.label_offsets_M1[last] - sentence.label_offsets_M1[first])
            stacks = stacks_with_room(stacks, 3 * (sentence.label_offsets_M1[last] - sentence.label_offsets_M1[first]))
            _extend(lm, sentence, numbers, search, stacks, (node, first, last))
    return finished(finish(lm, search, numbers, n))


@loop
def _extend(
    lm: NgramArrays,
    sentence: RuleSentence,
    numbers: RuleNumbers,
    search: Hypotheses,
    stacks: Stacks,
    place: tuple[int, int, int],
) -> None:
    """Adds the moves of one hypothesis over some matches that the beam may have a place for."""
    lm, sentence, numbers, search, stacks = lent(lm), lent(sentence), lent(numbers), lent(search), lent(stacks)
    node, first, last = place
    before, bars_L = search.nodes[node], search.bars_L
    before_score, lm_state, ending = before.score, before.second, before.third
    top = reached(sentence, stacks, before.first)
    glue = numbers.glue if top.glued else 0.0
    covered = covered_so_far(sentence, stacks, before.first)
    for match in range(first, last):
        level = covered + covered_by(sentence, match)
        base = base_of(sentence, stacks, top, match)
        label = sentence.label_offsets_M1[match] - sentence.begin_M[match]
        for at in range(sentence.begin_M[match], sentence.end_M[match]):
            swapped = sentence.swapped_T[at]
            stack = opened(sentence, stacks, base, match, swapped, sentence.structure.parent_T[at])
            future = stacks.future_N[stack]
            fixed = glue + sentence.backtrack_M2[match, 1 if swapped else 0]
            logprob, after = ask(lm, sentence, search.memo, lm_state, at)
            fixed += structure_score(sentence, ending, top.parent, at)
            score = sentence.static_T[at] + (fixed + numbers.lm_weight * logprob)
            if before_score + score + future >= bars_L[level]:
                key = key_of(stack, after, sentence.structure.ending_T[at])
                add_move(search, numbers.limits, node, key, level, future, score, label + at)


@loop
def search_rule_cubes(lm: NgramArrays, sentence: RuleSentence, numbers: RuleNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    n, none, stacks, cubes = sentence.words, whole(0), new_stacks(), no_cubes(sentence.words)
    search = first_hypothesis(sentence, numbers, stacks)
    for level in range(n):
        alive, offsets_G1 = _groups(sentence, search, stacks, survivors(search, numbers.limits, level))
        for g in range(len(offsets_G1) - 1):
            group = alive[offsets_G1[g] : offsets_G1[g + 1]]
            first, last = matches_of(sentence, reached(sentence, stacks, search.nodes[group[0]].first))
            cubes = cubes_with_room(cubes, len(group), last - first, none)
            _open_cubes(sentence, search, stacks, cubes, group)
        cubes = cubes_with_room(cubes, none, none, count_cubes(cubes, level + 1))
        _fill_heap(lm, sentence, numbers, search, stacks, cubes, level + 1)
        taken = whole(0)
        while taken >= 0:
            search, stacks = with_room(search, whole(STEPS)), stacks_with_room(stacks, whole(4 * STEPS))
            cubes = cubes_with_room(cubes, none, none, whole(2 * STEPS))
            taken = _take_best(lm, sentence, numbers, search, stacks, cubes, (level + 1, taken))
    return finished(finish(lm, search, numbers, n))


@embedded
def _groups(sentence: RuleSentence, search: Hypotheses, stacks: Stacks, alive: Ints) -> tuple[Ints, Ints]:
    """Hypotheses, best first, put together where the span on top is the same; and where each of G groups begins."""
    keys = np.empty(len(alive), dtype=np.int64)
    for at in range(len(alive)):
        keys[at] = stacks.trie.word_N[search.nodes[alive[at]].first] // sentence.structure.parents
    return groups_of(alive, keys)


@loop
def _open_cubes(sentence: RuleSentence, search: Hypotheses, stacks: Stacks, cubes: Cubes, group: Ints) -> None:
    """Lists the cubes that a group of hypotheses begins; there must be room."""
    sentence, search, stacks, cubes = lent(sentence), lent(search), lent(stacks), lent(cubes)
    begin, stack = add_rows(cubes, group), search.nodes[group[0]].first
    first, last = matches_of(sentence, reached(sentence, stacks, stack))
    covered = covered_so_far(sentence, stacks, stack)
    for match in range(first, last):
        add_cube(cubes, begin, begin + len(group), match, covered + covered_by(sentence, match))


@loop
def _fill_heap(
    lm: NgramArrays,
    sentence: RuleSentence,
    numbers: RuleNumbers,
    search: Hypotheses,
    stacks: Stacks,
    cubes: Cubes,
    level: int,
) -> None:
    """Puts the corners of all cubes that lead to a level into the heap."""
    lm, sentence, numbers, search = lent(lm), lent(sentence), lent(numbers), lent(search)
    stacks, cubes = lent(stacks), lent(cubes)
    cubes.sizes[2], cubes.sizes[3] = 0, 0
    cube = cubes.heads_L[level]
    while cube >= 0:
        _push_row(lm, sentence, numbers, search, stacks, cubes, (cube, cubes.cubes[cube].begin, level))
        cube = cubes.cubes[cube].next


@embedded
def _push_row(
    lm: NgramArrays,
    sentence: RuleSentence,
    numbers: RuleNumbers,
    search: Hypotheses,
    stacks: Stacks,
    cubes: Cubes,
    place: tuple[int, int, int],
) -> None:
    """Puts the first cell of a row into the heap, a corner under its estimate without a history; there must be room.

    The place is cube, row, and the level they lead to.
    """
    cube, row, level = place
    match, node = cubes.cubes[cube].edge, cubes.rows_R[row]
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = cube, row, sentence.begin_M[match]
    cell.fixed = _rest(sentence, numbers, stacks, search.nodes[node].first, match)
    cell.base = search.nodes[node].score + cell.fixed
    if row == cubes.cubes[cube].begin:
        # Most corners never come to the top: the language model is asked when one does.
        cell.score, cell.lm_state = _alone(sentence, match, cell.option), UNASKED
    else:
        cell.score, cell.lm_state = _scored(lm, sentence, numbers, search, stacks, (node, match, cell.option))
    estimate = cell.base + cell.score
    if estimate >= search.bars_L[level]:
        push_cell(cubes, estimate)
        _fetch_next(lm, sentence, search, node, cell)


@inlined
def _rest(sentence: RuleSentence, numbers: RuleNumbers, stacks: Stacks, stack: int, match: int) -> float:
    """What a match scores behind a stack whatever the translation, and what is estimated of the spans left open."""
    top, gaps_M4 = reached(sentence, stacks, stack), sentence.matches.gaps_M4
    rest = numbers.glue + sentence.suffix_n[sentence.matches.spans_M2[match, 1]] if top.glued else 0.0
    if not top.glued:
        rest = stacks.future_N[top.below]
    if gaps_M4[match, 0] != NO_GAP:
        rest += sentence.future_nn[gaps_M4[match, 0], gaps_M4[match, 1]]
    if gaps_M4[match, 2] != NO_GAP:
        rest += sentence.future_nn[gaps_M4[match, 2], gaps_M4[match, 3]]
    return float(rest)


@inlined
def _alone(sentence: RuleSentence, match: int, at: int) -> float:
    return float(sentence.alone_T[at] + sentence.backtrack_M2[match, 1 if sentence.swapped_T[at] else 0])


@embedded
def _scored(
    lm: NgramArrays,
    sentence: RuleSentence,
    numbers: RuleNumbers,
    search: Hypotheses,
    stacks: Stacks,
    place: tuple[int, int, int],
) -> tuple[float, int]:
    """What a translation of a match scores after a hypothesis, and the history behind it."""
    node, match, at = place
    logprob, after = ask(lm, sentence, search.memo, search.nodes[node].second, at)
    fixed = sentence.backtrack_M2[match, 1 if sentence.swapped_T[at] else 0]
    if sentence.structure.active:
        parent = reached(sentence, stacks, search.nodes[node].first).parent
        fixed += structure_score(sentence, search.nodes[node].third, parent, at)
    return sentence.static_T[at] + fixed + numbers.lm_weight * logprob, after


@embedded
def _fetch_next(lm: NgramArrays, sentence: RuleSentence, search: Hypotheses, node: int, cell: Any) -> None:
    """Asks for the memory that the query behind a cell begins with."""
    if cell.option + 1 < len(sentence.static_T):
        fetch_ahead(lm, sentence.phrases, cell.option + 1, search.nodes[node].second)


@loop
def _take_best(
    lm: NgramArrays,
    sentence: RuleSentence,
    numbers: RuleNumbers,
    search: Hypotheses,
    stacks: Stacks,
    cubes: Cubes,
    so_far: tuple[int, int],
) -> int:
    """Takes the best moves to a level in at most `STEPS` steps; returns how many were taken, -1 when that was all.

    `so_far` is the level, and how many were taken before.
    """
    lm, sentence, numbers, search = lent(lm), lent(sentence), lent(numbers), lent(search)
    stacks, cubes = lent(stacks), lent(cubes)
    level, taken = so_far
    for _ in range(STEPS):
        if taken == numbers.pop_limit or cubes.sizes[3] == 0 or cubes.estimates[0] < search.bars_L[level]:
            return NONE
        cell = cubes.cells[cubes.heap[0]]
        cube, row, at = whole(cell.cube), cell.row, cell.option
        match, node = cubes.cubes[cube].edge, cubes.rows_R[row]
        if cell.lm_state == UNASKED:
            cell.score, cell.lm_state = _scored(lm, sentence, numbers, search, stacks, (node, match, at))
            sift_down(cubes, cubes.heap[0], cell.base + cell.score)
            continue
        _make_move(sentence, numbers, search, stacks, cubes, (cubes.heap[0], level))
        taken += 1
        # Each cell has one way to it: along the first column to its row, then along the row.
        if at + 1 < sentence.end_M[match]:
            _next_of_row(lm, sentence, numbers, search, stacks, cubes, level)
        else:
            drop_top(cubes)
        if at == sentence.begin_M[match] and row + 1 < cubes.cubes[cube].end:
            _push_row(lm, sentence, numbers, search, stacks, cubes, (cube, row + 1, level))
    return taken


@embedded
def _next_of_row(
    lm: NgramArrays,
    sentence: RuleSentence,
    numbers: RuleNumbers,
    search: Hypotheses,
    stacks: Stacks,
    cubes: Cubes,
    level: int,
) -> None:
    """Puts the cell behind the one on top of the heap in its place; there must be room."""
    before, cell = cubes.cells[cubes.heap[0]], cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = before.cube, before.row, before.option + 1
    cell.fixed, cell.base = before.fixed, before.base
    node, match = cubes.rows_R[cell.row], cubes.cubes[cell.cube].edge
    cell.score, cell.lm_state = _scored(lm, sentence, numbers, search, stacks, (node, match, cell.option))
    estimate = cell.base + cell.score
    if estimate < search.bars_L[level]:
        drop_top(cubes)
        return
    follow_top(cubes, estimate)
    _fetch_next(lm, sentence, search, node, cell)


@embedded
def _make_move(
    sentence: RuleSentence,
    numbers: RuleNumbers,
    search: Hypotheses,
    stacks: Stacks,
    cubes: Cubes,
    place: tuple[int, int],
) -> None:
    """Makes the move of a cell whose score is known; there must be room."""
    cell, level = cubes.cells[place[0]], place[1]
    node, match, at = cubes.rows_R[cell.row], cubes.cubes[cell.cube].edge, cell.option
    top = reached(sentence, stacks, search.nodes[node].first)
    base, structure = base_of(sentence, stacks, top, match), sentence.structure
    stack = opened(sentence, stacks, base, match, sentence.swapped_T[at], structure.parent_T[at])
    score = cell.score + (numbers.glue if top.glued else 0.0)
    label = sentence.label_offsets_M1[match] - sentence.begin_M[match] + at
    key = key_of(stack, cell.lm_state, structure.ending_T[at])
    add_move(search, numbers.limits, node, key, level, stacks.future_N[stack], score, label)
