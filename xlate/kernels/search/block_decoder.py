"""Beam search of the block decoder as one loop over plain arrays; `xlate.models.block.moves` is its readable form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from xlate.kernels.features.bigram_features import BigramFamilies, bigrams_weight
from xlate.kernels.lm.ngram import NgramArrays, step
from xlate.kernels.memory.hashing import EMPTY, first_slot, pack
from xlate.kernels.memory.lent import lent
from xlate.kernels.search.spans import log_sum_exp, phrase_costs

LEFT, RIGHT, NEUTRAL = 0, 1, 2
NONE = -1
NO_MOVE = -2
GAP_BITS = 20
LONGEST_SENTENCE = (1 << GAP_BITS) - 2

# A hypothesis: what it covers (packed), the block that stands for its last one in sparse features, the history, its
# best arc, the next one of equal coverage.
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
# What the language model said of an option after a history; direct-mapped, so that a new entry replaces an old one.
MEMO = np.dtype([("key", np.uint64), ("first", np.float64), ("rest", np.float64), ("after", np.int64)])
MEMO_SIZE = 1 << 14
ARC = np.dtype([("source", np.int32), ("target", np.int32), ("label", np.int32), ("score", np.float64)])


class ModelArrays(NamedTuple):
    """What stays the same from sentence to sentence."""

    lm: NgramArrays
    begin_state: int
    features: BigramFamilies
    feature_weights_F: NDArray[np.float64]
    context_B: NDArray[np.int32]


class SentenceArrays(NamedTuple):
    """The options of n words as `xlate.models.block.options.SentenceOptions` has them, and the estimates of spans."""

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
    memo: NDArray[Any]


class Workspace(NamedTuple):
    """What is written for one hypothesis or one sentence and needs no growth.

    `spans_X3` holds the spans (begin, end, orientation) a hypothesis may translate next. The moves of one span lie at
    the numbers of its options (one more place is for moves without option): step scores, histories and bigram contexts
    behind them, and labels, `NO_MOVE` where an option may not be used. `context_O` is what is to be
    remembered of an option's block, `fillable_C` whether a cell has an option that may be generated to the left.
    """

    spans_X3: NDArray[np.int64]
    scores_O1: NDArray[np.float64]
    lm_states_O1: NDArray[np.int64]
    contexts_O1: NDArray[np.int64]
    labels_O1: NDArray[np.int64]
    context_O: NDArray[np.int32]
    fillable_C: NDArray[np.bool_]


@njit(cache=True, nogil=True)
def search_blocks(
    model: ModelArrays, sentence: SentenceArrays, numbers: SearchNumbers
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Searches one sentence; returns nodes (`NODE`), arcs (`ARC`) and the number of the goal, -1 when there is none.

    Without `every_arc` only arcs that improved a hypothesis are kept, which is all the best path needs.
    """
    n, extra = sentence.words, len(sentence.block_O)
    nobody = int(np.int64(NONE))  # not a literal, for which numba would compile a second version
    work = _workspace(model, sentence)
    search = _empty_search(n)
    work.scores_O1[extra], work.lm_states_O1[extra] = 0.0, model.begin_state
    _add_moves(search, sentence, work, numbers.every_arc, nobody, _cover(0, 0, 0, False), extra, extra + 1)
    for level in range(n):
        for node in _survivors(search.nodes, search.heads_L[level], numbers.beam, numbers.log_threshold):
            search = _with_room(search, extra + 1)
            cover = search.nodes[node].cover
            for x in range(_next_spans(cover, n, sentence.longest, work.fillable_C, numbers.swaps, work.spans_X3)):
                begin, end, orientation = work.spans_X3[x, 0], work.spans_X3[x, 1], work.spans_X3[x, 2]
                cell = begin * sentence.longest + end - begin - 1
                first, last = sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]
                if first < last:
                    _score_moves(model, sentence, numbers, work, search, node, orientation, first, last)
                    behind = _cover_after(cover, begin, end, orientation)
                    _add_moves(search, sentence, work, numbers.every_arc, node, behind, first, last)
    for node in _survivors(search.nodes, search.heads_L[n], numbers.beam, numbers.log_threshold):
        search = _with_room(search, extra + 1)
        work.scores_O1[extra], work.lm_states_O1[extra] = 0.0, 0
        if numbers.end_word >= 0:
            cost = -step(model.lm, search.nodes[node].lm_state, numbers.end_word)[0]
            work.scores_O1[extra] = numbers.lm_weights_32[RIGHT, 0] * cost
        _add_moves(search, sentence, work, numbers.every_arc, node, _cover(n + 1, 0, 0, False), extra, extra + 1)
    return search.nodes[: search.counts[0]], search.arcs[: search.counts[1]], search.heads_L[n + 1]


