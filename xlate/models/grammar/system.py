"""A whole synchronous grammar as a system that translates bottom-up, whatever form its rules have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby, islice
from typing import Any, NoReturn

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.formats.grammars.grammar import COPIES, LANGUAGE, NO_LIMIT, WORDS, words_of
from xlate.models.derivation import Derivation, Span, Step, explained, own_spans
from xlate.models.grammar.chart import Tree
from xlate.models.grammar.decoder import CkyDecoder
from xlate.models.system import SpanLimit, System
from xlate.scoring.weights import Weights
from xlate.search.settings import GrammarSearch
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class GrammarStep(Step):
    """Neighbouring target words of one rule; a rule with words before and behind a gap makes several.

    Attributes:
        drawn: the whole derivation as a tree, in its first step.
    """

    drawn: tuple[str, ...] = field(default=(), compare=False)


class GrammarSystem(System[Any, GrammarSearch]):
    """Any grammar, its weights and its language model, decoded by CKY; there is only the readable search.

    How hard a grammar is searched its `CkyDecoder` knows: of `search` the size of lists, `distinct` and `max_words`
    count here.
    """

    PARTS = ("decoder", "search", "fast")
    LONGEST = 1 << 30

    def __init__(self, decoder: CkyDecoder, search: GrammarSearch | None = None, fast: bool = True) -> None:
        self.decoder = decoder
        self.search = search or GrammarSearch()
        self.fast = fast

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Language model, words and copied words, then the features of rules that have a weight or a column."""
        own = (LANGUAGE, WORDS, COPIES)
        weighted = (name for name, weight in self.decoder.weights.items() if weight and name not in own)
        sparse = {name for values in self.decoder.grammar.scfg.sparse.values() for name in values}
        columns = self.decoder.grammar.scfg.names
        return (*own, *columns, *(name for name in weighted if name in sparse and name not in columns))

    @property
    def weights_D(self) -> Floats:
        return np.array([self.decoder.weights.get(name, 0.0) for name in self.feature_names])

    @property
    def weights(self) -> Weights:
        return Weights(self.weights_D, np.zeros(0), self.feature_names)

    @property
    def features(self) -> None:
        # Rules name their features themselves.
        return None

    @property
    def span_limit(self) -> SpanLimit | None:
        most = max((limit for limit in self.decoder.grammar.limits if limit != NO_LIMIT), default=None)
        return None if most is None else SpanLimit(most, "the grammar's longest span")

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.build(words_of(rule.target) for rule in self.decoder.grammar.scfg.rules)

    def with_weights(self, weights: Weights) -> GrammarSystem:
        named = dict(zip(weights.dense_names, weights.dense_D.tolist(), strict=True))
        old = self.decoder
        return self.changed(decoder=CkyDecoder(old.grammar, named, old.languages.model, old.pops))

    def _translate(self, words: Sequence[str]) -> list[Derivation[Any]]:
        if not words:
            return super()._translate(words)
        found = self.decoder.translations(words, distinct=self.search.distinct)
        listed: list[Derivation[Any]] = []
        for one in islice(found, self.search.nbest):
            steps = list(self._steps(one.tree, words))
            if steps:
                steps[0] = replace(steps[0], drawn=tuple(self.decoder.drawn(one.tree, words)))
            features = partial(self._features, one.tree, tuple(words))
            listed.append(Derivation(tuple(words), tuple(steps), features, one.score))
        if not listed:
            raise InputError(
                "the grammar has no derivation of a sentence",
                seen=" ".join(words),
                expected=f"one that ends in {self.decoder.grammar.goal}",
                remedy="give it glue rules that put any two pieces one behind the other",
            )
        return listed

    def _features(self, tree: Tree, words: Sequence[str]) -> Floats:
        values = self.decoder.features(tree, words)
        return np.array([values.get(name, 0.0) for name in self.feature_names])

    def _steps(self, tree: Tree, words: Sequence[str]) -> Iterator[GrammarStep]:
        """The runs of target words of a tree, from left to right."""
        grammar = self.decoder.grammar
        for _, run in groupby(self.decoder.said(tree, grammar.source(words)), lambda part: id(part[0])):
            parts = list(run)
            spoken, node = grammar.spoken(word for _, word in parts), parts[0][0]
            if spoken:
                yield GrammarStep(node.rule, self._spans(node, len(words)), spoken)

    def _spans(self, tree: Tree, size: int) -> tuple[Span, ...]:
        """The source words that a rule translates itself, or all that it covers."""
        marked, span = int(self.decoder.grammar.marked), (tree.cell.start, tree.cell.end)
        cells = [(inner.cell.start, inner.cell.end) for inner in tree.below]
        own = [_within((a - marked, b - marked), size) for a, b in own_spans(span, cells) or (span,)]
        return tuple(each for each in own if each[0] < each[1]) or (_within(span, size),)

    def explain(self, source: Sequence[str], derivation: Derivation[Any]) -> str:  # noqa: ARG002
        """The tree, one rule per line, then feature by feature; a sentence in pieces has a tree for each."""
        lines = [line for step in derivation.steps for line in step.drawn]
        return explained(lines, self.feature_names, self.weights_D, derivation)

    def space(self, *_: Any, **__: Any) -> NoReturn:
        """Nothing: there is no search space from left to right, nor what comes of one."""
        raise InputError(
            "a whole grammar is decoded bottom-up",
            seen="asked for lattices, forced decoding and search graphs",
            expected="translations, n-best lists and trace=true",
        )

    compiled_search = derivation = arc_features = space


def _within(span: Span, size: int) -> Span:
    return max(span[0], 0), min(span[1], size)
