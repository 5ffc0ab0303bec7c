"""Moves of the block decoder, and their beam search, as loops over plain arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Bools, Floats, Ints, Ints32
from xlate.compiled import embedded, inlined, inner, lent, loop
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
    """The coverage as one number.

    Source words before the frontier are covered, except for the gap (0, 0 when there is none). `adjacent`: the last
    block ends at the frontier, so the next one there is its right neighbour. After the end the frontier is n + 1.
    """
    return (((frontier << GAP_BITS) | gap_start) << (GAP_BITS + 1)) | (gap_end << 1) | (1 if adjacent else 0)


@inlined
def parts_of(cover: int) -> tuple[int, int, int, bool]:
    """The inverse of `cover_of`."""
    low = (1 << GAP_BITS) - 1
    return cover >> (2 * GAP_BITS + 1), (cover >> (GAP_BITS + 1)) & low, (cover >> 1) & low, cover & 1 == 1


@inlined
def cover_after(cover: int, begin: int, end: int, orientation: int) -> int:
    """The coverage with one more span."""
    frontier = cover >> (2 * GAP_BITS + 1)
    if orientation == LEFT:
        return cover_of(frontier, 0, 0, False)
    if begin > frontier:
        return cover_of(end, frontier, begin, False)
    return cover_of(end, 0, 0, True)


@inner
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


# An entry of the memo: the costs of the first word of an option and of the rest, and the history after it.
COSTS = np.dtype([("key", np.uint64), ("first", np.float64), ("rest", np.float64), ("after", np.int64)])


class ModelArrays(NamedTuple):
    """What does not change from sentence to sentence."""

    lm: NgramArrays
    begin_state: int
    features: BigramFamilies
    feature_weights_F: Floats


@inlined
def ask_costs(lm: NgramArrays, memo: AnyArray, words_W: Ints32, offsets_O1: Ints, option: int, lm_state: int) -> Any:
    """A record of the results of `phrase_costs`: `first`, `rest` and `after`."""
    said, known = remembered(memo, lm_state, option)
    if not known:
        said.first, said.rest, said.after = phrase_costs(lm, words_W, offsets_O1, option, lm_state)
    return said


class SentenceArrays(NamedTuple):
    """The options of n words as in `xlate.models.block.moves.SentenceOptions`, and the estimates of spans.

    `context_O` is the block that represents an option in the sparse features of the next one.
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


class Task(NamedTuple):
    """What the search of one sentence reads, and where it writes.

    `lm_weights_32` are language model weights by orientation (first word, rest); `end_word` is negative when the end of
    the sentence costs nothing. The others come from `workspace`: `spans_X3` holds the spans (begin, end, orientation)
    that a hypothesis may translate next; `score_O` and `lm_state_O` are for the scores of its moves over one span and
    the histories after them; `fillable_C` says whether a cell has an option that may be generated to the left.
    """

    model: ModelArrays
    sentence: SentenceArrays
    limits: Limits
    lm_weights_32: Floats
    swaps: bool
    local: bool
    end_word: int
    spans_X3: Ints
    score_O: Floats
    lm_state_O: Ints
    fillable_C: Bools


# A search in arrays that grow.
Held = tuple[Hypotheses]


