"""Moves of the phrase decoder, for stack search and cube pruning: what they score and where they lead."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.compiled import embedded, inlined, loop
from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.lm.phrase_lm import MEMO_SIZE, SAID, PhrasesAlone, emptied, phrase_logprob, remembered
from xlate.kernels.memory.hashing import whole
from xlate.kernels.memory.trie import ROOT, Trie, child
from xlate.kernels.search.hypotheses import (
    NONE,
    Hypotheses,
    Key,
    Limits,
    add_move,
    high,
    join,
    key_of,
    low,
    no_hypotheses,
    survivors,
    with_room,
)
from xlate.kernels.search.phrase_coverage import Coverages, is_covered
from xlate.kernels.search.phrase_orientation import OPEN, GroupScores, Placed, adjacent, group_score, place

NO_REORDERING, WORD_BASED, HIERARCHICAL, FIVE_WAY = 0, 1, 2, 3
PLACE_BITS = 16
PLACE = (1 << PLACE_BITS) - 1
LONGEST_SENTENCE = (1 << (PLACE_BITS - 1)) - 2


class PhraseSentence(NamedTuple):
    """The options of a sentence of n words as in `xlate.models.phrase.options`, and the estimates of spans.

    `groups` is looked at only when `PhraseNumbers.groups` says so. `place_OR` is what options score where they are put,
    from `reach` words before to `reach` words behind; of no columns when that does not matter.
    """

    words: int
    longest: int
    cell_offsets_C1: Ints
    static_O: Floats
    alone_O: Floats
    backward_OK: Floats
    forward_O: Ints32
    phrases: PhrasesAlone
    place_OR: Floats
    future_nn: Floats
    groups: GroupScores


class PhraseNumbers(NamedTuple):
    """Weights and search settings.

    `reordering` is one of the four above, `distortion_limit` -1 for none; `groups` and `bigrams`
    say whether there are sparse features of the group before a phrase, and of the word before it.
    """

    lm_weight: float
    distortion_weight: float
    forward_FK: Floats
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


class Target(NamedTuple):
    """Where moves over one span from one hypothesis lead to: the state but for the option, and the estimate.

    `first` is the kind of the first word of the group on top of the stack, `OPEN` when the option's own word is it.
    """

    cover: int
    level: int
    start: int
    end: int
    stack: int
    first: int
    complete: bool
    future: float


@inlined
def state_key(target: Target, lm_state: int, forward: int, stack: int, last: int) -> Key:
    """The key of a state of `PhraseMoves`: coverage and last span; history and forward scores; stack and last word."""
    span = ((target.start + 1) << PLACE_BITS) | target.end
    return key_of(join(target.cover, span), join(lm_state, forward), join(stack, last))


@inlined
def cover_of(node: Any) -> int:
    """The number of what a hypothesis covers."""
    return high(node.first)


@inlined
def start_of(node: Any) -> int:
    """Where the last span of a hypothesis begins, -1 when that does not matter any more."""
    return int((node.first >> PLACE_BITS) & PLACE) - 1


@inlined
def end_of(node: Any) -> int:
    """Where the last span of a hypothesis ends."""
    return int(node.first & PLACE)


@inlined
def history_of(node: Any) -> int:
    """The language model's state of a hypothesis."""
    return high(node.second)


@inlined
def last_of(node: Any) -> int:
    """The kind of the last word of a hypothesis."""
    return low(node.third)


@loop
def first_hypothesis(coverages: Coverages, numbers: PhraseNumbers, n: int) -> Hypotheses:
    """A search of n words that has the hypothesis that has translated nothing."""
    search = no_hypotheses(n + 2, emptied(np.empty(MEMO_SIZE, dtype=SAID)))
    future = coverages.covers[0].future - numbers.distortion_weight * rest_distortion(coverages, numbers, 0, 0)
    target = Target(0, 0, NONE, 0, ROOT, 0, False, future)
    key = state_key(target, numbers.begin_state, 0, ROOT, 0)
    nobody = whole(NONE)
    add_move(search, numbers.limits, nobody, key, whole(target.level), future, 0.0, nobody)
    return search


