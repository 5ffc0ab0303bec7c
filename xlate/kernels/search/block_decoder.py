"""Moves of the block decoder, and their beam search, as loops over plain arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Bools, Floats, Ints, Ints32
from xlate.compiled import inlined, lent, loop
from xlate.kernels.features.blocks import BigramFamilies, bigrams_weight
from xlate.kernels.learning.slopes import log_sum_exp
from xlate.kernels.lm import MEMO_SIZE, NgramArrays, remembered, step
from xlate.kernels.pairs import LEFT, NEUTRAL, RIGHT
from xlate.kernels.search.hypotheses import (
    NONE,
    Hypotheses,
    Limits,
    add_move,
    finished,
    high,
    join,
    key_of,
    low,
    no_hypotheses,
    survivors,
    with_room,
)
from xlate.kernels.search.spans import phrase_costs

GAP_BITS = 20
LONGEST_SENTENCE = (1 << GAP_BITS) - 2


@inlined
def cover_of(frontier: int, gap_start: int, gap_end: int, adjacent: bool) -> int:
    """What is covered, as one number.

    Source words before the frontier are, but for the gap (0, 0 when there is none). `adjacent`: the last block ends at
    the frontier, so that the next one there is its right neighbour. Behind the end the frontier is n + 1.
    """
    return (((frontier << GAP_BITS) | gap_start) << (GAP_BITS + 1)) | (gap_end << 1) | (1 if adjacent else 0)


@inlined
def parts_of(cover: int) -> tuple[int, int, int, bool]:
    """The inverse of `cover_of`."""
    low = (1 << GAP_BITS) - 1
    return cover >> (2 * GAP_BITS + 1), (cover >> (GAP_BITS + 1)) & low, (cover >> 1) & low, cover & 1 == 1


@inlined
def cover_after(cover: int, begin: int, end: int, orientation: int) -> int:
    """What is covered with one more span."""
    frontier = cover >> (2 * GAP_BITS + 1)
    if orientation == LEFT:
        return cover_of(frontier, 0, 0, False)
    if begin > frontier:
        return cover_of(end, frontier, begin, False)
    return cover_of(end, 0, 0, True)


@loop
def level_and_future(cover: int, n: int, future_nn: Floats) -> tuple[int, float]:
    """How many words are covered (one more at the end), and the estimate of the gap and of what is behind."""
    frontier, gap_start, gap_end, _ = parts_of(cover)
    if frontier > n:
        return frontier, 0.0
    return frontier - (gap_end - gap_start), future_nn[gap_start, gap_end] + future_nn[frontier, n]


@loop
def next_spans(cover: int, n: int, longest: int, fillable_C: Bools, swaps: bool, spans_X3: Ints) -> int:
    """Writes the spans that may be translated next, with their orientations.

    From frontier i a block may cover [i, k): orientation R when the last block ended at i, else N. With swaps a block
    may also cover [j, k) with j > i, orientation N; then exactly one block fills the gap [i, j), orientation L, and
    the block after that starts at k with orientation N (TZ07 Figure 1: N, L, N, R).
    """
    frontier, gap_start, gap_end, adjacent = parts_of(cover)
    if gap_end > 0:
        spans_X3[0, 0], spans_X3[0, 1], spans_X3[0, 2] = gap_start, gap_end, LEFT
        return 1
    size = 0
    for end in range(frontier + 1, min(n, frontier + longest) + 1):
        spans_X3[size, 0], spans_X3[size, 1], spans_X3[size, 2] = frontier, end, RIGHT if adjacent else NEUTRAL
        size += 1
    if swaps:
        for begin in range(frontier + 1, min(n - 1, frontier + longest) + 1):
            if fillable_C[frontier * longest + begin - frontier - 1]:
                for end in range(begin + 1, min(n, begin + longest) + 1):
                    spans_X3[size, 0], spans_X3[size, 1], spans_X3[size, 2] = begin, end, NEUTRAL
                    size += 1
    return size


# An entry of the memo: the costs of the first word of an option and of the rest, and the history behind it.
COSTS = np.dtype([("key", np.uint64), ("first", np.float64), ("rest", np.float64), ("after", np.int64)])


class ModelArrays(NamedTuple):
    """What stays the same from sentence to sentence."""

    lm: NgramArrays
    begin_state: int
    features: BigramFamilies
    feature_weights_F: Floats


@inlined
def ask_costs(lm: NgramArrays, memo: AnyArray, words_W: Ints32, offsets_O1: Ints, option: int, lm_state: int) -> Any:
    """A record of what `phrase_costs` gives: `first`, `rest` and `after`."""
    said, known = remembered(memo, lm_state, option)
    if not known:
        said.first, said.rest, said.after = phrase_costs(lm, words_W, offsets_O1, option, lm_state)
    return said


NO_MOVE = -2


class SentenceArrays(NamedTuple):
    """The options of n words as `xlate.models.block.moves.SentenceOptions` has them, and the estimates of spans.

    `context_O` stands for an option's block in the sparse features of the next one.
    """

    words: int
    longest: int
    cell_offsets_C1: Ints
    block_O: Ints32
    context_O: Ints32
    left_O: Bools
    static_O3: Floats
    phrase_offsets_O1: Ints
    phrase_words_W: Ints32
    future_nn: Floats


class SearchNumbers(NamedTuple):
    """Language model weights by orientation (first word, rest), and the search settings.

    `end_word` is negative when the end of the sentence costs nothing.
    """

    lm_weights_32: Floats
    swaps: bool
    local: bool
    end_word: int


class Workspace(NamedTuple):
    """What is written for one hypothesis or one sentence and needs no growth.

    `spans_X3` holds the spans (begin, end, orientation) a hypothesis may translate next. The moves of one span lie at
    the numbers of its options (one more place is for moves without option): step scores, histories and bigram contexts
    behind them, and labels, `NO_MOVE` where an option may not be used. `fillable_C` says whether a cell has an
    option that may be generated to the left.
    """

    spans_X3: Ints
    scores_O1: Floats
    lm_states_O1: Ints
    contexts_O1: Ints
    labels_O1: Ints
    fillable_C: Bools


class Task(NamedTuple):
    """What a search of one sentence reads, and where it writes."""

    model: ModelArrays
    sentence: SentenceArrays
    numbers: SearchNumbers
    work: Workspace


@loop
def search(task: Task, limits: Limits) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    found = begun(task)
    for level in range(task.sentence.words + 1):
        for node in survivors(found, limits, level):
            found = extended(task, limits, found, node)
    return finished(found)


@loop
def begun(task: Task) -> Hypotheses:
    """A search with the hypothesis that has translated nothing, number 0."""
    search = no_hypotheses(task.sentence.words + 2, np.empty(MEMO_SIZE, dtype=COSTS))
    cover = cover_of(0, 0, 0, False)
    future = level_and_future(cover, task.sentence.words, task.sentence.future_nn)[1]
    key = key_of(cover, join(NONE, task.model.begin_state), 0)
    add_move(search, Limits(0, 0, -np.inf, True), NONE, key, 0, future, 0.0, NONE)
    return search


@loop
def extended(task: Task, limits: Limits, search: Hypotheses, node: int) -> Hypotheses:
    """The search with the moves of one hypothesis."""
    sentence, numbers, work = task.sentence, task.numbers, task.work
    n, extra = sentence.words, len(sentence.block_O)
    search = with_room(search, extra + 1)
    cover = search.nodes[node].first
    for x in range(next_spans(cover, n, sentence.longest, work.fillable_C, numbers.swaps, work.spans_X3)):
        begin, end, orientation = work.spans_X3[x, 0], work.spans_X3[x, 1], work.spans_X3[x, 2]
        cell = begin * sentence.longest + end - begin - 1
        first, last = sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]
        if first < last:
            _score_moves(task, search, node, orientation, (first, last))
            _add_moves(search, sentence, work, limits, node, cover_after(cover, begin, end, orientation), first, last)
    if level_and_future(cover, n, sentence.future_nn)[0] == n:
        work.scores_O1[extra], work.lm_states_O1[extra] = 0.0, 0
        if numbers.end_word >= 0:
            cost = -step(task.model.lm, low(search.nodes[node].second), numbers.end_word)[0]
            work.scores_O1[extra] = numbers.lm_weights_32[RIGHT, 0] * cost
        _add_moves(search, sentence, work, limits, node, cover_of(n + 1, 0, 0, False), extra, extra + 1)
    return search


@loop
def workspace(sentence: SentenceArrays) -> Workspace:
    """Room for what is written while a sentence is searched."""
    options, cells = len(sentence.block_O), len(sentence.cell_offsets_C1) - 1
    fillable_C = np.zeros(cells, dtype=np.bool_)
    for cell in range(cells):
        for option in range(sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]):
            fillable_C[cell] |= sentence.left_O[option]
    return Workspace(
        np.empty((sentence.longest * (sentence.longest + 1), 3), dtype=np.int64),
        np.empty(options + 1, dtype=np.float64),
        np.empty(options + 1, dtype=np.int64),
        np.full(options + 1, NONE, dtype=np.int64),
        np.full(options + 1, NONE, dtype=np.int64),
        fillable_C,
    )


@loop
def _score_moves(task: Task, search: Hypotheses, node: int, orientation: int, options: tuple[int, int]) -> None:
    """Writes the moves of one hypothesis over the options of one span, first and last."""
    first, last = options
    task, search = lent(task), lent(search)
    model, sentence, numbers, work = task.model, task.sentence, task.numbers, task.work
    scores_O1, static_O3 = work.scores_O1, sentence.static_O3
    phrases, offsets_O1 = sentence.phrase_words_W, sentence.phrase_offsets_O1
    context, lm_state = high(search.nodes[node].second), low(search.nodes[node].second)
    first_weight, rest_weight = numbers.lm_weights_32[orientation, 0], numbers.lm_weights_32[orientation, 1]
    for option in range(first, last):
        said = ask_costs(model.lm, search.memo, phrases, offsets_O1, option, lm_state)
        score = static_O3[option, orientation] + first_weight * said.first + rest_weight * said.rest
        block = sentence.block_O[option]
        if orientation != NEUTRAL and context >= 0 and block >= 0:
            score += bigrams_weight(model.features, model.feature_weights_F, context, block)
        scores_O1[option] = score
        work.lm_states_O1[option] = said.after
        work.contexts_O1[option] = sentence.context_O[option] if orientation != LEFT else NONE
        work.labels_O1[option] = option * 3 + orientation if orientation != LEFT or sentence.left_O[option] else NO_MOVE
    if numbers.local:
        normalizer = log_sum_exp(scores_O1, first, last)
        for option in range(first, last):
            scores_O1[option] -= normalizer


@loop
def _add_moves(
    search: Hypotheses,
    sentence: SentenceArrays,
    work: Workspace,
    limits: Limits,
    parent: int,
    cover: int,
    first: int,
    last: int,
) -> None:
    """Adds moves to what `cover` says; there must be room."""
    search, sentence, work = lent(search), lent(sentence), lent(work)
    level, future = level_and_future(cover, sentence.words, sentence.future_nn)
    for move in range(first, last):
        label = work.labels_O1[move]
        if label != NO_MOVE:
            key = key_of(cover, join(work.contexts_O1[move], work.lm_states_O1[move]), 0)
            add_move(search, limits, parent, key, level, future, work.scores_O1[move], label)
