"""Beam search of the block decoder as one loop over plain arrays; `xlate.decode.block_moves` is its readable form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.hashing import HashTable, find, first_slot, pack
from xlate.kernels.ngram import NgramArrays, step

LEFT, RIGHT, NEUTRAL = 0, 1, 2
NONE = -1
GAP_BITS = 20
LONGEST_SENTENCE = (1 << GAP_BITS) - 2

# A hypothesis: what it covers (packed), the block a bigram may start from, the history, its best arc, the next one of
# equal coverage.
NODE = np.dtype(
    [
        ("cover", np.int64),
        ("context", np.int32),
        ("lm_state", np.int32),
        ("score", np.float64),
        ("future", np.float64),
        ("arc", np.int32),
        ("next", np.int32),
    ]
)
ARC = np.dtype([("source", np.int32), ("target", np.int32), ("label", np.int32), ("score", np.float64)])


class ModelArrays(NamedTuple):
    """What stays the same from sentence to sentence."""

    lm: NgramArrays
    begin_state: int
    bigrams: HashTable
    bigram_weights_U: NDArray[np.float64]
    leads_B: NDArray[np.bool_]


class SentenceArrays(NamedTuple):
    """The options of a sentence of n words as in `xlate.decode.options.SentenceOptions`, and the estimates of spans."""

    words: int
    longest: int
    cell_offsets_C1: NDArray[np.int64]
    block_O: NDArray[np.int32]
    left_O: NDArray[np.bool_]
    static_O3: NDArray[np.float64]
    phrase_offsets_O1: NDArray[np.int64]
    phrase_words_W: NDArray[np.int32]
    future_nn: NDArray[np.float64]


class SearchNumbers(NamedTuple):
    """Language model weights by orientation (first word, rest), and the search settings.

    `end_word` is negative when the end of the sentence costs nothing; `beam` is 0 for no limit.
    """

    lm_weights_32: NDArray[np.float64]
    beam: int
    log_threshold: float
    swaps: bool
    local: bool
    end_word: int
    every_arc: bool


class Search(NamedTuple):
    """The growing arrays of one search; the first `counts[0]` nodes and `counts[1]` arcs are in use.

    `slots_H` is a hash table of node numbers; `heads_L` begins the chain of nodes of each coverage, newest first.
    """

    nodes: NDArray[Any]
    arcs: NDArray[Any]
    slots_H: NDArray[np.int32]
    heads_L: NDArray[np.int32]
    counts: NDArray[np.int64]
    scores: NDArray[np.float64]
    lm_states: NDArray[np.int32]


@njit(cache=True, nogil=True)
def search_blocks(
    model: ModelArrays, sentence: SentenceArrays, numbers: SearchNumbers
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Searches one sentence; returns nodes (`NODE`), arcs (`ARC`) and the number of the goal, -1 when there is none.

    Without `every_arc` only arcs that improved a hypothesis are kept, which is all the best path needs.
    """
    n = sentence.words
    search = Search(
        np.empty(1024, dtype=NODE),
        np.empty(4096, dtype=ARC),
        np.full(4096, NONE, dtype=np.int32),
        np.full(n + 2, NONE, dtype=np.int32),
        np.zeros(2, dtype=np.int64),
        np.empty(len(sentence.block_O), dtype=np.float64),
        np.empty(len(sentence.block_O), dtype=np.int32),
    )
    _add(search, sentence, numbers, NONE, 0.0, _cover(0, 0, 0, False), NONE, model.begin_state, NONE)
    for level in range(n + 1):
        for node in _survivors(search, level, numbers.beam, numbers.log_threshold):
            search = _with_room(search, len(sentence.block_O) + 1)
            _expand(search, model, sentence, numbers, node)
    return search.nodes[: search.counts[0]], search.arcs[: search.counts[1]], search.heads_L[n + 1]


@njit(cache=True, nogil=True)
def completion_scores(
    source_A: NDArray[np.int32], target_A: NDArray[np.int32], score_A: NDArray[np.float64], goal: int, nodes: int
) -> NDArray[np.float64]:
    """The best score from each node to the goal, minus infinity where it cannot be reached; shape (nodes,).

    Arcs must be in an order where every arc stands before the arcs that leave its target.
    """
    best_N = np.full(nodes, -np.inf)
    if goal >= 0:
        best_N[goal] = 0.0
    for arc in range(len(source_A) - 1, -1, -1):
        through = score_A[arc] + best_N[target_A[arc]]
        if through > best_N[source_A[arc]]:
            best_N[source_A[arc]] = through
    return best_N


@njit(cache=True, inline="always")
def _cover(frontier: int, gap_start: int, gap_end: int, adjacent: bool) -> int:
    """What is covered, as one number."""
    return (((frontier << GAP_BITS) | gap_start) << (GAP_BITS + 1)) | (gap_end << 1) | (1 if adjacent else 0)


