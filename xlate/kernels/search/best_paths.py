"""Paths of a search graph: the k best, distinct by their words if requested, and sampled paths.

The k best are found by best-first search with the exact best completion of every node (the k shortest paths of a
directed acyclic graph; cf. Huang & Chiang 2005), so only paths at least as good as the next one are expanded. A path
waits in the heap with the arc it would take next; a node's arcs are sorted when the first path reaches it. Paths share
their beginnings: a path is its last label and the path before. Paths are sampled in proportion to exp(scale · score):
the sums over the paths from every node to the goal are computed once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Bools, Floats, Ints, Ints32
from xlate.compiled import embedded, inlined, inner, lent, loop
from xlate.kernels.memory import ROOT, Trie, child, grown, new_trie, room, spell


class GraphArcs(NamedTuple):
    """A arcs between `nodes` nodes, each before those that leave its target; node 0 is the start, goal -1 is none."""

    source_A: Ints32
    target_A: Ints32
    label_A: Ints32
    score_A: Floats
    goal: int
    nodes: int


class Paths(NamedTuple):
    """N derivations of L steps in total: those of derivation i are `labels_L[offsets_N1[i]:offsets_N1[i + 1]]`."""

    offsets_N1: Ints
    labels_L: Ints32


@loop
def leaving(source_A: Ints32, target_A: Ints32, reached_N: Floats) -> tuple[Ints, Ints32]:
    """The arcs that leave each node for one whose number in `reached_N` is not minus infinity: offsets (N+1), arcs."""
    offsets_N1 = np.zeros(len(reached_N) + 1, dtype=np.int64)
    for arc in range(len(source_A)):
        if reached_N[target_A[arc]] > -np.inf:
            offsets_N1[source_A[arc] + 1] += 1
    for node in range(len(reached_N)):
        offsets_N1[node + 1] += offsets_N1[node]
    place_N, order_A = offsets_N1[:-1].copy(), np.empty(offsets_N1[-1], dtype=np.int32)
    for arc in range(len(source_A)):
        if reached_N[target_A[arc]] > -np.inf:
            at = place_N[source_A[arc]]
            place_N[source_A[arc]] = at + 1
            order_A[at] = arc
    return offsets_N1, order_A


@inner
def completion_scores(source_A: Ints32, target_A: Ints32, score_A: Floats, goal: int, nodes: int) -> Floats:
    """The best score from each node to the goal, minus infinity where it cannot be reached; shape (nodes,).

    Arcs must be in an order where every arc comes before the arcs that leave its target.
    """
    best_N = np.full(nodes, -np.inf)
    if goal >= 0:
        best_N[goal] = 0.0
    for arc in range(len(source_A) - 1, -1, -1):
        through = score_A[arc] + best_N[target_A[arc]]
        if through > best_N[source_A[arc]]:
            best_N[source_A[arc]] = through
    return best_N


@loop
def path_scores(graph: GraphArcs, paths: Paths) -> Floats:
    """What each of the L steps along some paths from node 0 scores, NaN from where the graph lacks a path; (L,)."""
    source_A, target_A, label_A, score_A, _, nodes = graph
    first_N = np.full(nodes, len(source_A))
    for arc in range(len(source_A) - 1, -1, -1):
        first_N[source_A[arc]] = arc
    score_L = np.full(len(paths.labels_L), np.nan)
    for path in range(len(paths.offsets_N1) - 1):
        node = 0
        for at in range(paths.offsets_N1[path], paths.offsets_N1[path + 1]):
            arc = first_N[node]
            while arc < len(source_A) and (source_A[arc] != node or label_A[arc] != paths.labels_L[at]):
                arc += 1
            if arc == len(source_A):
                break
            score_L[at], node = score_A[arc], target_A[arc]
    return score_L


NONE = -1
# A waiting path: the cost of its score and best completion, its node, which of the node's arcs, its words and labels.
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
# Paths taken from the heap between two checks whether arrays must grow.
STEPS = 64


class Texts(NamedTuple):
    """The words of each label, and whether paths of the same words count once.

    Among paths of equal cost the oldest continues first, or with `newest_first` the newest. If costs come from counts,
    very many paths cost the same: the newest soon reaches the goal, while the oldest would wait for all others.
    """

    offsets_O1: Ints
    words_W: Ints32
    distinct: bool
    newest_first: bool = False


class Frontier(NamedTuple):
    """Waiting paths in order of arrival, a heap of their numbers, labels, and paths found.

    Arcs are grouped by the node they leave, with the cost of each to the goal; `sorted_N` says whose are already best
    first. `sizes` counts waiting paths, the heap, labels, and paths found. A path is a row of `label_K` and the row
    before, row 0 being the empty one. `known` numbers the words so far, `seen` the pairs of node and text.
    """

    graph: GraphArcs
    texts: Texts
    offsets_N1: Ints
    order_A: Ints32
    cost_A: Floats
    sorted_N: Bools
    waiting: AnyArray
    heap: Ints32
    label_K: Ints32
    before_K: Ints32
    found_score: Floats
    found_last: Ints32
    known: Trie
    seen: Trie
    sizes: Ints


@loop
def k_best_paths(graph: GraphArcs, texts: Texts, most: int) -> tuple[Ints, Ints32, Floats]:
    """The best `most` paths from node 0: offsets (N+1), labels, and scores, best first.

    Labels below 0, such as that of the end of the sentence, have no words and are omitted.
    """
    frontier, longest = _new_frontier(graph, texts, most), 1
    for label in range(len(texts.offsets_O1) - 1):
        longest = max(longest, texts.offsets_O1[label + 1] - texts.offsets_O1[label])
    if graph.goal >= 0:
        _push(frontier, 0, 0.0, 0, ROOT, ROOT)
    while frontier.sizes[1] > 0 and frontier.sizes[3] < most:
        frontier = _with_room(frontier, longest)
        _take(frontier, most)
    found = frontier.sizes[3]
    labels_L, path_offsets_N1 = spell(frontier.before_K, frontier.label_K, frontier.found_last[:found])
    return path_offsets_N1, labels_L, frontier.found_score[:found].copy()


@inner
def _new_frontier(graph: GraphArcs, texts: Texts, most: int) -> Frontier:
    source_A, target_A, _, score_A, goal, nodes = graph
    completion_N = completion_scores(source_A, target_A, score_A, goal, nodes)
    offsets_N1, order_A = leaving(source_A, target_A, completion_N)
    return Frontier(
        graph,
        texts,
        offsets_N1,
        order_A,
        -(score_A[order_A] + completion_N[target_A[order_A]]),
        np.zeros(nodes, dtype=np.bool_),
        np.empty(1024, dtype=WAITING),
        np.empty(1024, dtype=np.int32),
        np.empty(1024, dtype=np.int32),
        np.empty(1024, dtype=np.int32),
        np.empty(most),
        np.empty(most, dtype=np.int32),
        new_trie(1024),
        new_trie(1024),
        np.array([0, 0, 1, 0]),
    )


@inner
def _with_room(frontier: Frontier, longest: int) -> Frontier:
    """The same in arrays with room for `STEPS` more steps."""
    sizes = frontier.sizes
    return Frontier(
        frontier.graph,
        frontier.texts,
        frontier.offsets_N1,
        frontier.order_A,
        frontier.cost_A,
        frontier.sorted_N,
        grown(frontier.waiting, sizes[0], 2 * STEPS),
        grown(frontier.heap, sizes[1], 2 * STEPS),
        grown(frontier.label_K, sizes[2], STEPS),
        grown(frontier.before_K, sizes[2], STEPS),
        frontier.found_score,
        frontier.found_last,
        room(frontier.known, STEPS * longest),
        room(frontier.seen, STEPS),
        sizes,
    )


@loop
def _take(frontier: Frontier, most: int) -> None:
    """Extends the best waiting paths, in `STEPS` steps or fewer."""
    frontier = lent(frontier)
    graph, texts, sizes = frontier.graph, frontier.texts, frontier.sizes
    for _ in range(STEPS):
        if sizes[1] == 0 or sizes[3] == most:
            return
        path = frontier.waiting[frontier.heap[0]]
        score, node, rank = path.score, path.node, path.rank
        text, last = path.text, path.last
        _drop_top(frontier)
        _push(frontier, node, score, rank + 1, text, last)
        arc = frontier.order_A[frontier.offsets_N1[node] + rank]
        label, target = graph.label_A[arc], graph.target_A[arc]
        if texts.distinct:
            if label >= 0:
                for at in range(texts.offsets_O1[label], texts.offsets_O1[label + 1]):
                    text = child(frontier.known, text, texts.words_W[at])
            known = frontier.seen.size_1[0]
            if child(frontier.seen, target, text) < known:
                # Of two paths to a node with equal words, the worse can only repeat the better one's words.
                continue
        score += graph.score_A[arc]
        if label >= 0:
            frontier.label_K[sizes[2]], frontier.before_K[sizes[2]] = label, last
            last = sizes[2]
            sizes[2] += 1
        if target == graph.goal:
            frontier.found_score[sizes[3]], frontier.found_last[sizes[3]] = score, last
            sizes[3] += 1
        else:
            _push(frontier, target, score, 0, text, last)


@embedded
def _push(frontier: Frontier, node: int, score: float, rank: int, text: int, last: int) -> None:
    """Adds a path with one of its node's arcs to the waiting ones, if the node has that many."""
    first, end = frontier.offsets_N1[node], frontier.offsets_N1[node + 1]
    if first + rank >= end:
        return
    if not frontier.sorted_N[node]:
        _sort(frontier.cost_A, frontier.order_A, first, end)
        frontier.sorted_N[node] = True
    number = frontier.sizes[0]
    path = frontier.waiting[number]
    path.cost, path.score, path.node, path.rank = frontier.cost_A[first + rank] - score, score, node, rank
    path.text, path.last = text, last
    frontier.sizes[0] = number + 1
    at = frontier.sizes[1]
    frontier.sizes[1] = at + 1
    while at > 0 and _before(frontier, number, frontier.heap[(at - 1) >> 1]):
        frontier.heap[at] = frontier.heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    frontier.heap[at] = number


