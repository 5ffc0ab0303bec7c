"""The k best paths of a search graph, distinct by their words if asked; `xlate.search.nbest` is the readable form.

Best-first search with the exact best completion of every node. A path waits in the heap with the arc it would go on
with; a node's arcs are sorted when the first path comes to it. Paths share their beginnings: a path is its last label
and the path before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Bools, Floats, Ints, Ints32
from xlate.compiled import embedded, inlined, lent, loop
from xlate.kernels.memory.hashing import whole
from xlate.kernels.memory.trie import Trie, child, new_trie, room
from xlate.kernels.search.search_graph import GraphArcs, completion_scores, leaving

NONE = -1
# A path that waits: what its score and best completion cost, its node, which of the node's arcs, its words and labels.
WAITING = np.dtype(
    [
        ("cost", np.float64),
        ("score", np.float64),
        ("node", np.int32),
        ("rank", np.int32),
        ("text", np.int32),
        ("last", np.int32),
    ]
)
LINK = np.dtype([("label", np.int32), ("before", np.int32)])
# Paths taken from the heap between two looks at whether arrays must grow.
STEPS = 64


class Arcs(NamedTuple):
    """A arcs by the node they leave, and what each costs to the goal; `sorted_N` tells whose are best first already."""

    offsets_N1: Ints
    order_A: Ints32
    cost_A: Floats
    sorted_N: Bools
    target_A: Ints32
    label_A: Ints32
    score_A: Floats


class Texts(NamedTuple):
    """The words of each label, and whether paths of the same words count once.

    Of paths that cost the same the oldest goes on, or with `newest_first` the newest. Where costs come from counts,
    very many paths cost the same: the newest reaches the goal soon, while the oldest would wait for all others.
    """

    offsets_O1: Ints
    words_W: Ints32
    distinct: bool
    newest_first: bool = False


class Frontier(NamedTuple):
    """Paths that wait, in the order they came, a heap of their numbers, labels, and paths found.

    `sizes` counts waiting paths, the heap, labels, and paths found. `texts` numbers the words so far, `seen` the pairs
    of node and text. `newest_first` is that of `Texts`.
    """

    waiting: AnyArray
    heap: Ints32
    links: AnyArray
    found_score: Floats
    found_last: Ints32
    texts: Trie
    seen: Trie
    sizes: Ints
    newest_first: bool


@loop
def k_best_paths(graph: GraphArcs, texts: Texts, most: int) -> tuple[Ints, Ints32, Floats]:
    """The best `most` paths from node 0: offsets (N+1) and labels without the last one, scores, best first.

    Labels below 0 have no words. The last label of every path, that of the end of the sentence, is left out.
    """
    arcs, goal = _by_node(graph), graph.goal
    longest = whole(1)
    for label in range(len(texts.offsets_O1) - 1):
        longest = max(longest, texts.offsets_O1[label + 1] - texts.offsets_O1[label])
    frontier = _new_frontier(most, texts.newest_first)
    if goal >= 0:
        _push(arcs, frontier, whole(0), 0.0, whole(0), whole(0), whole(NONE))
    while frontier.sizes[1] > 0 and frontier.sizes[3] < most:
        frontier = _with_room(frontier, longest)
        _take(arcs, texts, frontier, goal, most)
    return _spell(frontier)


@loop
def _by_node(graph: GraphArcs) -> Arcs:
    """The arcs that lead to the goal."""
    source_A, target_A, label_A, score_A, goal, nodes = graph
    completion_N = completion_scores(source_A, target_A, score_A, goal, nodes)
    offsets_N1, order_A = leaving(source_A, target_A, completion_N)
    cost_A = np.empty(len(order_A))
    for at in range(len(order_A)):
        cost_A[at] = -(score_A[order_A[at]] + completion_N[target_A[order_A[at]]])
    return Arcs(offsets_N1, order_A, cost_A, np.zeros(nodes, dtype=np.bool_), target_A, label_A, score_A)


@loop
def _new_frontier(most: int, newest_first: bool) -> Frontier:
    return Frontier(
        np.empty(1024, dtype=WAITING),
        np.empty(1024, dtype=np.int32),
        np.empty(1024, dtype=LINK),
        np.empty(most),
        np.empty(most, dtype=np.int32),
        new_trie(1024),
        new_trie(1024),
        np.zeros(4, dtype=np.int64),
        newest_first,
    )


@loop
def _with_room(frontier: Frontier, longest: int) -> Frontier:
    """The same in arrays that can take `STEPS` more steps."""
    waiting, heap, links, found_score, found_last, texts, seen, sizes, newest_first = frontier
    if sizes[0] + 2 * STEPS > len(waiting):
        waiting = np.empty(2 * len(waiting) + 2 * STEPS, dtype=WAITING)
        waiting[: sizes[0]] = frontier.waiting[: sizes[0]]
        heap = np.empty(len(waiting), dtype=np.int32)
        heap[: sizes[1]] = frontier.heap[: sizes[1]]
    if sizes[2] + STEPS > len(links):
        links = np.empty(2 * len(links) + STEPS, dtype=LINK)
        links[: sizes[2]] = frontier.links[: sizes[2]]
    texts, seen = room(texts, STEPS * longest), room(seen, STEPS)
    return Frontier(waiting, heap, links, found_score, found_last, texts, seen, sizes, newest_first)


@loop
def _take(arcs: Arcs, texts: Texts, frontier: Frontier, goal: int, most: int) -> None:
    """Goes on with the best paths that wait, in `STEPS` steps or fewer."""
    arcs, texts, frontier = lent(arcs), lent(texts), lent(frontier)
    sizes = frontier.sizes
    for _ in range(STEPS):
        if sizes[1] == 0 or sizes[3] == most:
            return
        path = frontier.waiting[frontier.heap[0]]
        score, node, rank = path.score, whole(path.node), whole(path.rank)
        text, last = whole(path.text), whole(path.last)
        _drop_top(frontier)
        _push(arcs, frontier, node, score, rank + 1, text, last)
        arc = arcs.order_A[arcs.offsets_N1[node] + rank]
        label, target = arcs.label_A[arc], whole(arcs.target_A[arc])
        if texts.distinct:
            if label >= 0:
                for at in range(texts.offsets_O1[label], texts.offsets_O1[label + 1]):
                    text = child(frontier.texts, text, texts.words_W[at])
            known = frontier.seen.size_1[0]
            if child(frontier.seen, target, text) < known:
                # Of two ways to a node with equal words, the worse can only repeat the better one's words.
                continue
        score += arcs.score_A[arc]
        if target == goal:
            frontier.found_score[sizes[3]], frontier.found_last[sizes[3]] = score, last
            sizes[3] += 1
            continue
        link = frontier.links[sizes[2]]
        link.label, link.before = label, last
        sizes[2] += 1
        _push(arcs, frontier, target, score, whole(0), text, whole(sizes[2] - 1))


@embedded
def _push(arcs: Arcs, frontier: Frontier, node: int, score: float, rank: int, text: int, last: int) -> None:
    """Lets a path wait with one of its node's arcs, if there are so many."""
    first, end = arcs.offsets_N1[node], arcs.offsets_N1[node + 1]
    if first + rank >= end:
        return
    if not arcs.sorted_N[node]:
        _sort(arcs, first, end)
        arcs.sorted_N[node] = True
    number = frontier.sizes[0]
    path = frontier.waiting[number]
    path.cost, path.score, path.node, path.rank = arcs.cost_A[first + rank] - score, score, node, rank
    path.text, path.last = text, last
    frontier.sizes[0] = number + 1
    at = frontier.sizes[1]
    frontier.sizes[1] = at + 1
    while at > 0 and _before(frontier, number, frontier.heap[(at - 1) >> 1]):
        frontier.heap[at] = frontier.heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    frontier.heap[at] = number