@njit(cache=True, inline="always")
def _uncover(cover: int) -> tuple[int, int, int, bool]:
    low = (1 << GAP_BITS) - 1
    return cover >> (2 * GAP_BITS + 1), (cover >> (GAP_BITS + 1)) & low, (cover >> 1) & low, cover & 1 == 1


@njit(cache=True, nogil=True)
def _expand(search: Search, model: ModelArrays, sentence: SentenceArrays, numbers: SearchNumbers, node: int) -> None:
    """All moves from one hypothesis; see `BlockMoves.expand`."""
    frontier, gap_start, gap_end, adjacent = _uncover(search.nodes[node].cover)
    n, longest = sentence.words, sentence.longest
    if gap_end > 0:
        _place(search, model, sentence, numbers, node, gap_start, gap_end, LEFT)
        return
    if frontier == n:
        score = 0.0
        if numbers.end_word >= 0:
            score = numbers.lm_weights_32[RIGHT, 0] * -step(model.lm, search.nodes[node].lm_state, numbers.end_word)[0]
        _add(search, sentence, numbers, node, score, _cover(n + 1, 0, 0, False), NONE, 0, NONE)
        return
    orientation = RIGHT if adjacent else NEUTRAL
    for end in range(frontier + 1, min(n, frontier + longest) + 1):
        _place(search, model, sentence, numbers, node, frontier, end, orientation)
    if not numbers.swaps:
        return
    for begin in range(frontier + 1, min(n - 1, frontier + longest) + 1):
        cell = frontier * longest + begin - frontier - 1
        fillable = False
        for option in range(sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]):
            fillable = fillable or sentence.left_O[option]
        if fillable:
            for end in range(begin + 1, min(n, begin + longest) + 1):
                _place(search, model, sentence, numbers, node, begin, end, NEUTRAL)


@njit(cache=True, nogil=True)
def _place(
    search: Search,
    model: ModelArrays,
    sentence: SentenceArrays,
    numbers: SearchNumbers,
    node: int,
    begin: int,
    end: int,
    orientation: int,
) -> None:
    """Every option of one source span with one orientation."""
    cell = begin * sentence.longest + end - begin - 1
    first, last = sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]
    if first == last:
        return
    parent = search.nodes[node]
    context, lm_state, frontier = parent.context, parent.lm_state, parent.cover >> (2 * GAP_BITS + 1)
    for option in range(first, last):
        block = sentence.block_O[option]
        score, after = _lm_score(model.lm, sentence, numbers.lm_weights_32, lm_state, option, orientation)
        if orientation != NEUTRAL and context >= 0 and block >= 0:
            row = find(model.bigrams, pack(context, block))
            if row >= 0:
                score += model.bigram_weights_U[row]
        search.scores[option], search.lm_states[option] = score, after
    normalizer = _log_sum_exp(search.scores, first, last) if numbers.local else 0.0
    if orientation == LEFT:
        cover = _cover(frontier, 0, 0, False)
    elif begin > frontier:
        cover = _cover(end, frontier, begin, False)
    else:
        cover = _cover(end, 0, 0, True)
    for option in range(first, last):
        if orientation == LEFT and not sentence.left_O[option]:
            continue
        block = sentence.block_O[option]
        behind = block if orientation != LEFT and block >= 0 and model.leads_B[block] else NONE
        score = search.scores[option] - normalizer
        label = option * 3 + orientation
        _add(search, sentence, numbers, node, score, cover, behind, search.lm_states[option], label)


@njit(cache=True, nogil=True)
def _lm_score(
    lm: NgramArrays,
    sentence: SentenceArrays,
    lm_weights_32: NDArray[np.float64],
    lm_state: int,
    option: int,
    orientation: int,
) -> tuple[float, int]:
    """w·f of an option after a history, without its block bigram, and the history behind it."""
    place = sentence.phrase_offsets_O1[option]
    logprob, lm_state = step(lm, lm_state, sentence.phrase_words_W[place])
    rest = 0.0
    for at in range(place + 1, sentence.phrase_offsets_O1[option + 1]):
        more, lm_state = step(lm, lm_state, sentence.phrase_words_W[at])
        rest -= more
    score = sentence.static_O3[option, orientation] + lm_weights_32[orientation, 0] * -logprob
    return score + lm_weights_32[orientation, 1] * rest, lm_state


@njit(cache=True, nogil=True)
def _log_sum_exp(scores: NDArray[np.float64], first: int, last: int) -> float:
    top = scores[first]
    for option in range(first + 1, last):
        top = max(top, scores[option])
    total = 0.0
    for option in range(first, last):
        total += np.exp(scores[option] - top)
    return float(top + np.log(total))


