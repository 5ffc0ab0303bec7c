"""A plain CKY decoder of synchronous grammars with an n-gram model, exact without limits, else with cube pruning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xlate.formats.scfg.grammar import Gap
from xlate.lm.model import NgramModel
from xlate.models.scfg.chart import Chart, Option
from xlate.models.scfg.forest import BestDerivations, Hypothesis
from xlate.models.scfg.language import Ends, Languages, TargetSide
from xlate.models.scfg.parsing import Cell, Match, parse
from xlate.models.scfg.rules import COPY, SynchronousGrammar
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
        self._ranked: dict[int, list[Option]] = {}

    def over(self, grammar: SynchronousGrammar) -> CkyDecoder:
        """The same weights, language model and limit over another grammar."""
        return CkyDecoder(grammar, self.weights, self.languages.model, self.pops)

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
        chart = Chart(_SentenceRules(self, words))
        parse(self.grammar, words, chart.fill)
        return chart.top(Cell(self.grammar.goal, 0, len(words)), marked=self.grammar.marked)

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

    def ranked(self, rules: Sequence[int]) -> list[Option]:
        """Rules of one source side by their scores and what the model says of their words alone, best first."""
        found = self._ranked.get(id(rules))
        if found is None:
            blank = (Ends((), 0, True),) * max((self.grammar.scfg.rules[b].gaps for b in rules), default=0)
            found = []
            for b in rules:
                certain, estimate, _ = self.languages.join(self.side(b), blank)
                found.append(Option(self.scores[b] + certain + estimate, b, self.scores[b], self.side(b)))
            found.sort(key=lambda option: (-option.promise, option.rule))
            self._ranked[id(rules)] = found
        return found


@dataclass(frozen=True)
class _SentenceRules:
    """The rules of a decoder over a sentence as it is parsed."""

    decoder: CkyDecoder
    words: Sequence[str]

    @property
    def languages(self) -> Languages:
        return self.decoder.languages

    @property
    def pops(self) -> int | None:
        return self.decoder.pops

    def options(self, cell: Cell, match: Match) -> Sequence[Option]:
        if match.rules[0] != COPY:
            return self.decoder.ranked(match.rules)
        score = self.decoder.word_weight + self.decoder.copy_weight
        return [Option(score, COPY, score, (self.decoder.languages.word(self.words[cell.start]),))]
