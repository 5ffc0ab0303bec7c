"""The chart of a sentence: the hypotheses of each cell, made of rules and the hypotheses in their gaps.

All combinations are made, which is exact, or the most promising ones by cube pruning (Chiang 2007, section 5.3.3).
Hypotheses keep all ways to each, so that the best derivations can be listed afterwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count, islice
from typing import NamedTuple

from xlate.formats.grammars.grammar import Gap, Side
from xlate.lm.model import NgramModel
from xlate.models.grammar.parsing import TOP, Cell, Match
from xlate.text.vocabulary import BEGIN_ID, END_ID

# A target side: numbers of words, and for the non-terminal of tail k (from 0) the number -1 - k.
TargetSide = tuple[int, ...]
Words = tuple[str, ...]


class Ends(NamedTuple):
    """What the language model must know of a piece of a translation.

    The first words of a piece have a probability only when the words before them are known, so a piece keeps them: as
    many as the model's order less one (Chiang 2007, section 5.3.2).

    Attributes:
        left: the words at its beginning whose probability depends on what stands before.
        right: the model's state behind its last word.
        settled: whether `right` stays whatever stands before; else the piece is nothing but `left`.
    """

    left: tuple[int, ...]
    right: int
    settled: bool


NO_ENDS = Ends((), 0, False)


class Languages:
    """Scores pieces of translations, with all queries remembered.

    Args:
        model: gives natural log probabilities; None scores everything 0 and remembers nothing.
        weight: what they are multiplied by.
    """

    def __init__(self, model: NgramModel | None, weight: float) -> None:
        self.model = model
        self.weight = weight
        self.query = cache(self._query)

    def _query(self, state: int, word: int) -> tuple[float, int]:
        """The weighted log probability of a word after a state, and the state behind it."""
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
            as if nothing stood before them; and the ends of the whole.
        """
        if self.model is None:
            return 0.0, 0.0, NO_ENDS
        query, most = self.query, self.model.order - 1
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

    def finish(self, ends: Ends, marked: bool) -> float:
        """What is still to be added to a whole sentence; `marked` ones have `<s>` and `</s>` in them already."""
        certain, estimate, _ = self.join((-1,) if marked else (BEGIN_ID, -1, END_ID), (ends,))
        return certain + estimate


class Edge(NamedTuple):
    """One way to a hypothesis: a rule over other hypotheses."""

    score: float
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

    def add(self, edge: Edge) -> None:
        """Adds one more way."""
        self.edges.append(edge)
        self.score = max(self.score, edge.score)


class Option(NamedTuple):
    """A rule that matches: what it promises by itself, its number, its score without language model, and its words."""

    promise: float
    rule: int
    score: float
    side: TargetSide


class Chart:
    """The cells of one sentence that are filled, each with its hypotheses, best first.

    Args:
        languages: scores target words.
        pops: how many hypotheses are made for each cell.
        options: the rules of a match over a cell, the most promising first.
    """

    def __init__(self, languages: Languages, pops: int, options: Callable[[Cell, Match], Sequence[Option]]) -> None:
        self.languages, self.pops, self.options = languages, pops, options
        self.cells: dict[Cell, list[Hypothesis]] = {}

    def fill(self, cell: Cell, matches: Sequence[Match]) -> bool:
        """Makes the hypotheses of a cell, after those of all cells in its matches; whether there are any."""
        found: dict[Ends, Hypothesis] = {}
        for made in islice(self._promising(cell, matches), self.pops):
            hypothesis = found.setdefault(made.ends, made)
            if hypothesis is not made:
                hypothesis.add(made.edges[0])
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
                made = self._made(cell, *parts(cube, index))
                if queue and -made.total > queue[0][0]:
                    heapq.heappush(queue, (-made.total, order, cube, index, made))
                    continue
            yield made
            options, lists = cubes[cube]
            for place, size in enumerate((len(options), *map(len, lists))):
                if index[place] + 1 < size:
                    push(cube, (*index[:place], index[place] + 1, *index[place + 1 :]))

    def _made(self, cell: Cell, option: Option, tails: tuple[Hypothesis, ...]) -> Hypothesis:
        certain, estimate, ends = self.languages.join(option.side, tuple(tail.ends for tail in tails))
        score = option.score + certain + sum(tail.score for tail in tails)
        return Hypothesis(cell, ends, score, estimate, [Edge(score, option.rule, tails)])

    def derivations(
        self, whole: Cell, target_of: Callable[[Cell, int], Side] | None, *, marked: bool = False
    ) -> Iterator[tuple[float, Tree]]:
        """Yields the derivations of the cell that is the whole sentence with their scores, best first.

        Args:
            whole: the cell.
            target_of: the target side of a rule over a cell; when given, of the derivations of a hypothesis with the
                same words only the best is there. That is exact: whatever is made of a worse one, is better with the
                best.
            marked: whether `<s>` and `</s>` are among the words.
        """
        top = Hypothesis(whole, NO_ENDS, -float("inf"), 0.0)
        for hypothesis in self.cells.get(whole, ()):
            score = hypothesis.score + self.languages.finish(hypothesis.ends, marked)
            top.add(Edge(score, TOP, (hypothesis,)))
        return ((score, tree.below[0]) for score, tree, _ in _BestDerivations(target_of).trees(top))