@njit(cache=True, nogil=True)
def _workspace(model: ModelArrays, sentence: SentenceArrays) -> Workspace:
    options, cells = len(sentence.block_O), len(sentence.cell_offsets_C1) - 1
    context_O = np.full(options, NONE, dtype=np.int32)
    for option in range(options):
        block = sentence.block_O[option]
        if block >= 0:
            context_O[option] = model.context_B[block]
    fillable_C = np.zeros(cells, dtype=np.bool_)
    for cell in range(cells):
        for option in range(sentence.cell_offsets_C1[cell], sentence.cell_offsets_C1[cell + 1]):
            fillable_C[cell] |= sentence.left_O[option]
    return Workspace(
        np.empty((sentence.longest * (sentence.longest + 1), 3), dtype=np.int64),
        np.empty(options + 1, dtype=np.float64),
        np.empty(options + 1, dtype=np.int64),
        np.full(options + 1, NONE, dtype=np.int64),
        np.full(options + 1, NONE, dtype=np.int64),
        context_O,
        fillable_C,
    )


@njit(cache=True, nogil=True)
def _empty_search(words: int) -> Search:
    memo = np.empty(MEMO_SIZE, dtype=MEMO)
    memo["key"][:] = EMPTY
    return Search(
        np.empty(1024, dtype=NODE),
        np.empty(4096, dtype=ARC),
        np.full(4096, NONE, dtype=np.int32),
        np.full(words + 2, NONE, dtype=np.int32),
        np.zeros(2, dtype=np.int64),
        memo,
    )


@njit(cache=True, inline="always")
def _cover(frontier: int, gap_start: int, gap_end: int, adjacent: bool) -> int:
    """What is covered, as one number."""
    return (((frontier << GAP_BITS) | gap_start) << (GAP_BITS + 1)) | (gap_end << 1) | (1 if adjacent else 0)


@njit(cache=True, inline="always")
def _uncover(cover: int) -> tuple[int, int, int, bool]:
    low = (1 << GAP_BITS) - 1
    return cover >> (2 * GAP_BITS + 1), (cover >> (GAP_BITS + 1)) & low, (cover >> 1) & low, cover & 1 == 1


@njit(cache=True, nogil=True)
def _next_spans(
    cover: int, n: int, longest: int, fillable_C: NDArray[np.bool_], swaps: bool, spans_X3: NDArray[np.int64]
) -> int:
    """Writes the spans that may be translated next, with their orientations; see `BlockMoves.expand`."""
    frontier, gap_start, gap_end, adjacent = _uncover(cover)
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


@njit(cache=True, nogil=True)
def _score_moves(
    model: ModelArrays,
    sentence: SentenceArrays,
    numbers: SearchNumbers,
    work: Workspace,
    search: Search,
    node: int,
    orientation: int,
    first: int,
    last: int,
) -> None:
    """Writes the moves of one hypothesis over the options of one span; see `BlockMoves.cell_scores`."""
    model, sentence, numbers = lent(model), lent(sentence), lent(numbers)
    work, search = lent(work), lent(search)
    memo, scores_O1, static_O3 = search.memo, work.scores_O1, sentence.static_O3
    lm_state, context = search.nodes[node].lm_state, search.nodes[node].context
    first_weight, rest_weight = numbers.lm_weights_32[orientation, 0], numbers.lm_weights_32[orientation, 1]
    for option in range(first, last):
        key = pack(lm_state, option)
        known = memo[first_slot(key, np.uint64(MEMO_SIZE - 1))]
        if known.key != key:
            costs = phrase_costs(model.lm, sentence.phrase_words_W, sentence.phrase_offsets_O1, option, lm_state)
            known.key = key
            known.first, known.rest, known.after = costs
        score = static_O3[option, orientation] + first_weight * known.first + rest_weight * known.rest
        block = sentence.block_O[option]
        if orientation != NEUTRAL and context >= 0 and block >= 0:
            score += bigrams_weight(model.features, model.feature_weights_F, context, block)
        scores_O1[option] = score
        work.lm_states_O1[option] = known.after
        work.contexts_O1[option] = work.context_O[option] if orientation != LEFT else NONE
        work.labels_O1[option] = option * 3 + orientation if orientation != LEFT or sentence.left_O[option] else NO_MOVE
    if numbers.local:
        normalizer = log_sum_exp(scores_O1, first, last)
        for option in range(first, last):
            scores_O1[option] -= normalizer