@loop
def _sort(arcs: Arcs, first: int, end: int) -> None:
    """Puts the arcs of a node in order, best first, equal ones as they were."""
    order = np.argsort(arcs.cost_A[first:end], kind="mergesort")
    arcs.cost_A[first:end] = arcs.cost_A[first:end][order]
    arcs.order_A[first:end] = arcs.order_A[first:end][order]


@inlined
def _before(frontier: Frontier, one: int, other: int) -> bool:
    """Whether a waiting path comes before another: the cheaper, of equals the older, or the newer."""
    costs = frontier.waiting[one].cost, frontier.waiting[other].cost
    if costs[0] != costs[1]:
        return bool(costs[0] < costs[1])
    return one > other if frontier.newest_first else one < other


@embedded
def _drop_top(frontier: Frontier) -> None:
    heap, size = frontier.heap, frontier.sizes[1] - 1
    frontier.sizes[1] = size
    number, at = heap[size], 0
    while 2 * at + 1 < size:
        best = 2 * at + 1
        if best + 1 < size and _before(frontier, heap[best + 1], heap[best]):
            best += 1
        if not _before(frontier, heap[best], number):
            break
        heap[at] = heap[best]
        at = best
    heap[at] = number


@loop
def _spell(frontier: Frontier) -> tuple[Ints, Ints32, Floats]:
    found = frontier.sizes[3]
    offsets_N1 = np.zeros(found + 1, dtype=np.int64)
    for n in range(found):
        length, last = 0, frontier.found_last[n]
        while last != NONE:
            length, last = length + 1, frontier.links[last].before
        offsets_N1[n + 1] = offsets_N1[n] + length
    labels_L = np.empty(offsets_N1[found], dtype=np.int32)
    for n in range(found):
        at, last = offsets_N1[n + 1] - 1, frontier.found_last[n]
        while last != NONE:
            labels_L[at] = frontier.links[last].label
            at, last = at - 1, frontier.links[last].before
    return offsets_N1, labels_L, frontier.found_score[:found].copy()
