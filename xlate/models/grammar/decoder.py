"""A plain CKY decoder of synchronous grammars with an n-gram model, exact without limits, else with cube pruning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np

from xlate.formats.grammars.grammar import COPIES, LANGUAGE, WORDS, ForeignSystem, Gap, gaps_of, words_of
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.grammar.chart import BestDerivations, Chart, Ends, Languages, Option, Tree
from xlate.models.grammar.parsing import COPY, Cell, Match, SynchronousGrammar, parse


class Translation(NamedTuple):
    """A derivation: its target words without `<s>` and `</s>`, the weighted sum of its features, and its rules."""

    words: tuple[str, ...]
    score: float
    tree: Tree


class CkyDecoder:
    """Finds the best derivations of sentences under a grammar, weights and a language model.

    Weights are by the names of the grammar's features, and of `LanguageModel` (natural log probability), `TargetWords`
    (words of target sides, `<s>` and `</s>` among them where rules have them) and `CopiedWords`.

    Args:
        grammar: what is parsed.
        weights: by names; features without a weight count 0.
        model: None decodes without one.
        pops: how many hypotheses are made for each label over each span; None makes all, which is exact.

    Raises:
        ValueError: pops is below 1.

    Example:
        >>> from xlate.formats.grammars.grammar import NO_LIMIT, Scfg, ScfgRule
        >>> import numpy as np
        >>> scfg = Scfg([ScfgRule("X", ("haus",), ("house",))], ("score",), np.array([[-0.5]]))
        >>> decoder = CkyDecoder(SynchronousGrammar(scfg, [NO_LIMIT], "X"), {"score": 2.0})
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
        if pops is not None and pops < 1:
            raise ValueError(f"pops must be 1 or more, or None, not {pops}")
        self.grammar, self.weights, self.pops = grammar, weights, pops
        self.languages = Languages(model, weights.get(LANGUAGE, 0.0))
        self.word_weight, self.copy_weight = weights.get(WORDS, 0.0), weights.get(COPIES, 0.0)
        scores = zip(grammar.scfg.scores(weights).tolist(), grammar.scfg.rules, strict=True)
        self.scores = [score + self.word_weight * len(words_of(rule.target)) for score, rule in scores]
        self._ranked: dict[int, list[Option]] = {}

    @classmethod
    def of_system(cls, system: ForeignSystem, pops: int | None) -> CkyDecoder:
        """The decoder of a system with the rules that each of its tables keeps of one source side: the best ones.

        Raises:
            InputError: the language model cannot be read, or the grammar cannot be parsed with.
        """
        grammar = SynchronousGrammar(system.scfg, system.limits, system.goal, system.label)
        model = None if system.lm is None else NgramModel.from_arpa(read_arpa(system.lm))
        decoder = cls(grammar, system.weights, model, pops)
        table_B = np.repeat(np.arange(len(system.tables)), [size for size, _ in system.tables]).tolist()
        kept: list[int] = []
        nodes = [grammar.root] if system.tables else []
        for node in nodes:
            nodes += [*node.words.values(), *node.gaps.values()]
            for leaf in node.leaves:
                best = sorted((option.rule for option in decoder._best_of(leaf.rules)), key=table_B.__getitem__)
                for table, rules in groupby(best, key=table_B.__getitem__):
                    kept += list(rules)[: system.tables[table][1] or None]
        return decoder if len(kept) == len(table_B) else decoder.over(grammar.select(sorted(kept)))

    def over(self, grammar: SynchronousGrammar) -> CkyDecoder:
        """The same weights, language model and limit over another grammar."""
        return CkyDecoder(grammar, self.weights, self.languages.model, self.pops)

    def translations(self, source: Sequence[str], *, distinct: bool = True) -> Iterator[Translation]:
        """Yields translations of a sentence, best first; nothing when the grammar has no derivation of it.

        Args:
            source: words.
            distinct: whether of derivations with the same words only the best is yielded.
        """
        words = self.grammar.source(source)
        chart = Chart(self.languages, self.pops, partial(self._options, words))
        parse(self.grammar, words, chart.fill)
        top = chart.top(Cell(self.grammar.goal, 0, len(words)), marked=self.grammar.marked)
        if top is None:
            return
        best = BestDerivations(partial(self.grammar.target, words) if distinct else None)
        for score, tree in best.trees(top):
            said = [word for _, word in self.said(tree.below[0], words)]
            yield Translation(self.grammar.spoken(said), score, tree.below[0])

    def features(self, tree: Tree, source: Sequence[str]) -> dict[str, float]:
        """The features of a derivation by name; multiplied by the weights they are its score."""
        found: dict[str, float] = {}
        rules = [node.rule for _, node in tree.nodes()]
        for rule in rules:
            if rule != COPY:
                for name, value in self.grammar.scfg.features(rule).items():
                    found[name] = found.get(name, 0.0) + value
        words = [word for _, word in self.said(tree, self.grammar.source(source))]
        found[WORDS], found[COPIES] = float(len(words)), float(rules.count(COPY))
        model = self.languages.model
        if model is not None:
            found[LANGUAGE] = model.sentence_logprob(model.vocabulary.ids(self.grammar.spoken(words)))
        return found

    def drawn(self, tree: Tree, source: Sequence[str]) -> Iterator[str]:
        """Yields the lines of a derivation drawn as a tree, one rule per line, with the source words it covers.

        Example:
            X 0-3  ne [X,1] pas | not [X,1]
              X 1-2  va | goes
        """
        words = self.grammar.source(source)
        for depth, (cell, rule, _) in tree.nodes():
            copied = f"{words[cell.start]} | {words[cell.start]} (copied)"
            sides = copied if rule == COPY else self.grammar.scfg.rules[rule].sides()
            yield f"{'  ' * depth}{cell.label} {cell.start}-{cell.end}  {sides}"

    def said(self, tree: Tree, words: Sequence[str]) -> Iterator[tuple[Tree, str]]:
        """The target words of a derivation of a sentence as it is parsed, each with the tree whose rule says it."""
        waiting: list[Tree | tuple[Tree, str]] = [tree]
        while waiting:
            part = waiting.pop()
            if not isinstance(part, Tree):
                yield part
                continue
            target = reversed(self.grammar.target(words, part.cell, part.rule))
            waiting += (
                part.below[symbol.number - 1] if isinstance(symbol, Gap) else (part, symbol) for symbol in target
            )

    def _options(self, words: Sequence[str], cell: Cell, match: Match) -> Sequence[Option]:
        """The rules of a match over a cell of a sentence as it is parsed, the most promising first."""
        if match.rules[0] != COPY:
            return self._best_of(match.rules)
        score = self.word_weight + self.copy_weight
        return [Option(score, COPY, score, (self.languages.word(words[cell.start]),))]

    def _best_of(self, rules: Sequence[int]) -> list[Option]:
        """Rules of one source side by their scores and what the model says of their words alone, best first."""
        found = self._ranked.get(id(rules))
        if found is None:
            targets = [self.grammar.scfg.rules[b].target for b in rules]
            blank = (Ends((), 0, True),) * len(gaps_of(targets[0]))
            found = []
            for b, target in zip(rules, targets, strict=True):
                side = tuple(-s.number if isinstance(s, Gap) else self.languages.word(s) for s in target)
                certain, estimate, _ = self.languages.join(side, blank)
                found.append(Option(self.scores[b] + certain + estimate, b, self.scores[b], side))
            found.sort(key=lambda option: (-option.promise, option.rule))
            self._ranked[id(rules)] = found
        return found
