"""Stack search and cube pruning of the hierarchical decoder, from left to right in the target.

A hypothesis has a stack of open spans; the one on top is translated next. A rule appends its target phrase to the
translation and leaves its gaps open, the first one of the target on top (Watanabe et al. 2007, section 2.3).

Cube pruning takes the best moves to each number of covered words, from the best downwards. Hypotheses with the same
number of covered words and the same next open span meet the translations of one match in a *cube*: rows are hypotheses,
columns translations, both best first (Huang & Chiang 2007, section 3; for this search Siahbani, Sankaran & Sarkar
2013). A cell waits in a heap, ordered by its score; the corner of a cube, which rarely reaches the top, waits by its
estimate without a history until the language model is queried.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Bools, Floats, Ints
from xlate.compiled import embedded, inlined, inner, lent, loop
from xlate.kernels.lm import MEMO_SIZE, SAID, NgramArrays, PhrasesAlone, fetch_ahead, phrase_logprob, remembered, step
from xlate.kernels.memory import ROOT, Trie, child, new_trie, room
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
from xlate.kernels.search.hypotheses import (
    NONE,
    Hypotheses,
    Limits,
    add_move,
    finished,
    key_of,
    no_hypotheses,
    survivors,
    with_room,
)
from xlate.kernels.search.rule_facts import Structure, between_score
from xlate.kernels.search.spans import NO_GAP, Matches

LONGEST_SENTENCE = (1 << 14) - 2


class RuleSentence(NamedTuple):
    """The matches of a sentence of n words, the translations of their source sides, weights, and search settings.

    Match m is translated by translations `begin_M[m]` to `end_M[m]` of T, best first, whose labels start at
    `label_offsets_M1[m]`. `static_T` is the part of a translation's score that does not depend on its place, `alone_T`
    that plus the language model without history, `swapped_T` whether it has its gaps in reverse; `backtrack_M2` is the
    score of a match with gaps in order, and with gaps in reverse. `future_nn` estimates the best score of each span by
    rules, `suffix_n` that of each suffix of the sentence, glued. `glue` is the score of each glue step.
    """

    lm: NgramArrays
    words: int
    matches: Matches
    begin_M: Ints
    end_M: Ints
    label_offsets_M1: Ints
    backtrack_M2: Floats
    static_T: Floats
    alone_T: Floats
    swapped_T: Bools
    phrases: PhrasesAlone
    future_nn: Floats
    suffix_n: Floats
    structure: Structure
    lm_weight: float
    glue: float
    begin_state: int
    end_word: int
    limits: Limits
    pop_limit: int


class RuleWork(NamedTuple):
    """What the search of one sentence reads and writes; a caller that lends it to a loop must keep the arrays alive.

    Stacks of open spans are in a trie: a node is a stack, its word the span on top, its parent the stack below. The
    span from i to j is number i·(n+1) + j when a rule must translate it, and that plus (n+1)² when it may be glued
    together; such a span reaches to the end of the sentence. The word is that number times the number of parents of
    `Structure`, plus the parent whose gap the span is. `future_N` estimates the score of a stack.
    """

    sentence: RuleSentence
    search: Hypotheses
    trie: Trie
    future_N: Floats


class Reached(NamedTuple):
    """Which matches translate the beginning of the span on top of a stack, and the stack below: `glued` spans have
    matches of every end. `parent` is the parent in `Structure` whose gap the span is.
    """

    begin: int
    end: int
    glued: bool
    below: int
    parent: int


@loop
def estimate_spans(matches: Matches, best_M2: Floats, n: int, longest: int, glue: float) -> tuple[Floats, Floats]:
    """`future_nn` and `suffix_n` of a sentence; `best_M2` is the best score of matches by the order of their gaps."""
    future_nn = np.full((n + 1, n + 1), -np.inf)
    for length in range(1, min(n, longest) + 1):
        for begin in range(n - length + 1):
            cell = begin * (n + 1) + begin + length
            best = -np.inf
            for m in range(matches.cell_offsets_C1[cell], matches.cell_offsets_C1[cell + 1]):
                score = max(best_M2[m, 0], best_M2[m, 1])
                for g in range(0, 4, 2):
                    if matches.gaps_M4[m, g] != NO_GAP:
                        score += future_nn[matches.gaps_M4[m, g], matches.gaps_M4[m, g + 1]]
                best = max(best, score)
            future_nn[begin, begin + length] = best
    suffix_n = np.full(n + 1, -np.inf)
    suffix_n[n] = 0.0
    for begin in range(n - 1, -1, -1):
        for end in range(begin + 1, min(n, begin + longest) + 1):
            suffix_n[begin] = max(suffix_n[begin], future_nn[begin, end] + glue + suffix_n[end])
    return future_nn, suffix_n


@inlined
def new_work(sentence: RuleSentence) -> RuleWork:
    """A search with the hypothesis that has translated nothing."""
    trie = new_trie(256)
    search = no_hypotheses(sentence.words + 2, np.empty(MEMO_SIZE, dtype=SAID))
    work = RuleWork(sentence, search, trie, np.zeros(len(trie.parent_N)))
    stack, nobody = pushed_glued(work, 0), NONE
    future = work.future_N[stack]
    add_move(search, sentence.limits, nobody, key_of(stack, sentence.begin_state, 0), 0, future, 0.0, nobody)
    return work


@inlined
def with_room_for(work: RuleWork, moves: int, stacks: int) -> RuleWork:
    """The same in arrays with room for more moves and stacks."""
    trie, future_N = room(work.trie, stacks), work.future_N
    if len(future_N) < len(trie.parent_N):
        future_N = np.zeros(len(trie.parent_N))
        future_N[: len(work.future_N)] = work.future_N
    return RuleWork(work.sentence, with_room(work.search, moves), trie, future_N)


@inlined
def pushed(work: RuleWork, stack: int, begin: int, end: int, parent: int) -> int:
    """A stack with a span on top that a rule must translate; there must be room."""
    sentence, future_N = work.sentence, work.future_N
    word = (begin * (sentence.words + 1) + end) * sentence.structure.parents + parent
    node = child(work.trie, stack, word)
    future_N[node] = future_N[stack] + sentence.future_nn[begin, end]
    return node


@inlined
def pushed_glued(work: RuleWork, begin: int) -> int:
    """The stack with only the rest of the sentence from a place on; the empty one at the sentence's end."""
    sentence, n = work.sentence, work.sentence.words
    if begin == n:
        return ROOT
    node = child(work.trie, ROOT, ((begin + n + 1) * (n + 1) + n) * sentence.structure.parents)
    work.future_N[node] = sentence.suffix_n[begin]
    return node


