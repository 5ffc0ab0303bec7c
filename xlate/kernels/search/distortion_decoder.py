"""Beam search of the phrase-distortion decoder; `xlate.models.distortion.moves` is its readable form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.compiled import inlined, lent, loop
from xlate.kernels.features.block_features import bigrams_weight
from xlate.kernels.lm.ngram import step
from xlate.kernels.lm.phrase_lm import MEMO_SIZE, emptied
from xlate.kernels.search.block_decoder import COSTS, ModelArrays, ask_costs
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

WIDEST_WINDOW = 48
# The mark of the state behind the end of the sentence, where a coverage stands.
END = -1


class JumpSentence(NamedTuple):
    """The options of a sentence of n words as in `xlate.models.distortion.options`, and the estimates of spans.

    `context_O` stands for an option's block in the sparse features of the next one.
    `jump_1n[e, s]` is the weighted cost of going on at s when the last block ended before e (0: none yet).
    """

    words: int
    longest: int
    cell_offsets_C1: Ints
    block_O: Ints32
    context_O: Ints32
    static_O: Floats
    phrase_offsets_O1: Ints
    phrase_words_W: Ints32
    jump_1n: Floats
    future_nn: Floats


class JumpNumbers(NamedTuple):
    """Language-model weights and search settings; `end_word` is negative when the end of the sentence costs nothing."""

    first_weight: float
    rest_weight: float
    max_skips: int
    window: int
    limits: Limits
    end_word: int


@loop
def search_jumps(model: ModelArrays, sentence: JumpSentence, numbers: JumpNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does.

    A key is the coverage, the block that stands for the last one in sparse features with the history, and the end of
    the last block.
    """
    n, limits = sentence.words, numbers.limits
    search = no_hypotheses(n + 2, emptied(np.empty(MEMO_SIZE, dtype=COSTS)))
    begin = key_of(0, join(NONE, model.begin_state), 0)
    add_move(search, limits, NONE, begin, 0, rest_estimate(0, 0, n, sentence.future_nn), 0.0, NONE)
    most = len(sentence.block_O) + 1
    for level in range(n):
        for node in survivors(search, limits, level):
            search = with_room(search, most)
            first, mask = uncover(search.nodes[node].first)
            for start in range(first, min(n, first + numbers.window)):
                for end in range(start + 1, min(n, start + sentence.longest) + 1):
                    if (mask >> (end - 1 - first)) & 1:
                        break
                    if allowed(cover(first, mask, start, end)[1], numbers.max_skips, numbers.window):
                        _expand(model, sentence, numbers, search, node, start, end, level + end - start)
    for node in survivors(search, limits, n):
        search = with_room(search, most)
        score = 0.0
        if numbers.end_word >= 0:
            score = -numbers.first_weight * step(model.lm, low(search.nodes[node].second), numbers.end_word)[0]
        add_move(search, limits, node, key_of(END, 0, 0), n + 1, 0.0, score, NONE)
    return finished(search)


@inlined
def uncover(coverage: int) -> tuple[int, int]:
    """The first uncovered word and which of those behind it are covered, bit k the k-th behind it."""
    return coverage >> WIDEST_WINDOW, coverage & ((1 << WIDEST_WINDOW) - 1)


@inlined
def cover(first: int, mask: int, start: int, end: int) -> tuple[int, int]:
    """First uncovered word and mask after covering [start, end)."""
    mask |= ((1 << (end - start)) - 1) << (start - first)
    while mask & 1:
        mask >>= 1
        first += 1
    return first, mask


@inlined
def allowed(mask: int, max_skips: int, window: int) -> bool:
    """Whether at most so many source intervals are skipped, within the window from the first skipped word."""
    if mask == 0:
        return True
    if mask >> window:
        return False
    skips, before = 0, True
    while mask:
        covered = (mask & 1) == 1
        if before and not covered:
            skips += 1
        before = covered
        mask >>= 1
    return skips <= max_skips


@loop
def _expand(
    model: ModelArrays,
    sentence: JumpSentence,
    numbers: JumpNumbers,
    search: Hypotheses,
    node: int,
    start: int,
    end: int,
    level: int,
) -> None:
    """Adds a move for every option of one span; there must be room."""
    model, sentence, numbers, search = lent(model), lent(sentence), lent(numbers), lent(search)
    before = search.nodes[node]
    context, lm_state, jump = high(before.second), low(before.second), sentence.jump_1n[before.third, start]
    first, mask = uncover(before.first)
    first, mask = cover(first, mask, start, end)
    covered, future = (first << WIDEST_WINDOW) | mask, rest_estimate(first, mask, sentence.words, sentence.future_nn)
    phrases, offsets_O1 = sentence.phrase_words_W, sentence.phrase_offsets_O1
    cell = start * sentence.longest + end - start - 1
    for option in range(sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]):
        said = ask_costs(model.lm, search.memo, phrases, offsets_O1, option, lm_state)
        score = sentence.static_O[option] + jump
        score += numbers.first_weight * said.first + numbers.rest_weight * said.rest
        block = sentence.block_O[option]
        if context >= 0 and block >= 0:
            score += bigrams_weight(model.features, model.feature_weights_F, context, block)
        key = key_of(covered, join(sentence.context_O[option], said.after), end)
        add_move(search, numbers.limits, node, key, level, future, score, option)


@loop
def rest_estimate(first: int, mask: int, n: int, future_nn: Floats) -> float:
    """The estimates of all uncovered intervals together."""
    if first >= n:
        return 0.0
    total = 0.0
    at = first
    while mask:
        begin = at
        while not mask & 1:
            mask >>= 1
            at += 1
        total += future_nn[begin, at]
        while mask & 1:
            mask >>= 1
            at += 1
    return total + float(future_nn[at, n])