@inner
def _sort(cost_A: Floats, order_A: Ints32, first: int, end: int) -> None:
    """Sorts the arcs of a node, best first, keeping the order of equal ones."""
    order = np.argsort(cost_A[first:end], kind="mergesort")
    cost_A[first:end] = cost_A[first:end][order]
    order_A[first:end] = order_A[first:end][order]


@inlined
def _before(frontier: Frontier, one: int, other: int) -> bool:
    """Whether a waiting path comes before another: the cheaper one; on a tie, the older one or the newer one."""
    costs = frontier.waiting[one].cost, frontier.waiting[other].cost
    if costs[0] != costs[1]:
        return bool(costs[0] < costs[1])
    return one > other if frontier.texts.newest_first else one < other


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


@inlined
def log_add(a: float, b: float) -> float:
    """ln(e^a + e^b); minus infinity is the logarithm of 0."""
    high, low = max(a, b), min(a, b)
    if low == -np.inf:
        return high
    return float(high + np.log1p(np.exp(low - high)))


@loop
def log_sums(source_A: Ints32, target_A: Ints32, score_A: Floats, goal: int, nodes: int) -> Floats:
    """The natural log of the sum of exp(score) over all paths from each node to the goal, shape (nodes,).

    It is minus infinity where there is none. Arcs must be in an order where every arc comes before the arcs that leave
    its target.
    """
    sum_N = np.full(nodes, -np.inf)
    sum_N[goal] = 0.0
    for arc in range(len(source_A) - 1, -1, -1):
        source = source_A[arc]
        sum_N[source] = log_add(sum_N[source], sum_N[target_A[arc]] + score_A[arc])
    return sum_N


