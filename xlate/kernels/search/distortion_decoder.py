"""Moves of the phrase-distortion decoder, and their beam search, as loops over plain arrays."""

from __future__ import annotations

from typing import NamedTuple

from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.compiled import embedded, inlined, inner, lent, loop
from xlate.kernels.features.blocks import bigrams_weight
from xlate.kernels.lm import step
from xlate.kernels.search.block_decoder import Held, ModelArrays, ask_costs, begun
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
    survivors,
    with_room,
)

WIDEST_WINDOW = 48
# The mark that replaces a coverage in the state after the end of the sentence.
END = -1


class JumpSentence(NamedTuple):
    """The options of a sentence of n words as in `xlate.models.distortion.JumpOptions`, and the estimates of spans.

    `context_O` is the block that represents an option in the sparse features of the next one.
    `jump_1n[e, s]` is the weighted cost of continuing at s when the last block ended before e (0: none yet).
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


class Task(NamedTuple):
    """What the search of one sentence reads; `end_word` is negative when the end of the sentence costs nothing."""

    model: ModelArrays
    sentence: JumpSentence
    limits: Limits
    first_weight: float
    rest_weight: float
    max_skips: int
    window: int
    end_word: int


@loop
def search(task: Task) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns the same as `hypotheses.finished`.

    A key consists of the coverage; the block that represents the last one in sparse features, with the history; and the
    end of the last block.
    """
    (found,) = begun(task)
    for level in range(task.sentence.words + 1):
        for node in survivors(found, task.limits, level):
            found = _moved(task, found, node, level)
    return finished(found)


@loop
def extended(task: Task, held: Held, node: int, level: int) -> Held:
    """The search with the moves of one hypothesis of a level."""
    return (_moved(task, held[0], node, level),)


@embedded
def _moved(task: Task, search: Hypotheses, node: int, level: int) -> Hypotheses:
    """The search with the moves of one hypothesis of a level.

    A block may cover any uncovered span such that, afterwards, the rightmost covered word is less than `window` after
    the first uncovered one and at most `max_skips` maximal intervals before it are uncovered (A10).
    """
    sentence, n = task.sentence, task.sentence.words
    search = with_room(search, len(sentence.block_O) + 1)
    first, mask = uncover(search.nodes[node].first)
    for start in range(first, min(n, first + task.window)):
        for end in range(start + 1, min(n, start + sentence.longest) + 1):
            if (mask >> (end - 1 - first)) & 1:
                break
            if allowed(cover(first, mask, start, end)[1], task.max_skips, task.window):
                _expand(task, search, node, level, start, end)
    if level == n:
        score = 0.0
        if task.end_word >= 0:
            score = -task.first_weight * step(task.model.lm, low(search.nodes[node].second), task.end_word)[0]
        add_move(search, task.limits, node, key_of(END, 0, 0), n + 1, 0.0, score, NONE)
    return search


@inlined
def uncover(coverage: int) -> tuple[int, int]:
    """The first uncovered word, and which of those after it are covered: bit k is the k-th after it."""
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
    """Whether at most `max_skips` source intervals are skipped, within the window from the first skipped word."""
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
def _expand(task: Task, search: Hypotheses, node: int, level: int, start: int, end: int) -> None:
    """Adds a move of a hypothesis of a level for every option of one span; there must be room."""
    task, search = lent(task), lent(search)
    model, sentence = task.model, task.sentence
    before = search.nodes[node]
    context, lm_state, jump = high(before.second), low(before.second), sentence.jump_1n[before.third, start]
    first, mask = uncover(before.first)
    first, mask = cover(first, mask, start, end)
    covered = (first << WIDEST_WINDOW) | mask
    future = rest_estimate(first, mask, sentence.words, sentence.future_nn)
    phrases, offsets_O1 = sentence.phrase_words_W, sentence.phrase_offsets_O1
    cell = start * sentence.longest + end - start - 1
    for option in range(sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]):
        said = ask_costs(model.lm, search.memo, phrases, offsets_O1, option, lm_state)
        score = sentence.static_O[option] + jump
        score += task.first_weight * said.first + task.rest_weight * said.rest
        block = sentence.block_O[option]
        if context >= 0 and block >= 0:
            score += bigrams_weight(model.features, model.feature_weights_F, context, block)
        key = key_of(covered, join(sentence.context_O[option], said.after), end)
        add_move(search, task.limits, node, key, level + end - start, future, score, option)


@inner
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
