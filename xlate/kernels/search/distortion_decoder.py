"""Beam search of the phrase-distortion decoder; `xlate.models.distortion.moves` is its readable form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.features.bigram_features import bigrams_weight
from xlate.kernels.lm.ngram import step
from xlate.kernels.memory.hashing import EMPTY, first_slot, pack
from xlate.kernels.memory.lent import lent
from xlate.kernels.search.block_decoder import ARC, MEMO, MEMO_SIZE, ModelArrays
from xlate.kernels.search.spans import phrase_costs

NONE = -1
WIDEST_WINDOW = 48

# A hypothesis: the first source word not covered, which of those behind it are (bit k: the k-th behind it), the end of
# the last block, the block that stands for it in sparse features, the history, scores, its best arc, and the next
# hypothesis that covers as many words.
NODE = np.dtype(
    [
        ("first", np.int32),
        ("last", np.int32),
        ("mask", np.int64),
        ("context", np.int32),
        ("lm_state", np.int32),
        ("score", np.float64),
        ("future", np.float64),
        ("arc", np.int32),
        ("next", np.int32),
    ]
)


class JumpSentence(NamedTuple):
    """The options of a sentence of n words as in `xlate.models.distortion.options`, and the estimates of spans.

    `jump_1n[e, s]` is the weighted cost of going on at s when the last block ended before e (0: none yet).
    """

    words: int
    longest: int
    cell_offsets_C1: NDArray[np.int64]
    block_O: NDArray[np.int32]
    static_O: NDArray[np.float64]
    phrase_offsets_O1: NDArray[np.int64]
    phrase_words_W: NDArray[np.int32]
    jump_1n: NDArray[np.float64]
    future_nn: NDArray[np.float64]


class JumpNumbers(NamedTuple):
    """Language-model weights and search settings; `beam` and `coverage_beam` are 0 for no limit, `end_word` below 0."""

    first_weight: float
    rest_weight: float
    max_skips: int
    window: int
    beam: int
    coverage_beam: int
    log_threshold: float
    end_word: int
    every_arc: bool


class JumpSearch(NamedTuple):
    """The growing arrays of one search; the first `counts[0]` nodes and `counts[1]` arcs are in use."""

    nodes: NDArray[Any]
    arcs: NDArray[Any]
    slots_H: NDArray[np.int32]
    heads_L: NDArray[np.int32]
    counts: NDArray[np.int64]
    memo: NDArray[Any]


class State(NamedTuple):
    """What recombination compares; see `NODE`."""

    first: int
    mask: int
    last: int
    context: int
    lm_state: int


@njit(cache=True, nogil=True)
def search_jumps(
    model: ModelArrays, sentence: JumpSentence, numbers: JumpNumbers
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Searches one sentence; returns nodes (`NODE`), arcs (`ARC`) and the number of the goal, -1 when there is none.

    Without `every_arc` only arcs that improved a hypothesis are kept, which is all the best path needs.
    """
    n = sentence.words
    search = _empty_search(n)
    # Not literals, for which numba would compile a second version.
    zero, nobody = int(np.int64(0)), int(np.int64(NONE))
    begin = State(zero, zero, zero, nobody, int(model.begin_state))
    _add(search, sentence, begin, zero, 0.0, nobody, nobody, numbers.every_arc)
    most = len(sentence.block_O) + 1
    for level in range(n):
        for node in _survivors(search.nodes, search.heads_L[level], numbers):
            search = _with_room(search, most)
            first, mask = int(search.nodes[node].first), int(search.nodes[node].mask)
            for start in range(first, min(n, first + numbers.window)):
                for end in range(start + 1, min(n, start + sentence.longest) + 1):
                    if (mask >> (end - 1 - first)) & 1:
                        break
                    after_first, after_mask = cover(first, mask, start, end)
                    if allowed(after_mask, numbers.max_skips, numbers.window):
                        _expand(model, sentence, numbers, search, node, level, start, end, after_first, after_mask)
    for node in _survivors(search.nodes, search.heads_L[n], numbers):
        search = _with_room(search, most)
        score = 0.0
        if numbers.end_word >= 0:
            score = -numbers.first_weight * step(model.lm, search.nodes[node].lm_state, numbers.end_word)[0]
        end_state = State(n + 1, zero, zero, nobody, zero)
        _add(search, sentence, end_state, n + 1, score, int(node), nobody, numbers.every_arc)
    return search.nodes[: search.counts[0]], search.arcs[: search.counts[1]], search.heads_L[n + 1]


