"""Stack search of the phrase decoder as loops over plain arrays; `xlate.models.phrase.moves` is its readable form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.lm.phrase_lm import PhrasesAlone, phrase_logprob
from xlate.kernels.memory.hashing import first_slot, pack
from xlate.kernels.memory.lent import lent
from xlate.kernels.memory.trie import ROOT, Trie, child, new_trie, room
from xlate.kernels.search.phrase_coverage import Coverages, expand_cover, is_covered, new_coverages
from xlate.kernels.search.phrase_hypotheses import (
    MEMO_SIZE,
    NONE,
    Limits,
    Search,
    Target,
    add_move,
    empty_search,
    survivors,
    with_room,
)
from xlate.kernels.search.phrase_orientation import OPEN, GroupScores, Placed, adjacent, group_score, place

NO_REORDERING, WORD_BASED, HIERARCHICAL, FIVE_WAY = 0, 1, 2, 3
LONGEST_SENTENCE = (1 << 15) - 2


class PhraseSentence(NamedTuple):
    """The options of a sentence of n words as in `xlate.models.phrase.options`, and the estimates of spans.

    `groups` is looked at only when `PhraseNumbers.groups` says so.
    """

    words: int
    longest: int
    cell_offsets_C1: NDArray[np.int64]
    static_O: NDArray[np.float64]
    alone_O: NDArray[np.float64]
    backward_OK: NDArray[np.float64]
    forward_O: NDArray[np.int32]
    phrases: PhrasesAlone
    future_nn: NDArray[np.float64]
    groups: GroupScores


class PhraseNumbers(NamedTuple):
    """Weights and search settings.

    `reordering` is one of the four above, `distortion_limit` -1 for none; `groups` and `bigrams`
    say whether there are sparse features of the group before a phrase, and of the word before it.
    """

    lm_weight: float
    distortion_weight: float
    forward_FK: NDArray[np.float64]
    reordering: int
    groups: bool
    bigrams: bool
    begin_state: int
    end_word: int
    limits: Limits
    log_early_threshold: float
    distortion_limit: int
    distortion_future: bool
    pop_limit: int


@njit(cache=True, nogil=True)
def search_phrases(
    lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Searches one sentence; returns nodes (`NODE`), arcs (`ARC`) and the number of the goal, -1 when there is none.

    Without `every_arc` only arcs that improved a hypothesis are kept, which is all the best path needs.
    """
    n, options = sentence.words, len(sentence.static_O)
    coverages, search, stacks = new_coverages(n, sentence.future_nn), empty_search(n), new_trie(64)
    add_root(search, coverages, numbers)
    for level in range(n):
        for node in survivors(search, level, numbers.limits.beam):
            cover = search.nodes[node].cover
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
            stacks = room(stacks, described.edges_end - described.edges_begin + options)
            _extend(lm, sentence, numbers, search, coverages, stacks, node)
    goal = finish(lm, search, numbers, n)
    return search.nodes[: search.counts[0]], search.arcs[: search.counts[1]], goal


@njit(cache=True, nogil=True, forceinline=True)
def add_root(search: Search, coverages: Coverages, numbers: PhraseNumbers) -> None:
    """The hypothesis that has translated nothing."""
    future = coverages.covers[0].future - numbers.distortion_weight * rest_distortion(coverages, numbers, 0, 0)
    target = Target(0, 0, NONE, 0, ROOT, 0, False, future)
    add_move(search, numbers.limits, target, NONE, 0, 0, ROOT, numbers.begin_state, 0.0, NONE)


@njit(cache=True, nogil=True, forceinline=True)
def finish(lm: NgramArrays, search: Search, numbers: PhraseNumbers, n: int) -> int:
    """Ends the sentence after every surviving hypothesis that covers it; returns the goal's number, or -1."""
    target = Target(NONE, n + 1, NONE, n + 1, ROOT, 0, True, 0.0)
    for node in survivors(search, n, numbers.limits.beam):
        search = with_room(search, 1)
        score = numbers.lm_weight * step(lm, search.nodes[node].lm_state, numbers.end_word)[0]
        add_move(search, numbers.limits, target, node, 0, 0, ROOT, 0, score, NONE)
    return int(search.heads_L[n + 1])


@njit(cache=True, inline="always")
def reaches(search: Search, numbers: PhraseNumbers, node: int, begin: int) -> bool:
    """Whether a span is near enough to the one before it."""
    return numbers.distortion_limit < 0 or abs(begin - search.nodes[node].end) <= numbers.distortion_limit


@njit(cache=True, nogil=True, forceinline=True)
def rest_distortion(coverages: Coverages, numbers: PhraseNumbers, cover: int, end: int) -> float:
    """The distortion of filling the gaps from left to right; 0 when it is not to be estimated."""
    described = coverages.covers[cover]
    if not numbers.distortion_future:
        return 0.0
    return float(abs(described.gap - end) + described.between)