def sample_paths(
    graph: GraphArcs, scale: float, draws: int, generator: np.random.Generator
) -> tuple[Ints, Ints32, Ints]:
    """Samples paths from node 0: offsets (N+1) and labels of the distinct ones, best first, and the count of each.

    The last label of every path, that of the end of the sentence, is omitted. Without a goal there are no paths.
    """
    if graph.goal < 0:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    trie, end_D, score_D = _drawn(graph, scale * graph.score_A, draws, generator)
    end_N, first_N, count_N = np.unique(end_D, return_index=True, return_counts=True)
    best_N = np.argsort(-score_D[first_N], kind="stable")
    arcs_L, offsets_N1 = spell(trie.parent_N, trie.word_N, trie.parent_N[end_N[best_N]])
    return offsets_N1, graph.label_A[arcs_L], count_N[best_N]


@loop
def _drawn(
    graph: GraphArcs, scaled_A: Floats, draws: int, generator: np.random.Generator
) -> tuple[Trie, Ints32, Floats]:
    """Samples paths in proportion to exp of their scaled scores: the node of each in a trie of arcs, and its score."""
    source_A, target_A, _, score_A, goal, nodes = graph
    sum_N = log_sums(source_A, target_A, scaled_A, goal, nodes)
    offsets_N1, order_A = leaving(source_A, target_A, sum_N)
    trie = new_trie(1024)
    end_D, score_D = np.empty(draws, dtype=np.int32), np.zeros(draws)
    for draw in range(draws):
        node, place, steps = 0, ROOT, 0
        while node != goal:
            if steps % STEPS == 0:
                trie = room(trie, STEPS)
            steps += 1
            left, arc = generator.random(), NONE
            for at in range(offsets_N1[node], offsets_N1[node + 1]):
                # Rounding may leave a remainder: then use the last arc.
                arc = order_A[at]
                left -= np.exp(scaled_A[arc] + sum_N[target_A[arc]] - sum_N[node])
                if left <= 0.0:
                    break
            place = child(trie, place, arc)
            score_D[draw] += score_A[arc]
            node = target_A[arc]
        end_D[draw] = place
    return trie, end_D, score_D
