"""Paths drawn by lot from a search graph, each as often as its share of exp(scale · score) over all paths.

Sums over the paths from every node to the goal are taken once; a path is then drawn from the first node on.
"""

from __future__ import annotations

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.compiled import loop
from xlate.kernels.memory.trie import ROOT, child, new_trie, room
from xlate.kernels.search.search_graph import GraphArcs, leaving

Sample = tuple[Ints, Ints32, Ints]


@loop
def log_sums(source_A: Ints32, target_A: Ints32, score_A: Floats, goal: int, nodes: int, scale: float) -> Floats:
    """The natural log of the sum of exp(scale · score) over all paths from each node to the goal; shape (nodes,).

    Arcs must be in an order where every arc stands before the arcs that leave its target.
    """
    sum_N = np.full(nodes, -np.inf)
    if goal >= 0:
        sum_N[goal] = 0.0
    for arc in range(len(source_A) - 1, -1, -1):
        through = scale * score_A[arc] + sum_N[target_A[arc]]
        before = sum_N[source_A[arc]]
        top = max(before, through)
        if top > -np.inf:
            sum_N[source_A[arc]] = top + np.log(np.exp(before - top) + np.exp(through - top))
    return sum_N


@loop
def sample_paths(graph: GraphArcs, scale: float, draws: int, generator: np.random.Generator) -> Sample:
    """Draws paths from node 0: offsets (N+1) and labels of the different ones, best first, and how often each came.

    The last label of every path, that of the end of the sentence, is left out. There are no paths without a goal.
    """
    source_A, target_A, label_A, score_A, goal, nodes = graph
    if goal < 0:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    sum_N = log_sums(source_A, target_A, score_A, goal, nodes, scale)
    offsets_N1, order_A = leaving(source_A, target_A, sum_N)
    trie, longest = new_trie(1024), 256
    end_D, score_D = np.empty(draws, dtype=np.int64), np.empty(draws)
    for draw in range(draws):
        node, place, score = 0, ROOT, 0.0
        steps = 0
        while node != goal:
            if steps % longest == 0:
                trie = room(trie, longest)
            steps += 1
            arc = _draw(node, offsets_N1, order_A, target_A, score_A, sum_N, scale, generator.random())
            place = child(trie, place, arc)
            score += score_A[arc]
            node = target_A[arc]
        end_D[draw], score_D[draw] = place, score
    first_N, count_N = _different(end_D, score_D)
    offsets_P1 = np.zeros(len(first_N) + 1, dtype=np.int64)
    for n in range(len(first_N)):
        place, length = trie.parent_N[end_D[first_N[n]]], 0
        while place != ROOT:
            place, length = trie.parent_N[place], length + 1
        offsets_P1[n + 1] = offsets_P1[n] + length
    labels_L = np.empty(offsets_P1[-1], dtype=np.int32)
    for n in range(len(first_N)):
        place, at = trie.parent_N[end_D[first_N[n]]], offsets_P1[n + 1] - 1
        while place != ROOT:
            labels_L[at] = label_A[trie.word_N[place]]
            place, at = trie.parent_N[place], at - 1
    return offsets_P1, labels_L, count_N


@loop
def _draw(
    node: int,
    offsets_N1: Ints,
    order_A: Ints32,
    target_A: Ints32,
    score_A: Floats,
    sum_N: Floats,
    scale: float,
    left: float,
) -> int:
    """The arc that leaves a node at a share of `left`, from 0 to 1."""
    last = order_A[offsets_N1[node]]
    for at in range(offsets_N1[node], offsets_N1[node + 1]):
        last = order_A[at]
        left -= np.exp(scale * score_A[last] + sum_N[target_A[last]] - sum_N[node])
        if left <= 0.0:
            break
    # Rounding may leave a little: then it is the last one.
    return int(last)


@loop
def _different(end_D: Ints, score_D: Floats) -> tuple[Ints, Ints]:
    """The first draw of each different end, those of the best scores first, and how many draws have it."""
    by_end = np.argsort(end_D, kind="mergesort")
    first_N, count_N = np.empty(len(end_D), dtype=np.int64), np.zeros(len(end_D), dtype=np.int64)
    found = 0
    for i in range(len(by_end)):
        if i == 0 or end_D[by_end[i]] != end_D[by_end[i - 1]]:
            first_N[found] = by_end[i]
            found += 1
        count_N[found - 1] += 1
    first_N, count_N = first_N[:found], count_N[:found]
    best = np.argsort(-score_D[first_N], kind="mergesort")
    return first_N[best], count_N[best]
