"""What CKY leaves behind: hypotheses with all ways to each, and their best derivations."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xlate.models.scfg.language import Ends
from xlate.models.scfg.parsing import Cell
from xlate.models.scfg.trees import Tree

# The number of the rule above the goal.
TOP = -2


class Edge(NamedTuple):
    """One way to a hypothesis: a rule over other hypotheses, and what the rule adds to their scores."""

    score: float
    added: float
    rule: int
    tails: tuple[Hypothesis, ...]


@dataclass(slots=True, eq=False)
class Hypothesis:
    """Everything that covers a cell with the same ends; its edges are all ways to it that were tried.

    Attributes:
        cell: label and span.
        ends: what the language model must know.
        score: of the best way, without the open words at the left end.
        estimate: of those.
        edges: in the order in which they were found.
    """

    cell: Cell
    ends: Ends
    score: float
    estimate: float
    edges: list[Edge] = field(default_factory=list)

    @property
    def total(self) -> float:
        """What hypotheses of a cell are compared by."""
        return self.score + self.estimate


class Derivation(NamedTuple):
    """One way to a hypothesis, down to the words: an edge, and which derivation of each of its tails."""

    score: float
    edge: Edge
    ranks: tuple[int, ...]


class BestDerivations:
    """The derivations of hypotheses, best first, found when they are asked for (Huang & Chiang 2005, Algorithm 3)."""

    def __init__(self) -> None:
        self._found: dict[int, list[Derivation]] = {}
        self._queue: dict[int, list[tuple[float, int, Derivation]]] = {}
        self._pushed: dict[int, set[tuple[int, tuple[int, ...]]]] = {}
        self._kept: list[Hypothesis] = []

    def of(self, hypothesis: Hypothesis) -> Iterator[Derivation]:
        """All derivations of a hypothesis, best first."""
        rank = 0
        while (derivation := self.at(hypothesis, rank)) is not None:
            yield derivation
            rank += 1

    def at(self, hypothesis: Hypothesis, rank: int) -> Derivation | None:
        """The derivation of a rank from 0; None when there are not so many."""
        key = id(hypothesis)
        if key not in self._found:
            # Kept, so that no other hypothesis gets the same id.
            self._kept.append(hypothesis)
            self._found[key], self._queue[key], self._pushed[key] = [], [], set()
            for edge in hypothesis.edges:
                self._push(key, Derivation(edge.score, edge, (0,) * len(edge.tails)))
        found, queue = self._found[key], self._queue[key]
        while len(found) <= rank and queue:
            derivation = heapq.heappop(queue)[2]
            found.append(derivation)
            for place, tail in enumerate(derivation.edge.tails):
                # One of the tails in its next best derivation. No call but this one is nested as deep as the tree.
                below, now = self.at(tail, derivation.ranks[place] + 1), self._score(tail, derivation.ranks[place])
                if below is not None:
                    ranks = (*derivation.ranks[:place], derivation.ranks[place] + 1, *derivation.ranks[place + 1 :])
                    self._push(key, Derivation(derivation.score - now + below.score, derivation.edge, ranks))
        return found[rank] if rank < len(found) else None

    def _score(self, hypothesis: Hypothesis, rank: int) -> float:
        return self._found[id(hypothesis)][rank].score if rank else hypothesis.score

    def _push(self, key: int, derivation: Derivation) -> None:
        name = (id(derivation.edge), derivation.ranks)
        if name not in self._pushed[key]:
            self._pushed[key].add(name)
            heapq.heappush(self._queue[key], (-derivation.score, len(self._pushed[key]), derivation))

    def tree(self, derivation: Derivation, cell: Cell) -> Tree:
        """A derivation of a cell as a tree."""
        below = []
        for tail, rank in zip(derivation.edge.tails, derivation.ranks, strict=True):
            inner = self.at(tail, rank)
            assert inner is not None
            below.append(self.tree(inner, tail.cell))
        return Tree(cell, derivation.edge.rule, tuple(below))