@njit(cache=True, nogil=True, forceinline=True)
def orient(
    search: Search, numbers: PhraseNumbers, coverages: Coverages, stacks: Trie, node: int, begin: int, end: int
) -> Placed:
    """Orientations of a span after a hypothesis, and the stack behind it; see `PhraseMoves`."""
    before = search.nodes[node]
    if numbers.reordering < HIERARCHICAL:
        backward = adjacent(before.start, before.end, begin, end)
        return Placed(backward, backward, ROOT, 0, NONE, 0, 0)
    five = numbers.reordering == FIVE_WAY
    return place(coverages, stacks, before.cover, before.start, before.end, before.stack, begin, end, five)


@njit(cache=True, nogil=True, forceinline=True)
def target_of(numbers: PhraseNumbers, coverages: Coverages, words: int, edge: Any, stack: int, first: int) -> Target:
    """What moves along an edge have in common."""
    cover, begin = edge.cover, edge.begin
    described = coverages.covers[cover]
    if described.level == words:
        return Target(cover, words, NONE, words, ROOT, 0, True, 0.0)
    future = described.future - numbers.distortion_weight * rest_distortion(coverages, numbers, cover, edge.end)
    if numbers.reordering == NO_REORDERING or begin == 0 or is_covered(coverages, cover, begin - 1):
        begin = NONE
    return Target(cover, described.level, begin, edge.end, stack, first, False, future)


@njit(cache=True, nogil=True)
def _extend(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Search,
    coverages: Coverages,
    stacks: Trie,
    node: int,
) -> None:
    """Adds the moves of one hypothesis that the beam may have a place for."""
    lm, sentence, numbers, search = lent(lm), lent(sentence), lent(numbers), lent(search)
    coverages, stacks = lent(coverages), lent(stacks)
    before_score, lm_state = search.nodes[node].score, search.nodes[node].lm_state
    described = coverages.covers[search.nodes[node].cover]
    for e in range(described.edges_begin, described.edges_end):
        edge = coverages.edges[e]
        if not reaches(search, numbers, node, edge.begin):
            continue
        placed = orient(search, numbers, coverages, stacks, node, edge.begin, edge.end)
        target = target_of(numbers, coverages, sentence.words, edge, placed.stack, placed.first)
        fixed = fixed_score(search, numbers, sentence.groups, node, edge.begin, edge.end, placed)
        rest, bars_L = before_score + fixed + target.future, search.bars_L
        for option in range(sentence.cell_offsets_C1[edge.cell], sentence.cell_offsets_C1[edge.cell + 1]):
            local = local_score(sentence, numbers, search.nodes[node].last, option, placed.backward)
            if rest + sentence.alone_O[option] + local < bars_L[target.level] + numbers.log_early_threshold:
                continue
            logprob, after = ask(lm, sentence, search.memo, lm_state, option)
            score = sentence.static_O[option] + local + (fixed + numbers.lm_weight * logprob)
            if before_score + score + target.future >= bars_L[target.level]:
                add_option(sentence, numbers, search, stacks, target, node, option, after, score)


@njit(cache=True, inline="always")
def fixed_score(
    search: Search, numbers: PhraseNumbers, groups: GroupScores, node: int, begin: int, end: int, placed: Placed
) -> float:
    """What a move scores whatever the option: the jump, the orientation of the phrase before, the group before it."""
    before = search.nodes[node]
    jump = numbers.distortion_weight * abs(begin - before.end)
    score = numbers.forward_FK[before.forward, placed.forward] - jump
    return float(score + group_score(groups, placed, before.last, begin, end) if numbers.groups else score)


@njit(cache=True, inline="always")
def local_score(sentence: PhraseSentence, numbers: PhraseNumbers, last: int, option: int, backward: int) -> float:
    """What an option scores by its orientation and by the word before it."""
    score = sentence.backward_OK[option, backward]
    if numbers.bigrams:
        score += sentence.groups.bigrams_RR[last, sentence.groups.first_O[option]]
    return float(score)


@njit(cache=True, inline="always")
def ask(lm: NgramArrays, sentence: PhraseSentence, memo: NDArray[Any], lm_state: int, option: int) -> tuple[float, int]:
    """The log probability of an option's words after a history, and the history behind them."""
    key = pack(lm_state, option)
    known = memo[first_slot(key, np.uint64(MEMO_SIZE - 1))]
    if known.key != key:
        known.key = key
        known.logprob, known.after = phrase_logprob(lm, sentence.phrases, option, lm_state)
    return known.logprob, known.after


@njit(cache=True, nogil=True, forceinline=True)
def add_option(
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Search,
    stacks: Trie,
    target: Target,
    parent: int,
    option: int,
    lm_state: int,
    score: float,
) -> None:
    """Adds the move that places an option; there must be room in `search` and `stacks`."""
    last, stack = 0, target.stack
    if not target.complete:
        if numbers.groups or numbers.bigrams:
            last = sentence.groups.last_O[option]
        if numbers.reordering >= HIERARCHICAL:
            first = max(target.first, 0)
            if numbers.groups and target.first == OPEN:
                first = sentence.groups.first_O[option]
            stack = child(stacks, stack, first)
    add_move(search, numbers.limits, target, parent, sentence.forward_O[option], last, stack, lm_state, score, option)
