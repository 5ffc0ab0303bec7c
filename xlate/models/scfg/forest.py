"""What CKY leaves behind: hypotheses with all ways to each, and their best derivations."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xlate.formats.scfg.grammar import Gap, Side
from xlate.models.scfg.language import Ends
from xlate.models.scfg.parsing import Cell
from xlate.models.scfg.trees import Tree

Words = tuple[str, ...]


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


class _Ranked:
    """The derivations of one hypothesis: those found, best first, and those that may come next."""

    def __init__(self, hypothesis: Hypothesis) -> None:
        self.hypothesis = hypothesis
        self.found: list[Derivation] = []
        self.words: list[Words] = []
        self.seen: set[Words] = set()
        self.queue: list[tuple[float, int, Derivation]] = []
        self.pushed: set[tuple[int, tuple[int, ...]]] = set()
        for edge in hypothesis.edges:
            self.push(Derivation(edge.score, edge, (0,) * len(edge.tails)))

    def push(self, derivation: Derivation) -> None:
        """Puts a derivation into the queue, once."""
        name = (id(derivation.edge), derivation.ranks)
        if name not in self.pushed:
            self.pushed.add(name)
            heapq.heappush(self.queue, (-derivation.score, len(self.pushed), derivation))


class BestDerivations:
    """The derivations of hypotheses, best first, found when they are asked for (Huang & Chiang 2005, Algorithm 3).

    Args:
        target_of: the target side of a rule over a cell; when given, of the derivations of a hypothesis with the same
            words only the best is there. That is exact: whatever is made of a worse one, is better with the best.
    """

    def __init__(self, target_of: Callable[[Cell, int], Side] | None = None) -> None:
        self._target_of = target_of
        # By id; a hypothesis is held by what is kept of it, so no other one gets its id.
        self._kept: dict[int, _Ranked] = {}

    def of(self, hypothesis: Hypothesis) -> Iterator[Derivation]:
        """All derivations of a hypothesis, best first."""
        rank = 0
        while (derivation := self.at(hypothesis, rank)) is not None:
            yield derivation
            rank += 1

    def at(self, hypothesis: Hypothesis, rank: int) -> Derivation | None:
        """The derivation of a rank from 0; None when there are not so many."""
        waiting = [(hypothesis, rank)]
        while waiting:
            ranked = self._ranked(waiting[-1][0])
            if self._settled(*waiting[-1]):
                waiting.pop()
                continue
            edge, ranks = ranked.queue[0][2][1:]
            below = [(tail, place + 1) for tail, place in zip(edge.tails, ranks, strict=True)]
            missing = [each for each in below if not self._settled(*each)]
            if missing:
                waiting += missing
            else:
                self._take(ranked)
        found = self._ranked(hypothesis).found
        return found[rank] if rank < len(found) else None

    def tree(self, derivation: Derivation, cell: Cell) -> Tree:
        """A derivation of a cell as a tree."""
        parts = [(cell, derivation)]
        below: list[range] = []
        for _, (_, edge, ranks) in parts:
            below.append(range(len(parts), len(parts) + len(ranks)))
            for tail, rank in zip(edge.tails, ranks, strict=True):
                inner = self.at(tail, rank)
                assert inner is not None
                parts.append((tail.cell, inner))
        trees: dict[int, Tree] = {}
        for number in reversed(range(len(parts))):
            where, (_, edge, _) = parts[number]
            trees[number] = Tree(where, edge.rule, tuple(trees[inner] for inner in below[number]))
        return trees[0]

    def _ranked(self, hypothesis: Hypothesis) -> _Ranked:
        found = self._kept.get(id(hypothesis))
        if found is None:
            self._kept[id(hypothesis)] = found = _Ranked(hypothesis)
        return found

    def _settled(self, hypothesis: Hypothesis, rank: int) -> bool:
        """Whether a derivation is found, or known not to be there."""
        ranked = self._ranked(hypothesis)
        return len(ranked.found) > rank or not ranked.queue

    def _take(self, ranked: _Ranked) -> None:
        """Takes the best derivation from the queue, and puts those into it that have one tail the next best."""
        derivation = heapq.heappop(ranked.queue)[2]
        score, edge, ranks = derivation
        for place, (tail, rank) in enumerate(zip(edge.tails, ranks, strict=True)):
            found = self._ranked(tail).found
            if rank + 1 < len(found):
                after = (*ranks[:place], rank + 1, *ranks[place + 1 :])
                ranked.push(Derivation(score - found[rank].score + found[rank + 1].score, edge, after))
        if self._target_of is not None:
            words = self._words(self._target_of(ranked.hypothesis.cell, edge.rule), edge, ranks)
            if words in ranked.seen:
                return
            ranked.seen.add(words)
            ranked.words.append(words)
        ranked.found.append(derivation)

    def _words(self, target: Side, edge: Edge, ranks: tuple[int, ...]) -> Words:
        words: list[str] = []
        for symbol in target:
            if isinstance(symbol, Gap):
                words += self._ranked(edge.tails[symbol.number - 1]).words[ranks[symbol.number - 1]]
            else:
                words.append(symbol)
        return tuple(words)