@njit(cache=True, nogil=True, inline="always")
def cover(first: int, mask: int, start: int, end: int) -> tuple[int, int]:
    """First uncovered word and mask after covering [start, end)."""
    mask |= ((1 << (end - start)) - 1) << (start - first)
    while mask & 1:
        mask >>= 1
        first += 1
    return first, mask


@njit(cache=True, nogil=True, inline="always")
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


@njit(cache=True, nogil=True)
def _expand(
    model: ModelArrays,
    sentence: JumpSentence,
    numbers: JumpNumbers,
    search: JumpSearch,
    node: int,
    level: int,
    start: int,
    end: int,
    first: int,
    mask: int,
) -> None:
    """Adds a move for every option of one span."""
    model, sentence, numbers, search = lent(model), lent(sentence), lent(numbers), lent(search)
    cell = start * sentence.longest + end - start - 1
    lm_state, context = search.nodes[node].lm_state, search.nodes[node].context
    jump = sentence.jump_1n[search.nodes[node].last, start]
    for option in range(sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]):
        key = pack(lm_state, option)
        known = search.memo[first_slot(key, np.uint64(MEMO_SIZE - 1))]
        if known.key != key:
            costs = phrase_costs(model.lm, sentence.phrase_words_W, sentence.phrase_offsets_O1, option, lm_state)
            known.key = key
            known.first, known.rest, known.after = costs
        score = sentence.static_O[option] + jump
        score += numbers.first_weight * known.first + numbers.rest_weight * known.rest
        block = sentence.block_O[option]
        if context >= 0 and block >= 0:
            score += bigrams_weight(model.features, model.feature_weights_F, context, block)
        remembered = int(model.context_B[block]) if block >= 0 else int(np.int64(NONE))
        after = State(first, mask, end, remembered, int(known.after))
        _add(search, sentence, after, level + end - start, score, int(node), int(option), numbers.every_arc)


@njit(cache=True, nogil=True)
def _add(
    search: JumpSearch,
    sentence: JumpSentence,
    state: State,
    level: int,
    score: float,
    parent: int,
    label: int,
    every_arc: bool,
) -> None:
    """Adds one move: a new hypothesis, or one more arc to the hypothesis of an equal state."""
    nodes, slots_H, counts = search.nodes, search.slots_H, search.counts
    mask = np.uint64(len(slots_H) - 1)
    slot = _slot(state.first, state.mask, state.last, state.context, state.lm_state, mask)
    number = slots_H[slot]
    while number >= 0:
        node = nodes[number]
        if (
            node.lm_state == state.lm_state
            and node.context == state.context
            and node.last == state.last
            and node.mask == state.mask
            and node.first == state.first
        ):
            break
        slot = (slot + np.uint64(1)) & mask
        number = slots_H[slot]
    if number < 0:
        number = np.int32(counts[0])
        counts[0] += 1
        slots_H[slot] = number
        node = nodes[number]
        node.first, node.mask, node.last = state.first, state.mask, state.last
        node.context, node.lm_state, node.score, node.arc = state.context, state.lm_state, -np.inf, NONE
        node.future = rest_estimate(state.first, state.mask, sentence.words, sentence.future_nn)
        node.next = search.heads_L[level]
        search.heads_L[level] = number
    total = score + (nodes[parent].score if parent >= 0 else 0.0)
    improved = total > nodes[number].score
    if improved:
        nodes[number].score = total
        nodes[number].arc = counts[1] if parent >= 0 else NONE
    if parent >= 0 and (improved or every_arc):
        arc = search.arcs[counts[1]]
        arc.source, arc.target, arc.label, arc.score = parent, number, label, score
        counts[1] += 1


@njit(cache=True, nogil=True)
def rest_estimate(first: int, mask: int, n: int, future_nn: NDArray[np.float64]) -> float:
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