@njit(cache=True, inline="always")
def _cover_after(cover: int, begin: int, end: int, orientation: int) -> int:
    frontier = cover >> (2 * GAP_BITS + 1)
    if orientation == LEFT:
        return _cover(frontier, 0, 0, False)
    if begin > frontier:
        return _cover(end, frontier, begin, False)
    return _cover(end, 0, 0, True)


@njit(cache=True, nogil=True)
def _add_moves(
    search: Search,
    sentence: SentenceArrays,
    work: Workspace,
    every_arc: bool,
    parent: int,
    cover: int,
    first: int,
    last: int,
) -> None:
    """Adds moves to what `cover` says: new hypotheses, or more arcs to hypotheses of equal states."""
    search, sentence, work = lent(search), lent(sentence), lent(work)
    nodes, arcs, slots_H, counts = search.nodes, search.arcs, search.slots_H, search.counts
    mask = np.uint64(len(slots_H) - 1)
    level, future = _level_and_future(cover, sentence.words, sentence.future_nn)
    before = nodes[parent].score if parent >= 0 else 0.0
    for move in range(first, last):
        if work.labels_O1[move] == NO_MOVE:
            continue
        context, lm_state = work.contexts_O1[move], work.lm_states_O1[move]
        slot = _slot(cover, context, lm_state, mask)
        node = slots_H[slot]
        while node >= 0:
            if nodes[node].cover == cover and nodes[node].context == context and nodes[node].lm_state == lm_state:
                break
            slot = (slot + np.uint64(1)) & mask
            node = slots_H[slot]
        if node < 0:
            node = counts[0]
            counts[0] = node + 1
            slots_H[slot] = node
            _write_node(nodes, node, cover, context, lm_state, future, search.heads_L[level])
            search.heads_L[level] = node
        score = before + work.scores_O1[move]
        improved = score > nodes[node].score
        if improved:
            nodes[node].score = score
            nodes[node].arc = counts[1] if parent >= 0 else NONE
        if parent >= 0 and (improved or every_arc):
            arc = arcs[counts[1]]
            arc.source, arc.target, arc.label, arc.score = parent, node, work.labels_O1[move], work.scores_O1[move]
            counts[1] += 1


@njit(cache=True, nogil=True)
def _write_node(
    nodes: NDArray[Any], number: int, cover: int, context: int, lm_state: int, future: float, older: int
) -> None:
    node = nodes[number]
    node.cover = cover
    node.context = context
    node.lm_state = lm_state
    node.score = -np.inf
    node.future = future
    node.arc = NONE
    node.next = older


@njit(cache=True, nogil=True)
def _level_and_future(cover: int, n: int, future_nn: NDArray[np.float64]) -> tuple[int, float]:
    """How many words are covered (one more at the end), and the estimate of the gap and of what is behind."""
    frontier, gap_start, gap_end, _ = _uncover(cover)
    if frontier > n:
        return frontier, 0.0
    return frontier - (gap_end - gap_start), future_nn[gap_start, gap_end] + future_nn[frontier, n]


@njit(cache=True, inline="always")
def _slot(cover: int, context: int, lm_state: int, mask: np.uint64) -> np.uint64:
    return first_slot(np.uint64(cover) * np.uint64(0x9E3779B97F4A7C15) ^ pack(context, lm_state), mask)


@njit(cache=True, nogil=True)
def _survivors(nodes: NDArray[Any], newest: int, beam: int, log_threshold: float) -> NDArray[np.int64]:
    """Those of a chain of hypotheses that are expanded, best first, equal ones in the order of creation."""
    size = 0
    top = -np.inf
    node = newest
    while node >= 0:
        size += 1
        top = max(top, nodes[node].score + nodes[node].future)
        node = nodes[node].next
    chosen = np.empty(size, dtype=np.int64)
    cost = np.empty(size, dtype=np.float64)
    # Filled from behind: the chain begins with the newest, and the sort must be stable from the oldest.
    at = size
    node = newest
    while node >= 0:
        estimate = nodes[node].score + nodes[node].future
        if estimate >= top + log_threshold:
            at -= 1
            chosen[at], cost[at] = node, -estimate
        node = nodes[node].next
    ordered: NDArray[np.int64] = chosen[at:][np.argsort(cost[at:], kind="mergesort")]
    return ordered[:beam] if beam > 0 else ordered


@njit(cache=True, nogil=True)
def _with_room(search: Search, more: int) -> Search:
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
            slot = _slot(nodes[number].cover, nodes[number].context, nodes[number].lm_state, mask)
            while slots_H[slot] >= 0:
                slot = (slot + np.uint64(1)) & mask
            slots_H[slot] = number
    return Search(nodes, arcs, slots_H, search.heads_L, search.counts, search.memo)
