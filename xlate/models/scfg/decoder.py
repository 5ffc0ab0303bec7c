"""A plain CKY decoder of synchronous grammars with an n-gram model, exact without limits, else with cube pruning."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from xlate.formats.scfg.grammar import Gap
from xlate.lm.model import NgramModel
from xlate.models.scfg.forest import BestDerivations, Edge, Hypothesis
from xlate.models.scfg.language import NO_ENDS, Ends, Languages, TargetSide
from xlate.models.scfg.parsing import Cell, Match, parse
from xlate.models.scfg.rules import COPY, TOP, SynchronousGrammar
from xlate.models.scfg.trees import Tree, target_side, tree_words
from xlate.text.vocabulary import BEGIN, END

LANGUAGE, WORDS, COPIES = "LanguageModel", "TargetWords", "CopiedWords"


@dataclass(frozen=True)
class Translation:
    """A derivation with its words, rules and score.

    Attributes:
        words: of the target, without `<s>` and `</s>`.
        score: the weighted sum of `CkyDecoder.features`.
        tree: the rules.
    """

    words: tuple[str, ...]
    score: float
    tree: Tree


class CkyDecoder:
    """Finds the best derivations of sentences under a grammar, weights and a language model.

    Weights are by the names of the grammar's features, and of `LanguageModel` (natural log probability), `TargetWords`
    (words of target sides, `<s>` and `</s>` among them where rules have them) and `CopiedWords`.

    Example:
        >>> from xlate.formats.scfg.grammar import Scfg, ScfgRule
        >>> import numpy as np
        >>> scfg = Scfg([ScfgRule("X", ("haus",), ("house",))], ("score",), np.array([[-0.5]]))
        >>> decoder = CkyDecoder(SynchronousGrammar([(scfg, None)], "X"), {"score": 2.0})
        >>> next(decoder.translations(["haus"])).score
        -1.0
    """

    def __init__(
        self,
        grammar: SynchronousGrammar,
        weights: Mapping[str, float],
        model: NgramModel | None = None,
        pops: int | None = None,
    ) -> None:
        """Takes a grammar, weights and a language model.

        Args:
            grammar: what is parsed.
            weights: by names; features without a weight count 0.
            model: None decodes without one.
            pops: how many hypotheses are made for each label over each span; None makes all, which is exact.

        Raises:
            ValueError: pops is below 1.
        """
        if pops is not None and pops < 1:
            raise ValueError(f"pops must be 1 or more, or None, not {pops}")
        self.grammar = grammar
        self.weights = weights
        self.pops = pops
        self.languages = Languages(model, weights.get(LANGUAGE, 0.0))
        self.word_weight, self.copy_weight = weights.get(WORDS, 0.0), weights.get(COPIES, 0.0)
        words = [sum(isinstance(symbol, str) for symbol in rule.target) for rule in grammar.scfg.rules]
        scores = grammar.scfg.scores(weights).tolist()
        self.scores = [score + self.word_weight * count for score, count in zip(scores, words, strict=True)]
        self._sides: dict[int, TargetSide] = {}
        self._ranked: dict[int, list[tuple[float, int]]] = {}

    def translations(self, source: Sequence[str], *, distinct: bool = True) -> Iterator[Translation]:
        """Yields translations of a sentence, best first; nothing when the grammar has no derivation of it.

        Args:
            source: words.
            distinct: whether of derivations with the same words only the best is yielded.
        """
        top = self.search(source)
        if top is None:
            return
        sentence = self.grammar.source(source)
        best = BestDerivations(partial(target_side, self.grammar, sentence) if distinct else None)
        for derivation in best.of(top):
            tree = best.tree(derivation, top.cell).below[0]
            yield Translation(self.words(tree, source), derivation.score, tree)

    def search(self, source: Sequence[str]) -> Hypothesis | None:
        """The hypothesis above all that cover a sentence with the goal; None when there are none."""
        words = self.grammar.source(source)
        search = _Search(self, words)
        parse(self.grammar, words, search.fill)
        whole = Cell(self.grammar.goal, 0, len(words))
        top = Hypothesis(whole, NO_ENDS, -float("inf"), 0.0)
        for hypothesis in search.cells.get(whole, ()):
            added = self.languages.finish(hypothesis.ends, self.grammar.marked)
            edge = Edge(hypothesis.score + added, added, TOP, (hypothesis,))
            top.edges.append(edge)
            top.score = max(top.score, edge.score)
        return top if top.edges else None

    def words(self, tree: Tree, source: Sequence[str]) -> tuple[str, ...]:
        """The target words of a derivation, without `<s>` and `</s>`."""
        words = tree_words(self.grammar, tree, self.grammar.source(source))
        return tuple(word for word in words if not (self.grammar.marked and word in (BEGIN, END)))

    def features(self, tree: Tree, source: Sequence[str]) -> dict[str, float]:
        """The features of a derivation by name; multiplied by the weights they are its score."""
        found: dict[str, float] = {}
        copied = 0
        for node in tree.nodes():
            if node.rule == COPY:
                copied += 1
                continue
            for name, value in self.grammar.scfg.features(node.rule).items():
                found[name] = found.get(name, 0.0) + value
        words = tree_words(self.grammar, tree, self.grammar.source(source))
        found[WORDS], found[COPIES] = float(len(words)), float(copied)
        if self.languages.model is not None:
            model = self.languages.model
            inner = [word for word in words if not (self.grammar.marked and word in (BEGIN, END))]
            found[LANGUAGE] = model.sentence_logprob(model.vocabulary.ids(inner))
        return found

    def side(self, rule: int) -> TargetSide:
        """The target side of a rule as numbers."""
        side = self._sides.get(rule)
        if side is None:
            word = self.languages.word
            symbols = self.grammar.scfg.rules[rule].target
            side = tuple(-symbol.number if isinstance(symbol, Gap) else word(symbol) for symbol in symbols)
            self._sides[rule] = side
        return side

    def ranked(self, rules: Sequence[int]) -> list[tuple[float, int]]:
        """Rules of one source side with their scores and what the model says of their words alone, best first."""
        found = self._ranked.get(id(rules))
        if found is None:
            blank = (Ends((), 0, True),) * max((self.grammar.scfg.rules[b].gaps for b in rules), default=0)
            found = []
            for b in rules:
                certain, estimate, _ = self.languages.join(self.side(b), blank)
                found.append((self.scores[b] + certain + estimate, b))
            found.sort(key=lambda pair: (-pair[0], pair[1]))
            self._ranked[id(rules)] = found
        return found


class _Search:
    """The cells of one sentence."""

    def __init__(self, decoder: CkyDecoder, words: Sequence[str]) -> None:
        self.decoder = decoder
        self.words = words
        self.cells: dict[Cell, list[Hypothesis]] = {}

    def fill(self, cell: Cell, matches: list[Match]) -> bool:
        """Makes the hypotheses of a cell, best first."""
        made: dict[Ends, Hypothesis] = {}
        cubes = [_Cube(self, cell, match) for match in matches]
        if self.decoder.pops is None:
            for cube in cubes:
                for index in product(*map(range, cube.sizes)):
                    self._keep(cell, made, *cube.edge(index))
        else:
            self._prune(cell, made, cubes, self.decoder.pops)
        self.cells[cell] = sorted(made.values(), key=lambda each: -each.total)
        return bool(made)

    def _prune(self, cell: Cell, made: dict[Ends, Hypothesis], cubes: list[_Cube], pops: int) -> None:
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
            self._keep(cell, made, *edge)
            pops -= 1
            for place, size in enumerate(cube.sizes):
                after = (*index[:place], index[place] + 1, *index[place + 1 :])
                if after[place] < size and after not in cube.seen:
                    cube.seen.add(after)
                    heapq.heappush(queue, (-cube.promise(after), pushed, cube, after, None))
                    pushed += 1

    def _keep(self, cell: Cell, made: dict[Ends, Hypothesis], edge: Edge, estimate: float, ends: Ends) -> None:
        hypothesis = made.get(ends)
        if hypothesis is None:
            made[ends] = hypothesis = Hypothesis(cell, ends, edge.score, estimate)
        hypothesis.edges.append(edge)
        hypothesis.score = max(hypothesis.score, edge.score)


class _Cube:
    """All combinations of the rules of a match with the hypotheses of its tails, each sorted."""

    def __init__(self, search: _Search, cell: Cell, match: Match) -> None:
        self.decoder = search.decoder
        self.tails = [search.cells[tail] for tail in match.tails]
        self.copied: TargetSide = ()
        if match.rules[0] == COPY:
            self.copied = (self.decoder.languages.word(search.words[cell.start]),)
            self.rules = [(self.decoder.word_weight + self.decoder.copy_weight, COPY)]
        else:
            self.rules = self.decoder.ranked(match.rules)
        self.sizes = [len(self.rules), *map(len, self.tails)]
        self.seen: set[tuple[int, ...]] = set()

    def promise(self, index: tuple[int, ...]) -> float:
        """The scores of the parts."""
        totals = (tail[place].total for tail, place in zip(self.tails, index[1:], strict=True))
        return self.rules[index[0]][0] + sum(totals)

    def edge(self, index: tuple[int, ...]) -> tuple[Edge, float, Ends]:
        """A combination, the estimate of its open words, and its ends."""
        rule = self.rules[index[0]][1]
        tails = tuple(tail[place] for tail, place in zip(self.tails, index[1:], strict=True))
        if rule == COPY:
            side, added = self.copied, self.rules[0][0]
        else:
            side, added = self.decoder.side(rule), self.decoder.scores[rule]
        certain, estimate, ends = self.decoder.languages.join(side, tuple(tail.ends for tail in tails))
        added += certain
        score = added + sum(tail.score for tail in tails)
        return Edge(score, added, rule, tails), estimate, ends
