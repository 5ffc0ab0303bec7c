"""Moves of the phrase decoder, for stack search and cube pruning: their scores and where they lead.

A feature with history is called through its address, so one compiled search serves any number of them; a search without
any (None) is compiled separately and contains none of their code. The states of all features after a hypothesis are a
node of a trie, so two sets of states have the same number exactly when they are equal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.compiled import call_through, embedded, inlined, inner, loop, pointer, types
from xlate.kernels.lm import MEMO_SIZE, SAID, NgramArrays, PhrasesAlone, phrase_logprob, remembered, step
from xlate.kernels.memory import ROOT, Trie, child, new_trie, room
from xlate.kernels.search.hypotheses import (
    NONE,
    Hypotheses,
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
from xlate.kernels.search.phrase_coverage import (
    HIERARCHICAL,
    NO_REORDERING,
    OPEN,
    Coverages,
    Placed,
    Spans,
    is_covered,
    new_coverages,
    place,
)

# (state, option, place, data, after) -> value; few enough numbers to stay in registers.
WHOLES, NUMBERS = types.CPointer(types.int64), types.CPointer(types.float64)  # type: ignore[no-untyped-call]
MOVE = types.float64(types.int64, types.int64, WHOLES, NUMBERS, WHOLES)
call_move = call_through(MOVE)
# A feature: its address, where its numbers begin in `data_N`, its weight, its state before and after the last move.
FEATURE = np.dtype(
    [("address", np.int64), ("data", np.int64), ("weight", np.float64), ("before", np.int64), ("after", np.int64)]
)
# What `move` gets to know about the place of an option, and where it writes the next state.
BEGIN, END, END_BEFORE, COVERED, AFTER = range(5)
# The option that ends the sentence.
END_OPTION = -1


class Histories(NamedTuple):
    """K features with history of one sentence: their calls, their numbers, and the place of the option, (5,)."""

    features_K: AnyArray
    data_N: Floats
    place: Ints


class Spot(NamedTuple):
    """The place of an option: its span, where the previous option ended, and how many words are translated."""

    begin: int
    end: int
    end_before: int
    covered: int


@embedded
def move_value(histories: Histories, k: int, option: int, spot: Spot) -> float:
    """The unweighted value of one feature after its state `before`."""
    feature, place = histories.features_K[k], histories.place
    place[BEGIN], place[END], place[END_BEFORE], place[COVERED] = spot
    data, after = pointer(histories.data_N, feature.data), pointer(place, AFTER)
    value = call_move(feature.address, (feature.before, option, pointer(place, 0), data, after))
    feature.after = place[AFTER]
    return float(value)


@inner
def move_score(histories: Histories, stacks: Trie, number: int, option: int, spot: Spot) -> float:
    """The weighted values of an option after the states of a number; keeps the states after it."""
    features_K, score = histories.features_K, 0.0
    for k in range(len(features_K) - 1, -1, -1):
        # Before the first phrase all states are 0.
        features_K[k].before = stacks.word_N[number] if number != ROOT else 0
        number = stacks.parent_N[number] if number != ROOT else ROOT
    for k in range(len(features_K)):
        score += features_K[k].weight * move_value(histories, k, option, spot)
    return score


@embedded
def number_after(histories: Histories | None, stacks: Trie, last: int) -> int:
    """The number of the kind of the last word and the states after the last move; needs room for K + 1 nodes.

    Without features with history it is the kind of the last word.
    """
    if histories is None:
        return last
    number = child(stacks, ROOT, last)
    for k in range(len(histories.features_K)):
        number = child(stacks, number, histories.features_K[k].after)
    return number


@embedded
def last_word(histories: Histories | None, stacks: Trie, number: int) -> int:
    """The kind of the last word that a number stands for."""
    if histories is None:
        return number
    if number == ROOT:
        return 0
    for _ in range(len(histories.features_K)):
        number = stacks.parent_N[number]
    return int(stacks.word_N[number])


@embedded
def nodes_of_move(histories: Histories | None) -> int:
    """The most nodes that a move adds to the trie: one of the stack of groups, and those of `number_after`."""
    if histories is None:
        return 1
    return len(histories.features_K) + 2


class GroupScores(NamedTuple):
    """The scores of the group before a phrase in each of K orientations; n source words, R kinds of target words.

    `first_nK` and `last_nK` are by the first and the last source position of the group, row n when there is none;
    `between_nK` sums the words before position i, so that words from i to j score row j - row i. `first_RK` and
    `last_RK` are by the kinds of its first and last target word, kind 0 when there is none; `first_O` and `last_O` are
    the kinds of the first and last word of each option. `bigrams_RR` scores (last word before, first word of the
    phrase) and is empty when there are no such features.
    """

    first_nK: Floats
    last_nK: Floats
    between_nK: Floats
    first_RK: Floats
    last_RK: Floats
    first_O: Ints32
    last_O: Ints32
    bigrams_RR: Floats


@embedded
def group_score(scores: GroupScores, placed: Placed, last: int, begin: int, end: int) -> float:
    """The score of the group before a placed span; `last` is the kind of the previous word."""
    o, none = placed.backward, len(scores.first_nK) - 1
    if placed.group_begin == NONE:
        total = scores.first_nK[none, o] + scores.last_nK[none, o]
    else:
        total = scores.first_nK[placed.group_begin, o] + scores.last_nK[placed.group_end - 1, o]
    total += scores.first_RK[placed.group_first, o] + scores.last_RK[last, o]
    if begin > placed.group_end:
        total += scores.between_nK[begin, o] - scores.between_nK[placed.group_end, o]
    elif placed.group_begin > end:
        total += scores.between_nK[placed.group_begin, o] - scores.between_nK[end, o]
    return float(total)


PLACE_BITS = 16
PLACE = (1 << PLACE_BITS) - 1
LONGEST_SENTENCE = (1 << (PLACE_BITS - 1)) - 2


class PhraseSentence(NamedTuple):
    """The options of a sentence of n words as in `xlate.models.phrase.options`, estimates of spans, weights, settings.

    `place_OR` is the score of options by place, from `reach` words before to `reach` words after; it has no columns
    when the place does not matter. `reordering` is one of the four of `phrase_coverage`, `distortion_limit` -1 for
    none. `has_groups` and `has_bigrams` say whether there are sparse features of the group before a phrase, without
    which `groups` is not used, and of the word before it.
    """

    lm: NgramArrays
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
    histories: Histories | None
    lm_weight: float
    distortion_weight: float
    forward_FK: Floats
    reordering: int
    has_groups: bool
    has_bigrams: bool
    begin_state: int
    end_word: int
    limits: Limits
    log_early_threshold: float
    distortion_limit: int
    distortion_future: bool
    pop_limit: int


class Work(NamedTuple):
    """What the search of one sentence reads and writes; a caller that lends it to a loop must keep the arrays alive."""

    sentence: PhraseSentence
    search: Hypotheses
    coverages: Coverages
    stacks: Trie


class Target(NamedTuple):
    """Where moves over one span from one hypothesis lead: the state except for the option, and the estimate.

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
def cover_of(node: Any) -> int:
    """The number of a hypothesis's coverage."""
    return high(node.first)