@njit(cache=True, nogil=True)
def _add(
    search: Search,
    sentence: SentenceArrays,
    numbers: SearchNumbers,
    parent: int,
    step_score: float,
    cover: int,
    context: int,
    lm_state: int,
    label: int,
) -> None:
    """Adds one move: a new hypothesis, or one more arc to the hypothesis of an equal state."""
    nodes = search.nodes
    mask = np.uint64(len(search.slots_H) - 1)
    slot = _slot(cover, context, lm_state, mask)
    node = search.slots_H[slot]
    while node >= 0:
        known = nodes[node]
        if known.cover == cover and known.context == context and known.lm_state == lm_state:
            break
        slot = (slot + np.uint64(1)) & mask
        node = search.slots_H[slot]
    score = step_score + (nodes[parent].score if parent >= 0 else 0.0)
    improved = node < 0 or score > nodes[node].score
    if node < 0:
        node = _new_node(search, sentence, cover, context, lm_state)
        search.slots_H[slot] = node
    if improved:
        nodes[node].score = score
    if parent >= 0 and (improved or numbers.every_arc):
        number = search.counts[1]
        search.counts[1] = number + 1
        arc = search.arcs[number]
        arc.source, arc.target, arc.label, arc.score = parent, node, label, step_score
        if improved:
            nodes[node].arc = number


@njit(cache=True, nogil=True)
def _new_node(search: Search, sentence: SentenceArrays, cover: int, context: int, lm_state: int) -> int:
    number = search.counts[0]
    search.counts[0] = number + 1
    frontier, gap_start, gap_end, _ = _uncover(cover)
    node = search.nodes[number]
    node.cover, node.context, node.lm_state, node.arc = cover, context, lm_state, NONE
    node.future = 0.0
    if frontier <= sentence.words:
        node.future = sentence.future_nn[gap_start, gap_end] + sentence.future_nn[frontier, sentence.words]
    level = frontier - (gap_end - gap_start)
    node.next = search.heads_L[level]
    search.heads_L[level] = number
    return int(number)


@njit(cache=True, inline="always")
def _slot(cover: int, context: int, lm_state: int, mask: np.uint64) -> np.uint64:
    return first_slot(np.uint64(cover) * np.uint64(0x9E3779B97F4A7C15) ^ pack(context, lm_state), mask)


@njit(cache=True, nogil=True)
def _survivors(search: Search, level: int, beam: int, log_threshold: float) -> NDArray[np.int64]:
    """The hypotheses of one coverage that are expanded, best first, equal ones in the order of creation."""
    size = 0
    top = -np.inf
    node = search.heads_L[level]
    while node >= 0:
        size += 1
        top = max(top, search.nodes[node].score + search.nodes[node].future)
        node = search.nodes[node].next
    chosen = np.empty(size, dtype=np.int64)
    cost = np.empty(size, dtype=np.float64)
    size = 0
    node = search.heads_L[level]
    while node >= 0:
        estimate = search.nodes[node].score + search.nodes[node].future
        if estimate >= top + log_threshold:
            chosen[size], cost[size] = node, -estimate
            size += 1
        node = search.nodes[node].next
    # The chain runs from the newest; the sort must be stable from the oldest.
    chosen, cost = chosen[:size][::-1].copy(), cost[:size][::-1].copy()
    if 0 < beam < size:
        near = cost <= np.partition(cost, beam - 1)[beam - 1]
        chosen, cost = chosen[near], cost[near]
        size = beam
    ordered: NDArray[np.int64] = chosen[np.argsort(cost, kind="mergesort")]
    return ordered[:size]


@njit(cache=True, nogil=True)
def _with_room(search: Search, more: int) -> Search:
    """The same search in arrays that can take `more` nodes and arcs."""
    nodes, arcs, slots_H = search.nodes, search.arcs, search.slots_H
    if search.counts[0] + more > len(nodes):
        nodes = np.empty(2 * len(nodes) + more, dtype=NODE)
        nodes[: search.counts[0]] = search.nodes[: search.counts[0]]
    if search.counts[1] + more > len(arcs):
        arcs = np.empty(2 * len(arcs) + more, dtype=ARC)
        arcs[: search.counts[1]] = search.arcs[: search.counts[1]]
    if 2 * (search.counts[0] + more) > len(slots_H):
        size = len(slots_H)
        while size < 4 * (search.counts[0] + more):
            size *= 2
        slots_H = np.full(size, NONE, dtype=np.int32)
        mask = np.uint64(size - 1)
        for number in range(search.counts[0]):
            node = nodes[number]
            slot = _slot(node.cover, node.context, node.lm_state, mask)
            while slots_H[slot] >= 0:
                slot = (slot + np.uint64(1)) & mask
            slots_H[slot] = number
    return Search(nodes, arcs, slots_H, search.heads_L, search.counts, search.scores, search.lm_states)
