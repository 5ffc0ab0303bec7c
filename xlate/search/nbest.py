"""The best paths of a search graph."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints
from xlate.kernels.search.best_paths import completion_scores
from xlate.search.graph import SearchGraph

Words = tuple[str, ...]


def best_paths(
    graph: SearchGraph, words_of: Callable[[int], Words] | None = None, *, newest_first: bool = False
) -> Iterator[tuple[float, list[int]]]:
    """Yields (score, labels) of the paths from start to goal, best first, lazily.

    Best-first search with the exact best completion of every node, so nothing is expanded that is not on a path at
    least as good as the next one (the k shortest paths of a directed acyclic graph; cf. Huang & Chiang 2005).

    Args:
        graph: of a finished search.
        words_of: target words of a label; when given, of the paths with equal words only the best is yielded. Exact:
            of two ways to one node with equal words so far, the worse one can only repeat the better one's words.
        newest_first: of paths that are equally good the newest goes on, not the oldest.
    """
    return _BestPaths(graph, words_of, -1 if newest_first else 1).walk()


class _Link(NamedTuple):
    """The last label of a path, and the path before it."""

    label: int
    before: _Link | None


@dataclass(order=True)
class _Path:
    """A path to the source of the arc it goes on with; `rank` numbers that arc among the node's, best first."""

    cost: float
    number: int
    node: int = field(compare=False)
    score: float = field(compare=False)
    rank: int = field(compare=False)
    text: int = field(compare=False)
    last: _Link | None = field(compare=False)


class _BestPaths:
    """The arcs that lead to the goal, sorted for each node by score plus best completion."""

    def __init__(self, graph: SearchGraph, words_of: Callable[[int], Words] | None, direction: int) -> None:
        self.graph = graph
        self.direction = direction
        self.words_of = words_of
        self.offsets_N1, self.order_A, self.cost_A = _sorted_arcs(graph)
        self.seen: set[tuple[int, int]] = set()
        self.texts: dict[tuple[int, Words], int] = {}
        self.heap: list[_Path] = []
        self.pushed = 0

    def walk(self) -> Iterator[tuple[float, list[int]]]:
        """All paths, best first."""
        graph = self.graph
        if graph.goal < 0:
            return
        self._push(0, 0.0, 0, 0, None)
        while self.heap:
            path = heapq.heappop(self.heap)
            self._push(path.node, path.score, path.rank + 1, path.text, path.last)
            arc = int(self.order_A[self.offsets_N1[path.node] + path.rank])
            label, target = int(graph.label_A[arc]), int(graph.target_A[arc])
            text = self._text(path.text, label)
            if self.words_of is not None:
                if (target, text) in self.seen:
                    continue
                self.seen.add((target, text))
            score, last = path.score + float(graph.score_A[arc]), _Link(label, path.last)
            if target == graph.goal:
                yield score, _labels(last)
            else:
                self._push(target, score, 0, text, last)

    def _push(self, node: int, score: float, rank: int, text: int, last: _Link | None) -> None:
        at = self.offsets_N1[node] + rank
        if at < self.offsets_N1[node + 1]:
            cost = self.cost_A[at] - score
            heapq.heappush(self.heap, _Path(cost, self.direction * self.pushed, node, score, rank, text, last))
            self.pushed += 1

    def _text(self, text: int, label: int) -> int:
        """A number for the words so far; the same words have the same number however they are cut into phrases."""
        if self.words_of is not None:
            for word in self.words_of(label):
                text = self.texts.setdefault((text, (word,)), len(self.texts) + 1)
        return text


def _labels(last: _Link | None) -> list[int]:
    labels: list[int] = []
    while last is not None:
        labels.append(last.label)
        last = last.before
    return labels[::-1]


def _sorted_arcs(graph: SearchGraph) -> tuple[list[int], Ints, list[float]]:
    """For each node the arcs that lead to the goal: offsets, arcs best first, and minus their score to the goal."""
    completion_N = completion_scores(graph.source_A, graph.target_A, graph.score_A, graph.goal, len(graph.score_N))
    through_A = graph.score_A + completion_N[graph.target_A]
    useful = np.flatnonzero(through_A > -np.inf)
    order_A = useful[np.lexsort((useful, -through_A[useful], graph.source_A[useful]))]
    offsets = np.searchsorted(graph.source_A[order_A], np.arange(len(graph.score_N) + 1))
    return offsets.tolist(), order_A, (-through_A[order_A]).tolist()