@inlined
def reached(work: RuleWork, node: int) -> Reached:
    """The top of a hypothesis's stack, which must not be empty."""
    n, parents, trie = work.sentence.words, work.sentence.structure.parents, work.trie
    stack = work.search.nodes[node].first
    word, parent = np.int64(trie.word_N[stack]) // parents, np.int64(trie.word_N[stack]) % parents
    begin, end = word // (n + 1), word % (n + 1)
    if begin > n:
        return Reached(int(begin - n - 1), int(end), True, int(np.int64(ROOT)), 0)
    return Reached(int(begin), int(end), False, int(np.int64(trie.parent_N[stack])), int(parent))


@inlined
def matches_of(sentence: RuleSentence, top: Reached) -> tuple[int, int]:
    """The half-open range of matches that the span on top may begin with; matches are sorted by span."""
    first = top.begin * (sentence.words + 1)
    offsets_C1 = sentence.matches.cell_offsets_C1
    if top.glued:
        return offsets_C1[first], offsets_C1[first + sentence.words + 1]
    return offsets_C1[first + top.end], offsets_C1[first + top.end + 1]


@inlined
def covered_by(sentence: RuleSentence, match: int) -> int:
    """How many words of the source a match itself translates."""
    spans_M2, gaps_M4 = sentence.matches.spans_M2, sentence.matches.gaps_M4
    inside = gaps_M4[match, 1] - gaps_M4[match, 0] + gaps_M4[match, 3] - gaps_M4[match, 2]
    return int(spans_M2[match, 1] - spans_M2[match, 0] - inside)


@inlined
def base_of(work: RuleWork, top: Reached, match: int) -> int:
    """The stack below a match's gaps: the rest of a glued span, or what was below its span; there must be room."""
    return pushed_glued(work, work.sentence.matches.spans_M2[match, 1]) if top.glued else top.below


@inlined
def opened(work: RuleWork, base: int, match: int, at: int) -> int:
    """The stack after a match under a translation; there must be room.

    Its gaps are on top; the one that comes first in the target is pushed last.
    """
    gaps_M4, parent = work.sentence.matches.gaps_M4, work.sentence.structure.parent_T[at]
    if gaps_M4[match, 0] == NO_GAP:
        return base
    if gaps_M4[match, 2] == NO_GAP:
        return pushed(work, base, gaps_M4[match, 0], gaps_M4[match, 1], parent)
    upper, lower = (2, 0) if work.sentence.swapped_T[at] else (0, 2)
    below = pushed(work, base, gaps_M4[match, lower], gaps_M4[match, lower + 1], parent)
    return pushed(work, below, gaps_M4[match, upper], gaps_M4[match, upper + 1], parent)


