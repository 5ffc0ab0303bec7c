"""Any synchronous grammar with an n-gram model as a system that translates bottom-up (CKY), in readable code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby, islice
from typing import Any, NoReturn

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError, refuse_if
from xlate.formats.scfg import (
    COPIES,
    LANGUAGE,
    NO_LIMIT,
    WORDS,
    ForeignSystem,
    Gap,
    gaps_of,
    words_of,
)
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.models.derivation import Derivation, Span, Step, own_spans
from xlate.models.grammar.chart import Chart, Ends, Languages, Option, Tree
from xlate.models.grammar.parsing import COPY, Cell, Match, SynchronousGrammar, parse
from xlate.models.system import SpanLimit, System
from xlate.scoring.weights import Weights
from xlate.search.settings import GrammarSearch
from xlate.text.terms import own_target
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class GrammarStep(Step):
    """Neighbouring target words of one rule; a rule with words before and after a gap makes several.

    Attributes:
        drawn: the whole derivation as a tree, in its first step.
    """

    drawn: tuple[str, ...] = field(default=(), compare=False)


class GrammarSystem(System[Any, GrammarSearch]):
    """Any grammar, its weights and its language model, decoded by CKY; there is only the readable search.

    It makes `search.pop_limit` hypotheses for each label over each span; if there are fewer, the search is exact.

    Args:
        grammar: the one to parse with.
        named: weights by the names of the grammar's features, and of `LanguageModel` (natural log probability),
            `TargetWords` (words of target sides, `<s>` and `</s>` among them where rules have them) and `CopiedWords`;
            features without a weight count 0.
        model: None decodes without one.

    Example:
        >>> from xlate.formats.scfg import Scfg, ScfgRule
        >>> scfg = Scfg([ScfgRule("X", ("haus",), ("house",))], ("score",), np.array([[-0.5]]))
        >>> system = GrammarSystem(SynchronousGrammar(scfg, "X"), {"score": 2.0})
        >>> system.translate(["haus"])[0].score
        -1.0
    """

    PARTS = ("grammar", "named", "model", "search", "fast")
    LONGEST = 1 << 30

    def __init__(
        self,
        grammar: SynchronousGrammar,
        named: Mapping[str, float],
        model: NgramModel | None = None,
        search: GrammarSearch | None = None,
        fast: bool = True,
    ) -> None:
        self.grammar, self.named, self.model = grammar, named, model
        self.search, self.fast = search or GrammarSearch(), fast
        self.languages = Languages(model, named.get(LANGUAGE, 0.0))
        scores = zip(grammar.scfg.scores(named).tolist(), grammar.scfg.rules, strict=True)
        self.scores = [score + named.get(WORDS, 0.0) * len(words_of(rule.target)) for score, rule in scores]
        self._ranked: dict[int, list[Option]] = {}

    @classmethod
    def of_foreign(cls, system: ForeignSystem, search: GrammarSearch) -> GrammarSystem:
        """A system with the best rules that each of its tables keeps per source side.

        Raises:
            InputError: the language model cannot be read, or the grammar cannot be parsed with.
        """
        grammar = SynchronousGrammar(system.scfg, system.goal, system.label)
        model = None if system.lm is None else NgramModel.from_arpa(read_arpa(system.lm))
        made = cls(grammar, system.weights, model, search)
        table_B = np.repeat(np.arange(len(system.tables)), [size for size, _ in system.tables]).tolist()
        kept: list[int] = []
        nodes = [grammar.root] if system.tables else []
        for node in nodes:
            nodes += [*node.words.values(), *node.gaps.values()]
            for same in node.rules.values():
                best = sorted((option.rule for option in made._best_of(same)), key=table_B.__getitem__)
                for table, rules in groupby(best, key=table_B.__getitem__):
                    kept += list(rules)[: system.tables[table][1] or None]
        return made if len(kept) == len(table_B) else made.changed(grammar=grammar.select(sorted(kept)))

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Language model, words and copied words, then the features of rules that have a weight or a column."""
        own, columns = (LANGUAGE, WORDS, COPIES), self.grammar.scfg.names
        sparse = {name for values in self.grammar.scfg.sparse.values() for name in values}.difference(own, columns)
        return (*own, *columns, *(name for name, weight in self.named.items() if weight and name in sparse))

    @property
    def weights_D(self) -> Floats:
        return np.array([self.named.get(name, 0.0) for name in self.feature_names])

    @property
    def span_limit(self) -> SpanLimit | None:
        most = max((rule.limit for rule in self.grammar.scfg.rules if rule.limit != NO_LIMIT), default=None)
        return None if most is None else SpanLimit(most, "the grammar's longest span")

    @property
    def longest_term(self) -> int:
        return self.search.max_words

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.build(words_of(rule.target) for rule in self.grammar.scfg.rules)

    def with_weights(self, weights: Weights) -> GrammarSystem:
        return self.changed(named=weights.floats)

    def _translate(self, words: Sequence[str]) -> list[Derivation[Any]]:
        if not words:
            return super()._translate(words)
        grammar, source = self.grammar, self.grammar.source(words)
        chart = Chart(self.languages, self.search.pop_limit, partial(self._options, source))
        parse(grammar, source, chart.fill)
        target_of = partial(grammar.target, source) if self.search.distinct else None
        whole = Cell(grammar.goal, 0, len(source))
        found = islice(chart.derivations(whole, target_of, marked=grammar.marked), self.search.nbest)
        listed = [self._derivation(score, tree, words, source) for score, tree in found]
        refuse_if(
            not listed,
            "the grammar has no derivation of a sentence",
            " ".join(words),
            f"one that ends in {grammar.goal}",
            "add glue rules that concatenate any two pieces",
        )
        return listed

    def _options(self, words: Sequence[str], cell: Cell, match: Match) -> Sequence[Option]:
        """The rules of a match over a cell of a sentence in parsed form, the most promising first."""
        rule = match.rules[0]
        if rule >= 0:
            return self._best_of(match.rules)
        said = own_target(words, rule, cell.start)
        score = self.named.get(WORDS, 0.0) * len(said) + (self.named.get(COPIES, 0.0) if rule == COPY else 0.0)
        return [Option(score, rule, score, tuple(map(self.languages.word, said)))]

    def _best_of(self, rules: Sequence[int]) -> list[Option]:
        """Rules of one source side with their scores and the language model's of their words alone, best first."""
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

    def _derivation(
        self, score: float, tree: Tree, words: Sequence[str], source: Sequence[str]
    ) -> Derivation[GrammarStep]:
        """The runs of target words of a tree, from left to right; `source` are the words in parsed form."""
        steps: list[GrammarStep] = []
        for _, run in groupby(self._said(tree, source), lambda part: id(part[0])):
            parts = list(run)
            spoken, node = self.grammar.spoken(word for _, word in parts), parts[0][0]
            if spoken:
                drawn = () if steps else tuple(self._drawn(tree, source))
                steps.append(GrammarStep(node.rule, self._spans(node, len(words)), spoken, drawn=drawn))
        return Derivation(tuple(words), tuple(steps), partial(self._features, tree, source), score)

    def _said(self, tree: Tree, source: Sequence[str]) -> Iterator[tuple[Tree, str]]:
        """The target words of a derivation of a sentence, each with the tree whose rule produces it."""
        waiting: list[Tree | tuple[Tree, str]] = [tree]
        while waiting:
            part = waiting.pop()
            if not isinstance(part, Tree):
                yield part
                continue
            waiting += (
                part.below[symbol.number - 1] if isinstance(symbol, Gap) else (part, symbol)
                for symbol in reversed(self.grammar.target(source, part.cell, part.rule))
            )

    def _spans(self, tree: Tree, size: int) -> tuple[Span, ...]:
        """The source words that a rule translates itself, or all that it covers."""
        marked, span = int(self.grammar.marked), tree.cell[1:]
        own = own_spans(span, [inner.cell[1:] for inner in tree.below]) or (span,)
        within = ((max(a - marked, 0), min(b - marked, size)) for a, b in own)
        return tuple(each for each in within if each[0] < each[1]) or ((span[0], min(span[1], size)),)

    def _drawn(self, tree: Tree, source: Sequence[str]) -> Iterator[str]:
        """Yields the lines of a derivation drawn as a tree, one rule per line, with the source words it covers.

        Example:
            X 0-3  ne [X,1] pas | not [X,1]
              X 1-2  va | goes
        """
        for depth, (cell, rule, _) in tree.nodes():
            if rule < 0:
                said = " ".join(own_target(source, rule, cell.start))
                sides = f"{' '.join(source[cell.start : cell.end])} | {said} ({'copied' if rule == COPY else 'term'})"
            else:
                sides = self.grammar.scfg.rules[rule].sides()
            yield f"{'  ' * depth}{cell.label} {cell.start}-{cell.end}  {sides}"

    def _features(self, tree: Tree, source: Sequence[str]) -> Floats:
        found: dict[str, float] = defaultdict(float)
        rules = [node.rule for _, node in tree.nodes()]
        for rule in rules:
            if rule >= 0:
                for name, value in self.grammar.scfg.features(rule).items():
                    found[name] += value
        said = [word for _, word in self._said(tree, source)]
        found[WORDS], found[COPIES] = float(len(said)), float(rules.count(COPY))
        if self.model is not None:
            found[LANGUAGE] = self.model.sentence_logprob(self.model.vocabulary.ids(self.grammar.spoken(said)))
        return np.array([found[name] for name in self.feature_names])

    def shown_steps(self, source: Sequence[str], derivation: Derivation[Any]) -> Iterator[str]:  # noqa: ARG002
        """The tree, one rule per line; a sentence in pieces has a tree for each."""
        return (line for step in derivation.steps for line in step.drawn)

    def space(self, *_: Any, **__: Any) -> NoReturn:
        """Nothing: there is no left-to-right search space, nor anything that depends on one."""
        raise InputError(
            "a complete grammar is decoded bottom-up",
            "a request for a lattice, forced decoding or a search graph",
            "translations, n-best lists and trace=true",
        )

    derivation = arc_features = space