class Tree(NamedTuple):
    """A derivation: a rule, by its number, over a cell, and the derivations of its non-terminals in source order."""

    cell: Cell
    rule: int
    below: tuple[Tree, ...]

    def nodes(self) -> Iterator[tuple[int, Tree]]:
        """This tree and all below it, from the top, source left to right; each with the number of trees around it."""
        waiting = [(0, self)]
        while waiting:
            depth, tree = waiting.pop()
            yield depth, tree
            waiting += [(depth + 1, below) for below in reversed(tree.below)]


class _Ranked:
    """The derivations of one hypothesis: those found, best first, and those that may come next."""

    def __init__(self, hypothesis: Hypothesis) -> None:
        self.hypothesis = hypothesis
        self.found: list[tuple[float, Tree, Words]] = []
        self.seen: set[Words] = set()
        # An edge, and which derivation of each of its tails.
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
        """Whether a derivation is found, or known not to be there."""
        return len(self.found) > rank or not self.queue


class _BestDerivations:
    """The derivations of hypotheses, found when they are asked for (Huang & Chiang 2005, Algorithm 3)."""

    def __init__(self, target_of: Callable[[Cell, int], Side] | None) -> None:
        self._target_of = target_of
        self._ranked = cache(_Ranked)

    def trees(self, hypothesis: Hypothesis) -> Iterator[tuple[float, Tree, Words]]:
        """All derivations of a hypothesis with their scores, best first; their words where they must differ."""
        found = self._ranked(hypothesis).found
        for rank in count():
            self._find(hypothesis, rank)
            if rank == len(found):
                return
            yield found[rank]

    def _find(self, hypothesis: Hypothesis, rank: int) -> None:
        """Finds derivations up to a rank, as far as there are so many; deep ones without recursion."""
        waiting = [(hypothesis, rank)]
        while waiting:
            ranked = self._ranked(waiting[-1][0])
            if ranked.settled(waiting[-1][1]):
                waiting.pop()
                continue
            _, _, edge, ranks = ranked.queue[0]
            below = [(tail, place + 1) for tail, place in zip(edge.tails, ranks, strict=True)]
            missing = [each for each in below if not self._ranked(each[0]).settled(each[1])]
            if missing:
                waiting += missing
            else:
                self._take(ranked)

    def _take(self, ranked: _Ranked) -> None:
        """Takes the best derivation from the queue, and puts those into it that have one tail the next best."""
        cost, _, edge, ranks = heapq.heappop(ranked.queue)
        tails = [self._ranked(tail) for tail in edge.tails]
        inner = [tail.found[rank] for tail, rank in zip(tails, ranks, strict=True)]
        for place, (tail, rank) in enumerate(zip(tails, ranks, strict=True)):
            if rank + 1 < len(tail.found):
                after = (*ranks[:place], rank + 1, *ranks[place + 1 :])
                ranked.push(-cost - inner[place][0] + tail.found[rank + 1][0], edge, after)
        cell, words = ranked.hypothesis.cell, list[str]()
        if self._target_of is not None:
            for symbol in (Gap(cell.label, 1),) if edge.rule == TOP else self._target_of(cell, edge.rule):
                words += inner[symbol.number - 1][2] if isinstance(symbol, Gap) else (symbol,)
            if tuple(words) in ranked.seen:
                return
            ranked.seen.add(tuple(words))
        ranked.found.append((-cost, Tree(cell, edge.rule, tuple(tree for _, tree, _ in inner)), tuple(words)))