@njit(cache=True, nogil=True)
def _survivors(nodes: NDArray[Any], newest: int, numbers: JumpNumbers) -> NDArray[np.int64]:
    """Those of a chain that are expanded, best first: cardinality pruning, and coverage pruning within it."""
    size, top = 0, -np.inf
    node = newest
    while node >= 0:
        size += 1
        top = max(top, nodes[node].score + nodes[node].future)
        node = nodes[node].next
    chosen, cost = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.float64)
    # Filled from behind: the chain begins with the newest, and the sort must be stable from the oldest.
    at = size
    node = newest
    while node >= 0:
        estimate = nodes[node].score + nodes[node].future
        if estimate >= top + numbers.log_threshold:
            at -= 1
            chosen[at], cost[at] = node, -estimate
        node = nodes[node].next
    ordered = chosen[at:][np.argsort(cost[at:], kind="mergesort")]
    if numbers.coverage_beam > 0:
        ordered = _best_of_coverages(nodes, ordered, numbers.coverage_beam)
    return ordered[: numbers.beam] if numbers.beam > 0 else ordered


@njit(cache=True, nogil=True)
def _best_of_coverages(nodes: NDArray[Any], ordered: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The first `most` of every set of covered words, in the order given."""
    kept, size = np.empty(len(ordered), dtype=np.int64), 0
    first_V, mask_V = np.empty(len(ordered), dtype=np.int64), np.empty(len(ordered), dtype=np.int64)
    count_V, coverages = np.zeros(len(ordered), dtype=np.int64), 0
    for node in ordered:
        v = 0
        while v < coverages and (first_V[v] != nodes[node].first or mask_V[v] != nodes[node].mask):
            v += 1
        if v == coverages:
            first_V[v], mask_V[v] = nodes[node].first, nodes[node].mask
            coverages += 1
        count_V[v] += 1
        if count_V[v] <= most:
            kept[size] = node
            size += 1
    return kept[:size]


@njit(cache=True, inline="always")
def _slot(first: int, covered: int, last: int, context: int, lm_state: int, mask: np.uint64) -> np.uint64:
    place = (np.uint64(first) << np.uint64(32)) ^ (np.uint64(last) << np.uint64(16)) ^ np.uint64(covered)
    return first_slot(place * np.uint64(0x9E3779B97F4A7C15) ^ pack(context, lm_state), mask)


@njit(cache=True, nogil=True)
def _empty_search(words: int) -> JumpSearch:
    memo = np.empty(MEMO_SIZE, dtype=MEMO)
    memo["key"][:] = EMPTY
    return JumpSearch(
        np.empty(1024, dtype=NODE),
        np.empty(4096, dtype=ARC),
        np.full(4096, NONE, dtype=np.int32),
        np.full(words + 2, NONE, dtype=np.int32),
        np.zeros(2, dtype=np.int64),
        memo,
    )


@njit(cache=True, nogil=True)
def _with_room(search: JumpSearch, more: int) -> JumpSearch:
    """The same search in arrays that can take `more` nodes and arcs."""
    nodes, arcs, slots_H = search.nodes, search.arcs, search.slots_H
    if search.counts[0] + more > len(nodes):
        nodes = np.empty(2 * len(nodes) + more, dtype=NODE)
        for node in range(search.counts[0]):
            nodes[node] = search.nodes[node]
    if search.counts[1] + more > len(arcs):
        arcs = np.empty(2 * len(arcs) + more, dtype=ARC)
        for arc in range(search.counts[1]):
            arcs[arc] = search.arcs[arc]
    if 2 * (search.counts[0] + more) > len(slots_H):
        size = len(slots_H)
        while size < 4 * (search.counts[0] + more):
            size *= 2
        slots_H = np.full(size, NONE, dtype=np.int32)
        mask = np.uint64(size - 1)
        for number in range(search.counts[0]):
            node = nodes[number]
            slot = _slot(node.first, node.mask, node.last, node.context, node.lm_state, mask)
            while slots_H[slot] >= 0:
                slot = (slot + np.uint64(1)) & mask
            slots_H[slot] = number
    return JumpSearch(nodes, arcs, slots_H, search.heads_L, search.counts, search.memo)
