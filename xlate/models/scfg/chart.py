"""The chart of a sentence: hypotheses of each cell, made of rules and the hypotheses in their gaps.

All combinations are made, which is exact, or the most promising ones by cube pruning (Chiang 2007, section 5.3.3).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, Protocol

from xlate.models.scfg.forest import Edge, Hypothesis
from xlate.models.scfg.language import NO_ENDS, Ends, Languages, TargetSide
from xlate.models.scfg.parsing import Cell, Match
from xlate.models.scfg.rules import TOP


class Option(NamedTuple):
    """A rule that matches: what it promises by itself, its number, its score without language model, and its words."""

    promise: float
    rule: int
    score: float
    side: TargetSide


class ChartRules(Protocol):
    """What a chart asks of a grammar under weights."""

    @property
    def languages(self) -> Languages:
        """What scores target words."""

    @property
    def pops(self) -> int | None:
        """How many hypotheses are made for each cell; None makes all."""

    def options(self, cell: Cell, match: Match) -> Sequence[Option]:
        """The rules of a match over a cell, the most promising first."""


class Chart:
    """The cells of one sentence that are filled, each with its hypotheses, best first."""

    def __init__(self, rules: ChartRules) -> None:
        self.rules = rules
        self.cells: dict[Cell, list[Hypothesis]] = {}

    def fill(self, cell: Cell, matches: Sequence[Match]) -> bool:
        """Makes the hypotheses of a cell, after those of all cells in its matches; whether there are any."""
        made: dict[Ends, Hypothesis] = {}
        cubes = [_Cube(self, cell, match) for match in matches]
        if self.rules.pops is None:
            for cube in cubes:
                for index in product(*map(range, cube.sizes)):
                    _keep(cell, made, *cube.edge(index))
        else:
            _prune(cell, made, cubes, self.rules.pops)
        self.cells[cell] = sorted(made.values(), key=lambda each: -each.total)
        return bool(made)

    def top(self, whole: Cell, *, marked: bool = False) -> Hypothesis | None:
        """The hypothesis above all of the cell that is the whole sentence, its words finished; None for no cell.

        `marked` sentences have `<s>` and `</s>` in their words.
        """
        top = Hypothesis(whole, NO_ENDS, -float("inf"), 0.0)
        for hypothesis in self.cells.get(whole, ()):
            added = self.rules.languages.finish(hypothesis.ends, marked)
            edge = Edge(hypothesis.score + added, added, TOP, (hypothesis,))
            top.edges.append(edge)
            top.score = max(top.score, edge.score)
        return top if top.edges else None


def _prune(cell: Cell, made: dict[Ends, Hypothesis], cubes: Sequence[_Cube], pops: int) -> None:
    """Takes the most promising combinations: by what their parts promise first, then by what they are worth."""
    queue: list[tuple[float, int, _Cube, tuple[int, ...], tuple[Edge, float, Ends] | None]] = []
    pushed = 0
    for cube in cubes:
        first = (0,) * len(cube.sizes)
        cube.seen.add(first)
        heapq.heappush(queue, (-cube.promise(first), pushed, cube, first, None))
        pushed += 1
    while queue and pops > 0:
        _, order, cube, index, edge = heapq.heappop(queue)
        if edge is None:
            edge = cube.edge(index)
            total = edge[0].score + edge[1]
            if queue and -total > queue[0][0]:
                heapq.heappush(queue, (-total, order, cube, index, edge))
                continue
        _keep(cell, made, *edge)
        pops -= 1
        for place, size in enumerate(cube.sizes):
            after = (*index[:place], index[place] + 1, *index[place + 1 :])
            if after[place] < size and after not in cube.seen:
                cube.seen.add(after)
                heapq.heappush(queue, (-cube.promise(after), pushed, cube, after, None))
                pushed += 1


def _keep(cell: Cell, made: dict[Ends, Hypothesis], edge: Edge, estimate: float, ends: Ends) -> None:
    hypothesis = made.get(ends)
    if hypothesis is None:
        made[ends] = hypothesis = Hypothesis(cell, ends, edge.score, estimate)
    hypothesis.edges.append(edge)
    hypothesis.score = max(hypothesis.score, edge.score)


class _Cube:
    """All combinations of the rules of a match with the hypotheses of its tails, each sorted."""

    def __init__(self, chart: Chart, cell: Cell, match: Match) -> None:
        self.languages = chart.rules.languages
        self.tails = [chart.cells[tail] for tail in match.tails]
        self.options = chart.rules.options(cell, match)
        self.sizes = [len(self.options), *map(len, self.tails)]
        self.seen: set[tuple[int, ...]] = set()

    def promise(self, index: tuple[int, ...]) -> float:
        """The scores of the parts."""
        totals = (tail[place].total for tail, place in zip(self.tails, index[1:], strict=True))
        return self.options[index[0]].promise + sum(totals)

    def edge(self, index: tuple[int, ...]) -> tuple[Edge, float, Ends]:
        """A combination, the estimate of its open words, and its ends."""
        option = self.options[index[0]]
        tails = tuple(tail[place] for tail, place in zip(self.tails, index[1:], strict=True))
        certain, estimate, ends = self.languages.join(option.side, tuple(tail.ends for tail in tails))
        added = option.score + certain
        score = added + sum(tail.score for tail in tails)
        return Edge(score, added, option.rule, tails), estimate, ends