@loop
def search(task: Task) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns the same as `hypotheses.finished`."""
    (found,) = begun(task)
    for level in range(task.sentence.words + 1):
        for node in survivors(found, task.limits, level):
            found = _moved(task, found, node, level)
    return finished(found)


@loop
def begun(task: Any) -> Held:
    """A search of any model over blocks with hypothesis number 0, which has translated nothing: its coverage is 0."""
    n, future_nn = task.sentence.words, task.sentence.future_nn
    search = no_hypotheses(n + 2, np.empty(MEMO_SIZE, COSTS))
    key = key_of(0, join(NONE, task.model.begin_state), 0)
    add_move(search, task.limits, NONE, key, 0, future_nn[0, n], 0.0, NONE)
    return (search,)


@loop
def extended(task: Task, held: Held, node: int, level: int) -> Held:
    """The search with the moves of one hypothesis of a level."""
    return (_moved(task, held[0], node, level),)


@embedded
def _moved(task: Task, search: Hypotheses, node: int, level: int) -> Hypotheses:
    """The search with the moves of one hypothesis of a level."""
    sentence, spans_X3 = task.sentence, task.spans_X3
    n = sentence.words
    search = with_room(search, len(sentence.block_O) + 1)
    cover = search.nodes[node].first
    for x in range(next_spans(cover, n, sentence.longest, task.fillable_C, task.swaps, spans_X3)):
        begin, end, orientation = spans_X3[x, 0], spans_X3[x, 1], spans_X3[x, 2]
        cell = begin * sentence.longest + end - begin - 1
        first, last = sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]
        if first < last:
            after = cover_after(cover, begin, end, orientation), level + end - begin
            _extend(task, search, node, after, orientation, (first, last))
    if level == n:
        score = 0.0
        if task.end_word >= 0:
            score = (
                -task.lm_weights_32[RIGHT, 0] * step(task.model.lm, low(search.nodes[node].second), task.end_word)[0]
            )
        key = key_of(cover_of(n + 1, 0, 0, False), join(NONE, 0), 0)
        add_move(search, task.limits, node, key, n + 1, 0.0, score, NONE)
    return search


@loop
def workspace(sentence: SentenceArrays) -> tuple[Ints, Floats, Ints, Bools]:
    """Room for what the search of a sentence writes; see `Task`."""
    options, cells = len(sentence.block_O), len(sentence.cell_offsets_C1) - 1
    fillable_C = np.zeros(cells, dtype=np.bool_)
    for cell in range(cells):
        for option in range(sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]):
            fillable_C[cell] |= sentence.left_O[option]
    spans_X3 = np.empty((sentence.longest * (sentence.longest + 1), 3), dtype=np.int64)
    return spans_X3, np.empty(options), np.empty(options, dtype=np.int64), fillable_C


@inner
def _extend(
    task: Task, search: Hypotheses, node: int, after: tuple[int, int], orientation: int, options: tuple[int, int]
) -> None:
    """Adds the moves to a cover and a level by the options of one span, first and last; there must be room."""
    task, search, (first, last), (cover, level) = lent(task), lent(search), options, after
    model, sentence, score_O, lm_state_O = task.model, task.sentence, task.score_O, task.lm_state_O
    phrases, offsets_O1 = sentence.phrase_words_W, sentence.phrase_offsets_O1
    context, lm_state = high(search.nodes[node].second), low(search.nodes[node].second)
    first_weight, rest_weight = task.lm_weights_32[orientation, 0], task.lm_weights_32[orientation, 1]
    for option in range(first, last):
        said = ask_costs(model.lm, search.memo, phrases, offsets_O1, option, lm_state)
        score = sentence.static_O3[option, orientation] + first_weight * said.first + rest_weight * said.rest
        block = sentence.block_O[option]
        if orientation != NEUTRAL and context >= 0 and block >= 0:
            score += bigrams_weight(model.features, model.feature_weights_F, context, block)
        score_O[option], lm_state_O[option] = score, said.after
    normalizer = log_sum_exp(score_O, first, last) if task.local else 0.0
    frontier, gap_start, gap_end, _ = parts_of(cover)
    future = sentence.future_nn[gap_start, gap_end] + sentence.future_nn[frontier, sentence.words]
    for option in range(first, last):
        if orientation != LEFT or sentence.left_O[option]:
            behind = sentence.context_O[option] if orientation != LEFT else NONE
            key = key_of(cover, join(behind, lm_state_O[option]), 0)
            score, label = score_O[option] - normalizer, option * 3 + orientation
            add_move(search, task.limits, node, key, level, future, score, label)