@loop
def finish(lm: NgramArrays, search: Hypotheses, numbers: PhraseNumbers, n: int) -> Hypotheses:
    """Ends the sentence after every surviving hypothesis that covers it; returns the search, perhaps in new arrays."""
    target = Target(NONE, n + 1, NONE, n + 1, ROOT, 0, True, 0.0)
    key = state_key(target, 0, 0, ROOT, 0)
    for node in survivors(search, numbers.limits, n):
        search = with_room(search, whole(1))
        score = numbers.lm_weight * step(lm, history_of(search.nodes[node]), numbers.end_word)[0]
        add_move(search, numbers.limits, node, key, target.level, target.future, score, whole(NONE))
    return search


@inlined
def reaches(search: Hypotheses, numbers: PhraseNumbers, node: int, begin: int) -> bool:
    """Whether a span is near enough to the one before it."""
    return numbers.distortion_limit < 0 or abs(begin - end_of(search.nodes[node])) <= numbers.distortion_limit


@embedded
def rest_distortion(coverages: Coverages, numbers: PhraseNumbers, cover: int, end: int) -> float:
    """The distortion of filling the gaps from left to right; 0 when it is not to be estimated."""
    described = coverages.covers[cover]
    if not numbers.distortion_future:
        return 0.0
    return float(abs(described.gap - end) + described.between)


@embedded
def orient(
    search: Hypotheses, numbers: PhraseNumbers, coverages: Coverages, stacks: Trie, node: int, begin: int, end: int
) -> Placed:
    """Orientations of a span after a hypothesis, and the stack behind it; see `PhraseMoves`."""
    before = search.nodes[node]
    if numbers.reordering < HIERARCHICAL:
        backward = adjacent(start_of(before), end_of(before), begin, end)
        return Placed(backward, backward, ROOT, 0, NONE, 0, 0)
    five, stack = numbers.reordering == FIVE_WAY, high(before.third)
    return place(coverages, stacks, cover_of(before), (start_of(before), end_of(before)), stack, (begin, end), five)


@embedded
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


@inlined
def fixed_score(
    search: Hypotheses, numbers: PhraseNumbers, groups: GroupScores, node: int, begin: int, end: int, placed: Placed
) -> float:
    """What a move scores whatever the option: the jump, the orientation of the phrase before, the group before it."""
    before = search.nodes[node]
    jump = numbers.distortion_weight * abs(begin - end_of(before))
    score = numbers.forward_FK[low(before.second), placed.forward] - jump
    return float(score + group_score(groups, placed, last_of(before), begin, end) if numbers.groups else score)


@inlined
def shift_of(sentence: PhraseSentence, coverages: Coverages, edge: Any) -> int:
    """The column of `place_OR` of the options of an edge."""
    reach = sentence.place_OR.shape[1] // 2
    # The words covered before less the begin of the span are those covered with it less its end.
    shift = coverages.covers[edge.cover].level - edge.end
    return int(min(max(shift, -reach), reach) + reach)


@inlined
def local_score(
    sentence: PhraseSentence, numbers: PhraseNumbers, last: int, option: int, backward: int, shift: int
) -> float:
    """What an option scores by its orientation, by its place, and by the word before it."""
    score = sentence.backward_OK[option, backward]
    if sentence.place_OR.shape[1] > 0:
        score += sentence.place_OR[option, shift]
    if numbers.bigrams:
        score += sentence.groups.bigrams_RR[last, sentence.groups.first_O[option]]
    return float(score)


@inlined
def ask(lm: NgramArrays, sentence: PhraseSentence, memo: AnyArray, lm_state: int, option: int) -> tuple[float, int]:
    """The log probability of an option's words after a history, and the history behind them."""
    said, known = remembered(memo, lm_state, option)
    if not known:
        said.logprob, said.after = phrase_logprob(lm, sentence.phrases, option, lm_state)
    return said.logprob, said.after


@embedded
def add_option(
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Hypotheses,
    stacks: Trie,
    target: Target,
    parent: int,
    option: int,
    said: tuple[int, float],
) -> None:
    """Adds the move that places an option: the history behind it, and its score; there must be room in the arrays."""
    lm_state, score = said
    forward, last, stack = 0, 0, target.stack
    if not target.complete:
        forward = sentence.forward_O[option]
        if numbers.groups or numbers.bigrams:
            last = sentence.groups.last_O[option]
        if numbers.reordering >= HIERARCHICAL:
            first = max(target.first, 0)
            if numbers.groups and target.first == OPEN:
                first = sentence.groups.first_O[option]
            stack = child(stacks, stack, first)
    key = state_key(target, lm_state, forward, stack, last)
    add_move(search, numbers.limits, parent, key, target.level, target.future, score, option)