@inlined
def end_of(node: Any) -> int:
    """Where the last span of a hypothesis ends."""
    return int(node.first & PLACE)


@inlined
def history_of(node: Any) -> int:
    """The language model state of a hypothesis."""
    return high(node.second)


@inlined
def last_of(work: Work, node: int) -> int:
    """The kind of the last word of a hypothesis."""
    return last_word(work.sentence.histories, work.stacks, low(work.search.nodes[node].third))


@inlined
def new_work(sentence: PhraseSentence) -> Work:
    """A search with the hypothesis that has translated nothing."""
    n = sentence.words
    limit, offsets_C1 = sentence.distortion_limit, sentence.cell_offsets_C1
    coverages = new_coverages(Spans(n, sentence.longest, limit, offsets_C1, sentence.future_nn))
    search = no_hypotheses(n + 2, np.empty(MEMO_SIZE, dtype=SAID))
    future = coverages.covers[0].future - sentence.distortion_weight * rest_distortion(coverages, sentence, 0, 0)
    nobody, key = NONE, key_of(0, join(sentence.begin_state, 0), 0)
    add_move(search, sentence.limits, nobody, key, 0, future, 0.0, nobody)
    return Work(sentence, search, coverages, new_trie(64))


@inlined
def with_room_for(work: Work, moves: int, nodes: int) -> Work:
    """The same in arrays with room for more moves, and more nodes of the trie."""
    search, stacks = with_room(work.search, moves), room(work.stacks, nodes)
    return Work(work.sentence, search, work.coverages, stacks)


@loop
def finish(work: Work) -> Hypotheses:
    """Ends the sentence after every surviving hypothesis that covers it; returns the search, perhaps in new arrays."""
    alive = survivors(work.search, work.sentence.limits, work.sentence.words)
    work = with_room_for(work, len(alive), 0)
    for node in alive:
        end_sentence(work, node)
    return work.search


@embedded
def end_sentence(work: Work, node: int) -> None:
    """Ends the sentence after a hypothesis that covers it; there must be room."""
    search, sentence, end = work.search, work.sentence, work.sentence.words + 1
    score = sentence.lm_weight * step(work.sentence.lm, history_of(search.nodes[node]), sentence.end_word)[0]
    spot = Spot(end, end, end, end)
    score = history_score(work.sentence.histories, work, node, END_OPTION, spot, score)
    add_move(search, sentence.limits, node, key_of(join(NONE, end), 0, 0), end, 0.0, score, NONE)


@inlined
def reaches(work: Work, node: int, begin: int) -> bool:
    """Whether a span is near enough to the previous one."""
    limit = work.sentence.distortion_limit
    return limit < 0 or abs(begin - end_of(work.search.nodes[node])) <= limit