@inlined
def asked(work: RuleWork, before: Any, parent: int, match: int, at: int, glue: float) -> tuple[float, float, int]:
    """What a translation of a match adds to `static_T` after a hypothesis and in a gap of a parent.

    First everything except the language model, then the log probability of the words; and the history after them.
    """
    sentence = work.sentence
    said, known = remembered(work.search.memo, before.second, at)
    if not known:
        said.logprob, said.after = phrase_logprob(work.sentence.lm, sentence.phrases, at, before.second)
    fixed = glue + sentence.backtrack_M2[match, 1 if sentence.swapped_T[at] else 0]
    if sentence.structure.active:
        fixed += between_score(sentence.structure, before.third, parent, at)
    return fixed, said.logprob, said.after


@inlined
def add_translation(work: RuleWork, node: int, level: int, match: int, at: int, stack: int, scored: Any) -> None:
    """Adds the move to a stack by a translation of a match, given its score and the history after it."""
    sentence, (score, lm_state) = work.sentence, scored
    key = key_of(stack, lm_state, sentence.structure.ending_T[at])
    label = sentence.label_offsets_M1[match] - sentence.begin_M[match] + at
    add_move(work.search, work.sentence.limits, node, key, level, work.future_N[stack], score, label)


@inlined
def end_sentence(work: RuleWork, node: int) -> None:
    """Ends the sentence after a hypothesis that has translated it; there must be room."""
    sentence, n = work.sentence, work.sentence.words
    score = sentence.lm_weight * step(sentence.lm, work.search.nodes[node].second, sentence.end_word)[0]
    add_move(work.search, sentence.limits, node, key_of(NONE, 0, 0), n + 1, 0.0, score, NONE)


@loop
def _finish(work: RuleWork) -> Hypotheses:
    """Ends the sentence after every hypothesis that has translated it; returns the search, perhaps in new arrays."""
    alive = survivors(work.search, work.sentence.limits, work.sentence.words)
    work = with_room_for(work, len(alive), 0)
    for node in alive:
        end_sentence(work, node)
    return work.search


@loop
def search(sentence: RuleSentence) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns the same as `hypotheses.finished`."""
    work = new_work(sentence)
    for level in range(sentence.words):
        for node in survivors(work.search, sentence.limits, level):
            work = _with_moves(work, node, level)
    return finished(_finish(work))


@inlined
def _with_moves(work: RuleWork, node: int, level: int) -> RuleWork:
    """The work, perhaps in new arrays, with the moves of a hypothesis of a level added."""
    sentence = work.sentence
    first, last = matches_of(sentence, reached(work, node))
    # Arrays grow rarely, because passing so many takes time.
    moves = sentence.label_offsets_M1[last] - sentence.label_offsets_M1[first]
    work = with_room_for(work, moves, 3 * moves)
    _extend(work, node, level)
    return work


@inner
def _extend(work: RuleWork, node: int, level: int) -> None:
    """Adds the moves of a hypothesis of a level that might fit into the beam."""
    work = lent(work)
    sentence, bars_L, before = work.sentence, work.search.bars_L, work.search.nodes[node]
    before_score, top = before.score, reached(work, node)
    glue = sentence.glue if top.glued else 0.0
    first, last = matches_of(sentence, top)
    for match in range(first, last):
        reaches, base = level + covered_by(sentence, match), base_of(work, top, match)
        for at in range(sentence.begin_M[match], sentence.end_M[match]):
            stack = opened(work, base, match, at)
            fixed, logprob, after = asked(work, before, top.parent, match, at, glue)
            score = sentence.static_T[at] + (fixed + sentence.lm_weight * logprob)
            if before_score + score + work.future_N[stack] >= bars_L[reaches]:
                add_translation(work, node, reaches, match, at, stack, (score, after))


# A search in arrays that grow.
Held = tuple[Hypotheses, Trie, Floats]


@loop
def begun(sentence: RuleSentence) -> Held:
    """A search with hypothesis number 0, which has translated nothing."""
    work = new_work(sentence)
    return work.search, work.trie, work.future_N


@loop
def extended(sentence: RuleSentence, held: Held, node: int, level: int) -> Held:
    """The search with all moves of one hypothesis of a level, for the readable search."""
    work = RuleWork(sentence, held[0], held[1], held[2])
    if level == sentence.words:
        work = with_room_for(work, 1, 0)
        end_sentence(work, node)
    else:
        work = _with_moves(work, node, level)
    return work.search, work.trie, work.future_N


@loop
def search_cubes(sentence: RuleSentence) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns the same as `hypotheses.finished`."""
    none, work, cubes = 0, new_work(sentence), no_cubes(sentence.words)
    for level in range(sentence.words):
        alive = survivors(work.search, sentence.limits, level)
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
        taken = 0
        while taken >= 0:
            work = with_room_for(work, STEPS, 4 * STEPS)
            cubes = cubes_with_room(cubes, none, none, 2 * STEPS)
            taken = _take_best(work, cubes, level + 1, taken)
    return finished(_finish(work))


