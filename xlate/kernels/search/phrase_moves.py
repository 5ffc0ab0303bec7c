"""Moves of the phrase decoder, for stack search and cube pruning: what they score and where they lead.

A stack of groups is a node of a trie; a group is two steps in it, its source span and the kind of its first target
word, so that equal stacks, and only they, have equal numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.compiled import embedded, inlined, loop
from xlate.kernels.lm import MEMO_SIZE, SAID, NgramArrays, PhrasesAlone, phrase_logprob, remembered, step
from xlate.kernels.memory import ROOT, Trie, child, new_trie, room, whole
from xlate.kernels.pairs import (
    DISCONTINUOUS,
    DISCONTINUOUS_LEFT,
    DISCONTINUOUS_RIGHT,
    MONOTONE,
    MONOTONE_GLOBAL,
    SWAP,
)
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
from xlate.kernels.search.phrase_coverage import Coverages, Spans, expand_cover, is_covered, new_coverages
from xlate.kernels.search.phrase_history import END_OPTION, Histories, Spot, last_word, move_score, number_after

SPAN_BITS = 15
LOW = (1 << SPAN_BITS) - 1
# The kind of a first word that only the option knows.
OPEN = -1


class GroupScores(NamedTuple):
    """What the group before a phrase scores in each of K orientations; n source words, R kinds of target words.

    `first_nK` and `last_nK` are by the first and the last source position of the group, row n when there is none;
    `between_nK` sums up the words before position i, so that words from i to j score row j - row i. `first_RK` and
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


class Placed(NamedTuple):
    """A span placed after a hypothesis: orientations, the group before it, and the stack but for the first word.

    `first` is the kind of the first word of the group that the span is now in, `OPEN` when the span begins one.
    """

    backward: int
    forward: int
    stack: int
    first: int
    group_begin: int
    group_end: int
    group_first: int


@inlined
def adjacent(start_before: int, end_before: int, begin: int, end: int) -> int:
    """How a span lies to the one before it."""
    if begin == end_before:
        return MONOTONE
    return SWAP if end == start_before else DISCONTINUOUS


@embedded
def place(
    coverages: Coverages, stacks: Trie, behind: tuple[int, int, int, int], span: tuple[int, int], five: bool
) -> Placed:
    """Places a span by the hierarchical model; there must be room for one more node in `stacks`.

    It comes behind a coverage, the span before (begin and end) and a stack.
    """
    (cover, start_before, end_before, stack), (begin, end) = behind, span
    forward = adjacent(start_before, end_before, begin, end)
    if forward == DISCONTINUOUS:
        if begin > end_before and not is_covered(coverages, cover, end_before):
            forward = MONOTONE
        elif end < start_before and not is_covered(coverages, cover, start_before - 1):
            forward = SWAP
    orientation, group_begin, group_end, group_first = NONE, NONE, 0, 0
    alone = stack == ROOT or stacks.parent_N[stacks.parent_N[stack]] == ROOT
    first = OPEN
    low, high = begin, end
    while True:
        start_top, end_top = NONE, 0
        if stack != ROOT:
            top = stacks.word_N[stacks.parent_N[stack]]
            start_top, end_top = top >> SPAN_BITS, top & LOW
        seen = adjacent(start_top, end_top, low, high)
        if orientation == NONE:
            orientation, group_begin, group_end = seen, start_top, end_top
            group_first = stacks.word_N[stack] if stack != ROOT else 0
        if stack == ROOT or seen == DISCONTINUOUS:
            break
        low, high = min(low, start_top), max(high, end_top)
        first = stacks.word_N[stack]
        stack = int(stacks.parent_N[stacks.parent_N[stack]])
    if five:
        orientation = refine(orientation, begin >= group_end, alone)
        described = coverages.covers[cover]
        forward = refine(forward, begin >= end_before, described.gap == end_before and described.between == 0)
    stack = child(stacks, stack, (low << SPAN_BITS) | high)
    return Placed(orientation, forward, stack, first, group_begin, group_end, group_first)


@inlined
def refine(orientation: int, behind: bool, everything: bool) -> int:
    """One of five orientations from one of three: which way a jump goes, and whether all the rest is one block."""
    if orientation == DISCONTINUOUS:
        return DISCONTINUOUS_LEFT if behind else DISCONTINUOUS_RIGHT
    return MONOTONE_GLOBAL if orientation == MONOTONE and everything else orientation


