"""The chart of a sentence: the hypotheses of each cell, made of rules and the hypotheses in their gaps.

Either all combinations are made, which is exact, or the most promising ones, by cube pruning (Chiang 2007, section
5.3.3). Each hypothesis keeps all ways to it, so that the best derivations can be listed afterwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count, islice
from typing import NamedTuple

from xlate.formats.scfg import Gap, Side
from xlate.lm.model import NgramModel
from xlate.models.grammar.parsing import TOP, Cell, Match
from xlate.text.vocabulary import BEGIN_ID, END_ID

# A target side: numbers of words, and for the non-terminal of tail k (from 0) the number -1 - k.
TargetSide = tuple[int, ...]
Words = tuple[str, ...]


class Ends(NamedTuple):
    """What the language model must know about a piece of a translation.

    The `left` words have a probability only when the words before the piece are known, so it keeps them: as many as the
    model's order minus one (Chiang 2007, section 5.3.2). `right` is the model's state after its last word; it is
    `settled` when it does not depend on what comes before, else the piece is nothing but `left`.
    """

    left: tuple[int, ...]
    right: int
    settled: bool


NO_ENDS = Ends((), 0, False)


class Languages:
    """Scores pieces of translations, and remembers all queries.

    Args:
        model: gives natural log probabilities; None scores everything 0 and remembers nothing.
        weight: what they are multiplied by.
    """

    def __init__(self, model: NgramModel | None, weight: float) -> None:
        self.model, self.weight = model, weight
        self._query = cache(self._weighted)

    def _weighted(self, state: int, word: int) -> tuple[float, int]:
        assert self.model is not None
        logprob, after = self.model.score(state, word)
        return self.weight * logprob, after

    def word(self, text: str) -> int:
        """The number of a target word."""
        return 0 if self.model is None else self.model.vocabulary.id(text)

    def join(self, target: TargetSide, tails: tuple[Ends, ...]) -> tuple[float, float, Ends]:
        """Puts pieces into a target side.

        Returns:
            what becomes certain beyond the scores of the pieces themselves; an estimate for the words that stay open,
            as if nothing preceded them; and the ends of the result.
        """
        if self.model is None:
            return 0.0, 0.0, NO_ENDS
        query, most = self._query, self.model.order - 1
        certain = estimate = 0.0
        left: list[int] = []
        settled = most == 0
        state = 0
        for symbol in target:
            words: tuple[int, ...] = (symbol,)
            if symbol < 0:
                tail = tails[-1 - symbol]
                words = tail.left
            for word in words:
                if word == BEGIN_ID:
                    settled, state = True, self.model.begin_state
                    continue
                logprob, state = query(state, word)
                if settled:
                    certain += logprob
                else:
                    estimate += logprob
                    left.append(word)
                    settled = len(left) == most
            if symbol < 0 and tail.settled:
                settled, state = True, tail.right
        return certain, estimate, Ends(tuple(left), state, settled)


class Edge(NamedTuple):
    """One way to a hypothesis: a rule over other hypotheses."""

    score: float
    rule: int
    tails: tuple[Hypothesis, ...]


@dataclass(slots=True, eq=False)
class Hypothesis:
    """Everything that covers a cell with the same ends; its edges are all ways to it, in the order they were tried.

    The score is that of the best way, without the open words at the left end, which have the estimate.
    """

    cell: Cell
    ends: Ends
    score: float
    estimate: float
    edges: list[Edge]

    @property
    def total(self) -> float:
        """The value by which hypotheses of a cell are compared."""
        return self.score + self.estimate


class Option(NamedTuple):
    """A matching rule: what it promises on its own, its number, its score without language model, and its words."""

    promise: float
    rule: int
    score: float
    side: TargetSide


class Chart:
    """The filled cells of one sentence, each with its hypotheses, best first.

    Args:
        languages: scores target words.
        pops: how many hypotheses are made for each cell.
        options: the rules of a match over a cell, the most promising first.
    """

    def __init__(self, languages: Languages, pops: int, options: Callable[[Cell, Match], Sequence[Option]]) -> None:
        self.languages, self.pops, self.options = languages, pops, options
        self.cells: dict[Cell, list[Hypothesis]] = {}

    def fill(self, cell: Cell, matches: Sequence[Match]) -> bool:
        """Makes the hypotheses of a cell, after those of all cells in its matches; returns whether there are any."""
        found: dict[Ends, Hypothesis] = {}
        for made in islice(self._promising(cell, matches), self.pops):
            known = found.setdefault(made.ends, made)
            if known is not made:
                known.edges += made.edges
                known.score = max(known.score, made.score)
        self.cells[cell] = sorted(found.values(), key=lambda each: -each.total)
        return bool(found)

    def _promising(self, cell: Cell, matches: Sequence[Match]) -> Iterator[Hypothesis]:
        """All combinations of a rule with hypotheses in its gaps, the most promising first: by what the parts promise,
        then by what they are worth together.
        """
        cubes = [(self.options(cell, match), [self.cells[tail] for tail in match.tails]) for match in matches]
        queue: list[tuple[float, int, int, tuple[int, ...], Hypothesis | None]] = []
        seen: set[tuple[int, tuple[int, ...]]] = set()

        def parts(cube: int, index: tuple[int, ...]) -> tuple[Option, tuple[Hypothesis, ...]]:
            options, lists = cubes[cube]
            return options[index[0]], tuple(found[place] for found, place in zip(lists, index[1:], strict=True))

        def push(cube: int, index: tuple[int, ...]) -> None:
            if (cube, index) not in seen:
                seen.add((cube, index))
                option, tails = parts(cube, index)
                promise = option.promise + sum(tail.total for tail in tails)
                heapq.heappush(queue, (-promise, len(seen), cube, index, None))

        for cube, (_, lists) in enumerate(cubes):
            push(cube, (0,) * (1 + len(lists)))
        while queue:
            _, order, cube, index, made = heapq.heappop(queue)
            if made is None:
                option, tails = parts(cube, index)
                certain, estimate, ends = self.languages.join(option.side, tuple(tail.ends for tail in tails))
                score = option.score + certain + sum(tail.score for tail in tails)
                made = Hypothesis(cell, ends, score, estimate, [Edge(score, option.rule, tails)])
                if queue and -made.total > queue[0][0]:
                    heapq.heappush(queue, (-made.total, order, cube, index, made))
                    continue
            yield made
            options, lists = cubes[cube]
            for place, size in enumerate((len(options), *map(len, lists))):
                if index[place] + 1 < size:
                    push(cube, (*index[:place], index[place] + 1, *index[place + 1 :]))

    def derivations(
        self, whole: Cell, target_of: Callable[[Cell, int], Side] | None, *, marked: bool = False
    ) -> Iterator[tuple[float, Tree]]:
        """Yields the derivations of the cell that covers the whole sentence with their scores, best first.

        Args:
            whole: the cell.
            target_of: the target side of a rule over a cell; if given, only the best of the derivations of a hypothesis
                with the same words is kept. That is exact: whatever is made of a worse one is better with the best.
            marked: whether `<s>` and `</s>` are among the words.
        """
        around = (-1,) if marked else (BEGIN_ID, -1, END_ID)
        edges: list[Edge] = []
        for hypothesis in self.cells.get(whole, ()):
            certain, estimate, _ = self.languages.join(around, (hypothesis.ends,))
            edges.append(Edge(hypothesis.score + (certain + estimate), TOP, (hypothesis,)))
        ranked = cache(_Ranked)
        top = Hypothesis(whole, NO_ENDS, 0.0, 0.0, edges)
        for rank in count():
            _find(ranked, top, rank, target_of)
            if rank == len(ranked(top).found):
                return
            score, tree, _ = ranked(top).found[rank]
            yield score, tree.below[0]


class Tree(NamedTuple):
    """A derivation: a rule, by its number, over a cell, and the derivations of its non-terminals in source order."""

    cell: Cell
    rule: int
    below: tuple[Tree, ...]

    def nodes(self) -> Iterator[tuple[int, Tree]]:
        """This tree and all below it, from the top, source left to right; each with its depth."""
        waiting = [(0, self)]
        while waiting:
            depth, tree = waiting.pop()
            yield depth, tree
            waiting += [(depth + 1, below) for below in reversed(tree.below)]


class _Ranked:
    """The derivations of one hypothesis: those found, best first, and those that may come next."""

    def __init__(self, hypothesis: Hypothesis) -> None:
        self.cell = hypothesis.cell
        self.found: list[tuple[float, Tree, Words]] = []
        self.seen: set[Words] = set()
        # An edge, and the rank of the derivation of each of its tails.
        self.queue: list[tuple[float, int, Edge, tuple[int, ...]]] = []
        self.pushed: set[tuple[int, tuple[int, ...]]] = set()
        for edge in hypothesis.edges:
            self.push(edge.score, edge, (0,) * len(edge.tails))

    def push(self, score: float, edge: Edge, ranks: tuple[int, ...]) -> None:
        """Puts a derivation into the queue, once."""
        if (id(edge), ranks) not in self.pushed:
            self.pushed.add((id(edge), ranks))
            heapq.heappush(self.queue, (-score, len(self.pushed), edge, ranks))

    def settled(self, rank: int) -> bool:
        """Whether a derivation is found, or known not to exist."""
        return len(self.found) > rank or not self.queue

    def take(self, tails: Sequence[_Ranked], target_of: Callable[[Cell, int], Side] | None) -> None:
        """Takes the best derivation from the queue, and queues those that have the next best one of a single tail."""
        cost, _, edge, ranks = heapq.heappop(self.queue)
        inner = [tail.found[rank] for tail, rank in zip(tails, ranks, strict=True)]
        for place, (tail, rank) in enumerate(zip(tails, ranks, strict=True)):
            if rank + 1 < len(tail.found):
                after = (*ranks[:place], rank + 1, *ranks[place + 1 :])
                self.push(-cost - inner[place][0] + tail.found[rank + 1][0], edge, after)
        words: list[str] = []
        if target_of is not None:
            for symbol in (Gap(self.cell.label, 1),) if edge.rule == TOP else target_of(self.cell, edge.rule):
                words += inner[symbol.number - 1][2] if isinstance(symbol, Gap) else (symbol,)
            if tuple(words) in self.seen:
                return
            self.seen.add(tuple(words))
        self.found.append((-cost, Tree(self.cell, edge.rule, tuple(tree for _, tree, _ in inner)), tuple(words)))


def _find(
    ranked: Callable[[Hypothesis], _Ranked],
    hypothesis: Hypothesis,
    rank: int,
    target_of: Callable[[Cell, int], Side] | None,
) -> None:
    """Finds the derivations of a hypothesis up to a rank, as far as they exist, on demand (Huang & Chiang 2005,
    Algorithm 3); deep ones without recursion.
    """
    waiting = [(hypothesis, rank)]
    while waiting:
        best = ranked(waiting[-1][0])
        if best.settled(waiting[-1][1]):
            waiting.pop()
            continue
        _, _, edge, ranks = best.queue[0]
        tails = list(zip(edge.tails, ranks, strict=True))
        missing = [(tail, rank + 1) for tail, rank in tails if not ranked(tail).settled(rank + 1)]
        if missing:
            waiting += missing
        else:
            best.take([ranked(tail) for tail in edge.tails], target_of)