@inner
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
    """Puts the first cell of a row into the heap, a corner by its estimate without a history; there must be room."""
    sentence, match, node = work.sentence, cubes.cubes[cube].edge, cubes.rows_R[row]
    cell = cubes.cells[cubes.sizes[2]]
    cell.cube, cell.row, cell.option = cube, row, sentence.begin_M[match]
    cell.base = work.search.nodes[node].score + _rest(work, node, match)
    if row == cubes.cubes[cube].begin:
        # Most corners never reach the top: the language model is queried when one does.
        backtrack = sentence.backtrack_M2[match, 1 if sentence.swapped_T[cell.option] else 0]
        cell.score, cell.lm_state = sentence.alone_T[cell.option] + backtrack, UNASKED
    else:
        cell.score, cell.lm_state = _scored(work, cubes, cell)
    if push_cell(cubes, cell.base + cell.score, work.search.bars_L[level]):
        _fetch_next(work, node, cell)


@inlined
def _rest(work: RuleWork, node: int, match: int) -> float:
    """The score of a match after a hypothesis for any translation, and the estimate of the spans left open."""
    sentence, top, gaps_M4 = work.sentence, reached(work, node), work.sentence.matches.gaps_M4
    rest = work.sentence.glue + sentence.suffix_n[sentence.matches.spans_M2[match, 1]] if top.glued else 0.0
    if not top.glued:
        rest = work.future_N[top.below]
    if gaps_M4[match, 0] != NO_GAP:
        rest += sentence.future_nn[gaps_M4[match, 0], gaps_M4[match, 1]]
    if gaps_M4[match, 2] != NO_GAP:
        rest += sentence.future_nn[gaps_M4[match, 2], gaps_M4[match, 3]]
    return float(rest)


@embedded
def _scored(work: RuleWork, cubes: Cubes, cell: Any) -> tuple[float, int]:
    """The score of a cell's translation except for glue, and the history after it."""
    node, match = cubes.rows_R[cell.row], cubes.cubes[cell.cube].edge
    parent = reached(work, node).parent
    fixed, logprob, after = asked(work, work.search.nodes[node], parent, match, cell.option, 0.0)
    return work.sentence.static_T[cell.option] + fixed + work.sentence.lm_weight * logprob, after


@embedded
def _fetch_next(work: RuleWork, node: int, cell: Any) -> None:
    """Prefetches the memory that the query after a cell reads first."""
    if cell.option + 1 < len(work.sentence.static_T):
        fetch_ahead(work.sentence.lm, work.sentence.phrases, cell.option + 1, work.search.nodes[node].second)


@inner
def _take_best(work: RuleWork, cubes: Cubes, level: int, taken: int) -> int:
    """Takes the best moves to a level in at most `STEPS` steps; returns how many were taken, -1 when none are left."""
    work, cubes = lent(work), lent(cubes)
    sentence, bars_L = work.sentence, work.search.bars_L
    for _ in range(STEPS):
        if taken == work.sentence.pop_limit or cubes.sizes[3] == 0 or cubes.estimates[0] < bars_L[level]:
            return NONE
        cell = cubes.cells[cubes.heap[0]]
        cube, row, at = cell.cube, cell.row, cell.option
        match, node = cubes.cubes[cube].edge, cubes.rows_R[row]
        if cell.lm_state == UNASKED:
            cell.score, cell.lm_state = _scored(work, cubes, cell)
            sift_down(cubes, cubes.heap[0], cell.base + cell.score)
            continue
        top = reached(work, node)
        stack = opened(work, base_of(work, top, match), match, at)
        score = cell.score + (work.sentence.glue if top.glued else 0.0)
        add_translation(work, node, level, match, at, stack, (score, cell.lm_state))
        taken += 1
        # There is only one way to each cell: along the first column to its row, then along the row.
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