@embedded
def group_score(scores: GroupScores, placed: Placed, last: int, begin: int, end: int) -> float:
    """What the group before a placed span scores; `last` is the kind of the word before."""
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
    histories: Histories | None


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


class Work(NamedTuple):
    """What a search of one sentence reads and writes; whoever lends it to a loop holds the arrays."""

    lm: NgramArrays
    sentence: PhraseSentence
    numbers: PhraseNumbers
    search: Hypotheses
    coverages: Coverages
    stacks: Trie


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
def cover_of(node: Any) -> int:
    """The number of what a hypothesis covers."""
    return high(node.first)


@inlined
def end_of(node: Any) -> int:
    """Where the last span of a hypothesis ends."""
    return int(node.first & PLACE)


@inlined
def history_of(node: Any) -> int:
    """The language model's state of a hypothesis."""
    return high(node.second)


@inlined
def last_of(work: Work, node: int) -> int:
    """The kind of the last word of a hypothesis."""
    return last_word(work.sentence.histories, work.stacks, low(work.search.nodes[node].third))


@inlined
def new_work(lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers) -> Work:
    """A search that has the hypothesis that has translated nothing."""
    n = sentence.words
    limit, offsets_C1 = numbers.distortion_limit, sentence.cell_offsets_C1
    coverages = new_coverages(Spans(n, sentence.longest, limit, offsets_C1, sentence.future_nn))
    search = no_hypotheses(n + 2, np.empty(MEMO_SIZE, dtype=SAID))
    future = coverages.covers[0].future - numbers.distortion_weight * rest_distortion(coverages, numbers, 0, 0)
    nobody, key = whole(NONE), key_of(0, join(numbers.begin_state, 0), 0)
    add_move(search, numbers.limits, nobody, key, whole(0), future, 0.0, nobody)
    return Work(lm, sentence, numbers, search, coverages, new_trie(64))


@inlined
def with_room_for(work: Work, moves: int, nodes: int) -> Work:
    """The same in arrays that can take more moves, and more nodes of the trie."""
    search, stacks = with_room(work.search, moves), room(work.stacks, nodes)
    return Work(work.lm, work.sentence, work.numbers, search, work.coverages, stacks)


@inlined
def with_edges(work: Work, cover: int) -> Work:
    """The same in arrays that hold the edges of a coverage."""
    coverages = expand_cover(work.coverages, cover)
    return Work(work.lm, work.sentence, work.numbers, work.search, coverages, work.stacks)


@loop
def finish(work: Work) -> Hypotheses:
    """Ends the sentence after every surviving hypothesis that covers it; returns the search, perhaps in new arrays."""
    alive = survivors(work.search, work.numbers.limits, work.sentence.words)
    work = with_room_for(work, len(alive), whole(0))
    for node in alive:
        end_sentence(work, node)
    return work.search


@embedded
def end_sentence(work: Work, node: int) -> None:
    """Ends the sentence after a hypothesis that covers it; there must be room."""
    search, numbers, end = work.search, work.numbers, work.sentence.words + 1
    score = numbers.lm_weight * step(work.lm, history_of(search.nodes[node]), numbers.end_word)[0]
    spot = Spot(end, end, end, end)
    score = history_score(work.sentence.histories, work, node, END_OPTION, spot, score)
    add_move(search, numbers.limits, node, key_of(join(NONE, end), 0, 0), end, 0.0, score, whole(NONE))


@inlined
def reaches(work: Work, node: int, begin: int) -> bool:
    """Whether a span is near enough to the one before it."""
    limit = work.numbers.distortion_limit
    return limit < 0 or abs(begin - end_of(work.search.nodes[node])) <= limit


@embedded
def rest_distortion(coverages: Coverages, numbers: PhraseNumbers, cover: int, end: int) -> float:
    """The distortion of filling the gaps from left to right; 0 when it is not to be estimated."""
    described = coverages.covers[cover]
    if not numbers.distortion_future:
        return 0.0
    return float(abs(described.gap - end) + described.between)


