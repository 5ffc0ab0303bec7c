"""Stack search of the phrase decoder as loops over plain arrays; `xlate.decode.phrase_moves` is its readable form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.hashing import EMPTY, first_slot, pack
from xlate.kernels.lent import lent
from xlate.kernels.phrase_coverage import Coverages, expand_cover, is_covered, new_coverages
from xlate.kernels.phrase_lm import PackedNgrams, PhrasesAlone, phrase_logprob, step_packed
from xlate.kernels.phrase_orientation import OPEN, GroupScores, Placed, adjacent, group_score, place
from xlate.kernels.trie import ROOT, Trie, child, new_trie, room

NONE = -1
# A hypothesis that no stack holds any more, because the beam has no place for it.
PRUNED = -2
NO_REORDERING, WORD_BASED, HIERARCHICAL, FIVE_WAY = 0, 1, 2, 3
LONGEST_SENTENCE = (1 << 15) - 2

# A hypothesis: its state (see `PhraseState`), score, score plus estimate, best arc, the next one of its stack.
NODE = np.dtype(
    [
        ("cover", np.int32),
        ("start", np.int32),
        ("end", np.int32),
        ("forward", np.int32),
        ("lm_state", np.int32),
        ("stack", np.int32),
        ("last", np.int32),
        ("score", np.float64),
        ("estimate", np.float64),
        ("arc", np.int32),
        ("next", np.int32),
    ]
)
ARC = np.dtype([("source", np.int32), ("target", np.int32), ("label", np.int32), ("score", np.float64)])
# What the language model said of an option after a history; direct-mapped, so that a new entry replaces an old one.
MEMO = np.dtype([("key", np.uint64), ("logprob", np.float64), ("after", np.int64)])
MEMO_SIZE = 1 << 14


class PhraseSentence(NamedTuple):
    """The options of a sentence of n words as in `xlate.decode.phrase_options`, and the estimates of spans.

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

    `reordering` is one of the four above, `beam` 0 for no limit, `distortion_limit` -1 for none; `groups` and `bigrams`
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
    beam: int
    log_threshold: float
    log_early_threshold: float
    distortion_limit: int
    distortion_future: bool
    every_arc: bool
    pop_limit: int


class Search(NamedTuple):
    """The growing arrays of one search; the first `counts[0]` nodes and `counts[1]` arcs are in use.

    `slots_H` is a hash table of node numbers. For each level, that is number of covered words (the goal is one more
    than the sentence): `heads_L` begins the chain of its nodes, newest first, `sizes_L` counts them; what is below
    `bars_L` will not survive, and `tops_L` is the best estimate.
    """

    nodes: NDArray[Any]
    arcs: NDArray[Any]
    slots_H: NDArray[np.int32]
    heads_L: NDArray[np.int32]
    sizes_L: NDArray[np.int64]
    bars_L: NDArray[np.float64]
    tops_L: NDArray[np.float64]
    counts: NDArray[np.int64]
    memo: NDArray[Any]


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