@embedded
def rest_distortion(coverages: Coverages, sentence: PhraseSentence, cover: int, end: int) -> float:
    """The distortion of filling the gaps from left to right; 0 when it is not to be estimated."""
    described = coverages.covers[cover]
    if not sentence.distortion_future:
        return 0.0
    return float(abs(described.gap - end) + described.between)


@embedded
def orient(work: Work, node: int, begin: int, end: int) -> Placed:
    """Orientations of a span after a hypothesis, and the stack after it."""
    before, reordering = work.search.nodes[node], work.sentence.reordering
    # The begin of the last span is -1 when it no longer matters.
    start_before, end_before = int((before.first >> PLACE_BITS) & PLACE) - 1, end_of(before)
    behind = cover_of(before), start_before, end_before, high(before.third)
    return place(work.coverages, work.stacks, behind, (begin, end), reordering)


@embedded
def target_of(work: Work, edge: Any, stack: int, first: int) -> Target:
    """What moves along an edge have in common."""
    coverages, sentence, cover, begin = work.coverages, work.sentence, edge.cover, edge.begin
    described = coverages.covers[cover]
    if described.level == work.sentence.words:
        return Target(cover, work.sentence.words, NONE, work.sentence.words, ROOT, 0, True, 0.0)
    future = described.future - sentence.distortion_weight * rest_distortion(coverages, sentence, cover, edge.end)
    if sentence.reordering == NO_REORDERING or begin == 0 or is_covered(coverages, cover, begin - 1):
        begin = NONE
    return Target(cover, described.level, begin, edge.end, stack, first, False, future)


@inlined
def fixed_score(work: Work, node: int, edge: Any, placed: Placed, last: int) -> float:
    """The part of a move's score independent of the option: jump, previous phrase's orientation, group before."""
    before, sentence = work.search.nodes[node], work.sentence
    jump = sentence.distortion_weight * abs(edge.begin - end_of(before))
    score = sentence.forward_FK[low(before.second), placed.forward] - jump
    if sentence.has_groups:
        score += group_score(work.sentence.groups, placed, last, edge.begin, edge.end)
    return float(score)


@inlined
def shift_of(work: Work, edge: Any) -> int:
    """The column of `place_OR` for the options of an edge."""
    reach = work.sentence.place_OR.shape[1] // 2
    # The words covered before minus the span's begin equals those covered with it minus its end.
    shift = work.coverages.covers[edge.cover].level - edge.end
    return int(min(max(shift, -reach), reach) + reach)


@inlined
def local_score(work: Work, last: int, option: int, backward: int, shift: int) -> float:
    """The score of an option for its orientation, its place, and the previous word."""
    sentence = work.sentence
    score = sentence.backward_OK[option, backward]
    if sentence.place_OR.shape[1] > 0:
        score += sentence.place_OR[option, shift]
    if work.sentence.has_bigrams:
        score += sentence.groups.bigrams_RR[last, sentence.groups.first_O[option]]
    return float(score)


@inlined
def spot_of(work: Work, node: int, edge: Any) -> Spot:
    """The place of an edge's options after a hypothesis."""
    before = work.search.nodes[node]
    return Spot(edge.begin, edge.end, end_of(before), work.coverages.covers[cover_of(before)].level)


@embedded
def history_score(histories: Histories | None, work: Work, node: int, option: int, spot: Spot, score: float) -> float:
    """The score plus that of features with history, for an option in a given place."""
    if histories is None:
        return score
    return score + move_score(histories, work.stacks, low(work.search.nodes[node].third), option, spot)


@embedded
def ask(work: Work, node: int, option: int) -> tuple[float, int]:
    """The log probability of an option's words after a hypothesis, and the history after them."""
    lm_state = history_of(work.search.nodes[node])
    said, known = remembered(work.search.memo, lm_state, option)
    if not known:
        said.logprob, said.after = phrase_logprob(work.sentence.lm, work.sentence.phrases, option, lm_state)
    return said.logprob, said.after


@embedded
def add_option(work: Work, target: Target, parent: int, option: int, said: tuple[int, float]) -> None:
    """Adds the move that places an option, given the history after it and its score; there must be room in the arrays.

    The states of features with history are those after the last `history_score`.
    """
    sentence = work.sentence
    lm_state, score = said
    forward, last, stack = 0, 0, target.stack
    if not target.complete:
        forward = sentence.forward_O[option]
        if sentence.has_groups or sentence.has_bigrams:
            last = sentence.groups.last_O[option]
        if sentence.reordering >= HIERARCHICAL:
            first = max(target.first, 0)
            if sentence.has_groups and target.first == OPEN:
                first = sentence.groups.first_O[option]
            stack = child(work.stacks, stack, first)
    # Coverage and last span; history and forward scores; the stack, and the kind of the last word (with features with
    # history, the number of that and of their states).
    span = ((target.start + 1) << PLACE_BITS) | target.end
    kept = number_after(sentence.histories, work.stacks, last)
    key = key_of(join(target.cover, span), join(lm_state, forward), join(stack, kept))
    add_move(work.search, sentence.limits, parent, key, target.level, target.future, score, option)