@embedded
def orient(work: Work, node: int, begin: int, end: int) -> Placed:
    """Orientations of a span after a hypothesis, and the stack behind it."""
    before, reordering = work.search.nodes[node], work.numbers.reordering
    # Where the last span begins is -1 when that does not matter any more.
    start_before, end_before = int((before.first >> PLACE_BITS) & PLACE) - 1, end_of(before)
    if reordering < HIERARCHICAL:
        backward = adjacent(start_before, end_before, begin, end)
        return Placed(backward, backward, ROOT, 0, NONE, 0, 0)
    behind = cover_of(before), start_before, end_before, high(before.third)
    return place(work.coverages, work.stacks, behind, (begin, end), reordering == FIVE_WAY)


@embedded
def target_of(work: Work, edge: Any, stack: int, first: int) -> Target:
    """What moves along an edge have in common."""
    coverages, numbers, cover, begin = work.coverages, work.numbers, edge.cover, edge.begin
    described = coverages.covers[cover]
    if described.level == work.sentence.words:
        return Target(cover, work.sentence.words, NONE, work.sentence.words, ROOT, 0, True, 0.0)
    future = described.future - numbers.distortion_weight * rest_distortion(coverages, numbers, cover, edge.end)
    if numbers.reordering == NO_REORDERING or begin == 0 or is_covered(coverages, cover, begin - 1):
        begin = NONE
    return Target(cover, described.level, begin, edge.end, stack, first, False, future)


@inlined
def fixed_score(work: Work, node: int, edge: Any, placed: Placed, last: int) -> float:
    """What a move scores whatever the option: the jump, the orientation of the phrase before, the group before it."""
    before, numbers = work.search.nodes[node], work.numbers
    jump = numbers.distortion_weight * abs(edge.begin - end_of(before))
    score = numbers.forward_FK[low(before.second), placed.forward] - jump
    if numbers.groups:
        score += group_score(work.sentence.groups, placed, last, edge.begin, edge.end)
    return float(score)


@inlined
def shift_of(work: Work, edge: Any) -> int:
    """The column of `place_OR` of the options of an edge."""
    reach = work.sentence.place_OR.shape[1] // 2
    # The words covered before less the begin of the span are those covered with it less its end.
    shift = work.coverages.covers[edge.cover].level - edge.end
    return int(min(max(shift, -reach), reach) + reach)


@inlined
def local_score(work: Work, last: int, option: int, backward: int, shift: int) -> float:
    """What an option scores by its orientation, by its place, and by the word before it."""
    sentence = work.sentence
    score = sentence.backward_OK[option, backward]
    if sentence.place_OR.shape[1] > 0:
        score += sentence.place_OR[option, shift]
    if work.numbers.bigrams:
        score += sentence.groups.bigrams_RR[last, sentence.groups.first_O[option]]
    return float(score)


@inlined
def spot_of(work: Work, node: int, edge: Any) -> Spot:
    """Where the options of an edge are put behind a hypothesis."""
    before = work.search.nodes[node]
    return Spot(edge.begin, edge.end, end_of(before), work.coverages.covers[cover_of(before)].level)


@embedded
def history_score(histories: Histories | None, work: Work, node: int, option: int, spot: Spot, score: float) -> float:
    """The score with what features with history add for an option that is put somewhere."""
    if histories is None:
        return score
    return score + move_score(histories, work.stacks, low(work.search.nodes[node].third), option, spot)


@embedded
def ask(work: Work, node: int, option: int) -> tuple[float, int]:
    """The log probability of an option's words after a hypothesis, and the history behind them."""
    lm_state = history_of(work.search.nodes[node])
    said, known = remembered(work.search.memo, lm_state, option)
    if not known:
        said.logprob, said.after = phrase_logprob(work.lm, work.sentence.phrases, option, lm_state)
    return said.logprob, said.after


@embedded
def add_option(work: Work, target: Target, parent: int, option: int, said: tuple[int, float]) -> None:
    """Adds the move that places an option: the history behind it, and its score; there must be room in the arrays.

    The states of features with history are those behind the last `history_score`.
    """
    sentence, numbers = work.sentence, work.numbers
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
            stack = child(work.stacks, stack, first)
    # Coverage and last span; history and forward scores; the stack, and the kind of the last word (with features with
    # history the number of that and of their states).
    span = ((target.start + 1) << PLACE_BITS) | target.end
    kept = number_after(sentence.histories, work.stacks, last)
    key = key_of(join(target.cover, span), join(lm_state, forward), join(stack, kept))
    add_move(work.search, numbers.limits, parent, key, target.level, target.future, score, option)