@njit(cache=True, nogil=True)
def search_phrases(
    lm: PackedNgrams, sentence: PhraseSentence, numbers: PhraseNumbers
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Searches one sentence; returns nodes (`NODE`), arcs (`ARC`) and the number of the goal, -1 when there is none.

    Without `every_arc` only arcs that improved a hypothesis are kept, which is all the best path needs.
    """
    n, options = sentence.words, len(sentence.static_O)
    coverages, search, stacks = new_coverages(n, sentence.future_nn), empty_search(n), new_trie(64)
    add_root(search, coverages, numbers)
    for level in range(n):
        for node in survivors(search, level, numbers.beam):
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
def empty_search(words: int) -> Search:
    """A search of a sentence before its first hypothesis."""
    memo = np.empty(MEMO_SIZE, dtype=MEMO)
    memo["key"][:] = EMPTY
    return Search(
        np.empty(4096, dtype=NODE),
        np.empty(4096, dtype=ARC),
        np.full(16384, NONE, dtype=np.int32),
        np.full(words + 2, NONE, dtype=np.int32),
        np.zeros(words + 2, dtype=np.int64),
        np.full(words + 2, -np.inf),
        np.full(words + 2, -np.inf),
        np.zeros(2, dtype=np.int64),
        memo,
    )


@njit(cache=True, nogil=True, forceinline=True)
def add_root(search: Search, coverages: Coverages, numbers: PhraseNumbers) -> None:
    """The hypothesis that has translated nothing."""
    future = coverages.covers[0].future - numbers.distortion_weight * rest_distortion(coverages, numbers, 0, 0)
    target = Target(0, 0, NONE, 0, ROOT, 0, False, future)
    add_move(search, numbers, target, NONE, 0, 0, ROOT, numbers.begin_state, 0.0, NONE)


@njit(cache=True, nogil=True, forceinline=True)
def finish(lm: PackedNgrams, search: Search, numbers: PhraseNumbers, n: int) -> int:
    """Ends the sentence after every surviving hypothesis that covers it; returns the goal's number, or -1."""
    target = Target(NONE, n + 1, NONE, n + 1, ROOT, 0, True, 0.0)
    for node in survivors(search, n, numbers.beam):
        search = with_room(search, 1)
        score = numbers.lm_weight * step_packed(lm, search.nodes[node].lm_state, numbers.end_word)[0]
        add_move(search, numbers, target, node, 0, 0, ROOT, 0, score, NONE)
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
    lm: PackedNgrams,
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
def ask(
    lm: PackedNgrams, sentence: PhraseSentence, memo: NDArray[Any], lm_state: int, option: int
) -> tuple[float, int]:
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
    add_move(search, numbers, target, parent, sentence.forward_O[option], last, stack, lm_state, score, option)


@njit(cache=True, nogil=True, forceinline=True)
def add_move(
    search: Search,
    numbers: PhraseNumbers,
    target: Target,
    parent: int,
    forward: int,
    last: int,
    stack: int,
    lm_state: int,
    score: float,
    label: int,
) -> None:
    """Adds one move: a new hypothesis, or one more arc to the hypothesis of an equal state; there must be room."""
    nodes, counts = search.nodes, search.counts
    if target.complete:
        forward = 0
    node = _find_or_add(search, target, forward, last, stack, lm_state)
    total = (nodes[parent].score if parent >= 0 else 0.0) + score
    improved = total > nodes[node].score
    if improved:
        nodes[node].score = total
        nodes[node].estimate = total + target.future
        nodes[node].arc = counts[1] if parent >= 0 else NONE
        _enter(search, numbers, node, target.level)
    if parent >= 0 and (improved or numbers.every_arc):
        arc = search.arcs[counts[1]]
        arc.source, arc.target, arc.label, arc.score = parent, node, label, score
        counts[1] += 1


@njit(cache=True, nogil=True, forceinline=True)
def _find_or_add(search: Search, target: Target, forward: int, last: int, stack: int, lm_state: int) -> int:
    nodes, slots_H = search.nodes, search.slots_H
    mask = np.uint64(len(slots_H) - 1)
    slot = _slot(target.cover, target.start, target.end, forward, lm_state, stack, last, mask)
    while slots_H[slot] >= 0:
        node = nodes[slots_H[slot]]
        if (
            node.cover == target.cover
            and node.lm_state == lm_state
            and node.end == target.end
            and node.start == target.start
            and node.forward == forward
            and node.stack == stack
            and node.last == last
        ):
            return int(slots_H[slot])
        slot = (slot + np.uint64(1)) & mask
    number = search.counts[0]
    search.counts[0] = number + 1
    slots_H[slot] = number
    node = nodes[number]
    node.cover, node.start, node.end, node.forward = target.cover, target.start, target.end, forward
    node.lm_state, node.stack, node.last = lm_state, stack, last
    node.score, node.estimate, node.arc, node.next = -np.inf, -np.inf, NONE, PRUNED
    return int(number)


@njit(cache=True, inline="always")
def _slot(
    cover: int, start: int, end: int, forward: int, lm_state: int, stack: int, last: int, mask: np.uint64
) -> np.uint64:
    low = pack(forward, ((start + 1) << 16) | end) * np.uint64(0x9E3779B97F4A7C15)
    return first_slot(pack(cover, lm_state) ^ low ^ (pack(last, stack) * np.uint64(0xC2B2AE3D27D4EB4F)), mask)


@njit(cache=True, nogil=True, forceinline=True)
def _enter(search: Search, numbers: PhraseNumbers, node: int, level: int) -> None:
    """Puts a hypothesis into its stack unless it is there, and raises the bar when more than the beam has gathered."""
    estimate = search.nodes[node].estimate
    if estimate > search.tops_L[level]:
        search.tops_L[level] = estimate
        search.bars_L[level] = max(search.bars_L[level], estimate + numbers.log_threshold)
    if search.nodes[node].next == PRUNED and estimate >= search.bars_L[level]:
        search.nodes[node].next = search.heads_L[level]
        search.heads_L[level] = node
        search.sizes_L[level] += 1
        if numbers.beam > 0 and search.sizes_L[level] >= numbers.beam + numbers.beam // 4 + 8:
            _raise_bar(search, level, numbers.beam)


@njit(cache=True, nogil=True, forceinline=True)
def _raise_bar(search: Search, level: int, beam: int) -> None:
    """Leaves the best `beam` hypotheses of a stack, and their equals, in its chain."""
    members = _members(search, level)
    estimates = search.nodes["estimate"][members]
    place = len(members) - beam
    search.bars_L[level] = max(search.bars_L[level], np.partition(estimates, place)[place])
    search.heads_L[level] = NONE
    search.sizes_L[level] = 0
    for node in members[::-1]:
        search.nodes[node].next = PRUNED
        if search.nodes[node].estimate >= search.bars_L[level]:
            search.nodes[node].next = search.heads_L[level]
            search.heads_L[level] = node
            search.sizes_L[level] += 1


@njit(cache=True, nogil=True, forceinline=True)
def _members(search: Search, level: int) -> NDArray[np.int64]:
    members = np.empty(search.sizes_L[level], dtype=np.int64)
    node = search.heads_L[level]
    for at in range(len(members)):
        members[at] = node
        node = search.nodes[node].next
    return members


@njit(cache=True, nogil=True, forceinline=True)
def survivors(search: Search, level: int, beam: int) -> NDArray[np.int64]:
    """The hypotheses of a stack that are expanded, best first, equal ones in the order of creation."""
    members = np.sort(_members(search, level))
    estimates = search.nodes["estimate"][members]
    kept = members[estimates >= search.bars_L[level]]
    ordered: NDArray[np.int64] = kept[np.argsort(-search.nodes["estimate"][kept], kind="mergesort")]
    return ordered[:beam] if beam > 0 else ordered


@njit(cache=True, nogil=True, forceinline=True)
def with_room(search: Search, more: int) -> Search:
    """The same search in arrays that can take `more` nodes and arcs."""
    nodes, arcs, slots_H, counts = search.nodes, search.arcs, search.slots_H, search.counts
    if counts[0] + more <= len(nodes) and counts[1] + more <= len(arcs):
        return search
    if counts[0] + more > len(nodes):
        nodes = np.empty(2 * len(nodes) + more, dtype=NODE)
        nodes[: counts[0]] = search.nodes[: counts[0]]
        size = len(slots_H)
        while size < 2 * len(nodes):
            size *= 2
        slots_H = np.full(size, NONE, dtype=np.int32)
        mask = np.uint64(size - 1)
        for number in range(counts[0]):
            node = nodes[number]
            slot = _slot(node.cover, node.start, node.end, node.forward, node.lm_state, node.stack, node.last, mask)
            while slots_H[slot] >= 0:
                slot = (slot + np.uint64(1)) & mask
            slots_H[slot] = number
    if counts[1] + more > len(arcs):
        arcs = np.empty(2 * len(arcs) + more, dtype=ARC)
        arcs[: counts[1]] = search.arcs[: counts[1]]
    return Search(
        nodes, arcs, slots_H, search.heads_L, search.sizes_L, search.bars_L, search.tops_L, counts, search.memo
    )
