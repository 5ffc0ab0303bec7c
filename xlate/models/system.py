"""The contract of every model that translates: what it provides, and what is the same for all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.errors import InputError, refuse_if
from xlate.features.index import FeatureIndex
from xlate.formats.moses_table import escape_bars
from xlate.kernels.search.best_paths import Paths
from xlate.kernels.search.hypotheses import Limits
from xlate.models.derivation import Derivation, Span, Step, best_joined
from xlate.scoring.weights import Weights
from xlate.search.beam import CompiledSpace, ForcedSpace, SearchGraph, SearchSpace, labels_of, search_graph
from xlate.search.lattice import Lattice, LatticeArcs, useful_arcs
from xlate.search.processes import each_sentence
from xlate.search.settings import AnySearch, GrammarSearch, TransformerSearch
from xlate.text.tokens import cut
from xlate.text.vocabulary import Vocabulary


class SpanLimit(NamedTuple):
    """The most source words that a rule spans, and what sets this limit."""

    words: int
    name: str


Space = TypeVar("Space", bound=SearchSpace[Any])
Settings = TypeVar("Settings", bound=AnySearch)


def checked_weights(weights_D: Floats, size: int) -> Floats:
    """Float weights in 64 bits.

    Raises:
        InputError: weights of another shape or not finite.
    """
    checked_D = np.asarray(weights_D, np.float64)
    unfit = checked_D.shape != (size,) or not np.isfinite(checked_D).all()
    refuse_if(unfit, "the weights cannot be used", checked_D, f"{size} finite numbers")
    return checked_D


class System(ABC, Generic[Space, Settings]):
    """A model under weights, and a search for the derivations of the highest score.

    A system gives its search space, its compiled search, its weights, and derivations with their features. The readable
    search (`fast=False`), pieces, n-best lists, graphs, forced decoding and lattices are the same for all.

    Attributes:
        search: settings.
        fast: whether to use the compiled search; the readable one gives the same derivations and scores.
        PARTS: the arguments of the constructor, by name.
        LONGEST: the most words that the compiled search can number.
    """

    search: Settings
    fast: bool
    PARTS: ClassVar[tuple[str, ...]] = ("model", "search", "fast")
    LONGEST: ClassVar[int]

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """The D names of a derivation's features, including sums of sparse ones."""

    @property
    @abstractmethod
    def weights_D(self) -> Floats:
        """What a derivation's features are multiplied by, shape (D,)."""

    @property
    def weights(self) -> Weights:
        """The weights that may be trained: those of floats, and those of sparse features, which are not summed here.

        By default there are only `weights_D`.
        """
        return Weights(self.weights_D.copy(), np.zeros(0), self.feature_names)

    @property
    def features(self) -> FeatureIndex | None:
        """The features of the sparse weights, None for a model without sparse features."""
        return None

    @property
    @abstractmethod
    def target_vocabulary(self) -> Vocabulary:
        """The words that units of the model translate into."""

    @abstractmethod
    def with_weights(self, weights: Weights) -> Self:
        """The same system under other weights, in the form of `weights`."""

    @abstractmethod
    def space(self, words: Sequence[str], target: Sequence[str] | None = None) -> Space:
        """The moves over a sentence; with a target, those that forced decoding to it considers, or more.

        Raises:
            InputError: more words than the search can number.
        """

    @abstractmethod
    def derivation(self, space: Space, labels: Sequence[int]) -> Derivation[Any]:
        """The derivation along the labels of a path, which leave out the end of the sentence."""

    @abstractmethod
    def arc_features(self, space: Space, found: LatticeArcs) -> LatticeArcs:
        """The features of the arcs of a graph, whose nodes may be split so that each arc has only one history."""

    @property
    def span_limit(self) -> SpanLimit | None:
        """The longest span of a rule (longer ones are only glued together); None for a model without rules."""
        return None

    @property
    def longest_term(self) -> int:
        """The most source words of a term: those that the search translates at once."""
        longest: int = getattr(self.search, "max_phrase", getattr(self.search, "max_span", 1))
        return min(longest, self.search.max_words)

    def step_features(self, derivation: Derivation[Any]) -> tuple[Ints, Ints32]:
        """The sparse features that fire in each of a derivation's N steps: offsets (N + 1), and ids in `features`.

        A derivation joined from pieces is treated as one. Without sparse features there are none.
        """
        return np.zeros(len(derivation.steps) + 1, np.int64), np.zeros(0, np.int32)

    def prepare(self, sentences: Sequence[Sequence[str]]) -> None:
        """Computes what is shared by all of these sentences once, so that forked processes share it."""

    def limits(self, *, every_arc: bool = True) -> Limits:
        """What the search keeps."""
        assert not isinstance(self.search, GrammarSearch | TransformerSearch), "they have no stacks"
        return Limits(self.search.beam, 0, self.search.log_threshold, every_arc)

    def changed(self, **parts: Any) -> Self:
        """The same system made of other parts; nothing computed from the old ones is kept."""
        return type(self)(**{name: getattr(self, name) for name in self.PARTS} | parts)

    def with_search(self, **settings: Any) -> Self:
        """The same system with some settings of the search changed."""
        return self.changed(search=replace(self.search, **settings))

    def translate(self, words: Sequence[str]) -> list[Derivation[Any]]:
        """The best derivation of a sentence, or the `nbest` best, best first; without words, one empty derivation.

        A sentence of more than `max_words` words is translated in pieces (see `pieces`).

        Raises:
            InputError: more words than the search can number.
        """
        search = self.search
        if len(words) <= search.max_words:
            return self._translate(words)
        lists = [self._translate(words[start:end]) for start, end in cut(words, search.max_words)]
        return best_joined(lists, search.nbest, search.distinct)

    def _translate(self, words: Sequence[str]) -> list[Derivation[Any]]:
        if not words:
            return [Derivation((), (), np.zeros(len(self.feature_names)), 0.0)]
        space = self.space(words)
        return [self.best(space)] if self.search.nbest == 1 else self.listed(space)

    def best(self, space: Space) -> Derivation[Any]:
        """The best derivation of a space."""
        return self.derivation(space, self.search_space(space, every_arc=False).best_labels())

    def listed(self, space: Space) -> list[Derivation[Any]]:
        """The `nbest` best derivations of a space, best first."""
        return [self.derivation(space, labels) for labels in self.nbest_labels(space)]

    def nbest_labels(self, space: Space) -> list[list[int]]:
        """The labels of the `nbest` best paths through a space, best first."""
        return labels_of(self.nbest_paths(space))

    def nbest_paths(self, space: Space) -> Paths:
        """The same as arrays."""
        graph, texts_of = self.search_space(space, every_arc=True), space.texts if self.search.distinct else None
        return graph.best_paths(self.search.nbest, texts_of)[0]

    def translate_many(self, sentences: Sequence[Sequence[str]], processes: int = 1) -> Iterator[list[Derivation[Any]]]:
        """Translates tokenised sentences, in their order, with `processes` forked processes; 1 forks none.

        Raises:
            InputError: fewer than one process, or one that died; what `translate` raises, naming the sentence.
        """
        return each_sentence(self, type(self).translate, sentences, processes)

    def with_tables(self, folder: Path, sentences: int) -> Callable[[int], AnySystem]:  # noqa: ARG002
        """The system for each sentence number, where a folder holds one phrase table per sentence.

        Raises:
            InputError: a model without phrase tables, or a table that is missing.
        """
        seen = type(self).__name__
        raise InputError("only the phrase model can use tables of sentences", seen, "model=phrase")

    def graph(self, words: Sequence[str]) -> SearchGraph:
        """The translation graph of a sentence: every step the beam took, with the labels of its space."""
        return self.search_space(self.space(words), every_arc=True)

    def search_space(self, space: Space, *, every_arc: bool) -> SearchGraph:
        """The graph of a space by its compiled search, if it has one, or the readable one.

        Without `every_arc` only what the best path needs is sure to be there.
        """
        if self.fast and isinstance(space, CompiledSpace):
            return space.graph(self.limits(every_arc=every_arc))
        return search_graph(space, self.limits())

    def force(self, words: Sequence[str], target: Sequence[str]) -> Derivation[Any] | None:
        """The best derivation of a translation that the beam of the readable search finds, None if it finds none.

        Raises:
            InputError: more words than the search can number.
        """
        if not words:
            return self.translate(words)[0] if not target else None
        space = self.space(words, target)
        graph = search_graph(ForcedSpace(space, tuple(target)), self.limits())
        return self.derivation(space, graph.best_labels()) if graph.goal >= 0 else None

    def lattice(self, words: Sequence[str]) -> Lattice:
        """All complete paths that the beam left for a sentence, each arc with its features (TZ07 section 5.2).

        Raises:
            InputError: a sentence without words, or of more than the search can number.
        """
        space, plain = self._useful(words)
        found = self.arc_features(space, plain)
        return Lattice.of(tuple(words), found, space.words_of, self.weights.dense_names)

    def plain_lattice(self, words: Sequence[str]) -> tuple[LatticeArcs, list[tuple[str, ...]]]:
        """The same paths without features or split nodes, and the target words of each arc.

        Raises:
            InputError: as `lattice`.
        """
        space, plain = self._useful(words)
        return plain, [space.words_of(label) for label in plain.label_A.tolist()]

    def _useful(self, words: Sequence[str]) -> tuple[Space, LatticeArcs]:
        refuse_if(not words, "a lattice of a sentence without words", None, "one word or more")
        space = self.space(words)
        return space, useful_arcs(self.search_space(space, every_arc=True))

    def check_length(self, words: Sequence[str]) -> None:
        """Checks that the search can number this many words.

        Raises:
            InputError: it cannot.
        """
        refuse_if(len(words) > self.LONGEST, "the sentence is too long", f"{len(words)} words", f"≤ {self.LONGEST}")

    def nbest_line(self, number: int, derivation: Derivation[Any]) -> str:
        """A line of a Moses n-best list: `id ||| words ||| features ||| total ||| segmentation`, and any word links.

        The segmentation lists `source=target` spans, inclusive, from 0, in target order, without steps that write no
        word; links are `source-target`. A `|` in a word is written `&#124;`.

        Example: `0 ||| the house ||| LM0= -3.1 WordPenalty0= -2 ||| -3.2 ||| 0-1=0-1 ||| 0-0 1-1`
        """

        def inclusive(start: int, end: int) -> str:
            return str(start) if end - start == 1 else f"{start}-{end - 1}"

        spans = zip((step.source_span for step in derivation.blocks), derivation.target_spans, strict=True)
        shown = self.shown_features(derivation)
        fields = [
            str(number),
            " ".join(escape_bars(word) for word in derivation.words),
            " ".join(f"{name}= " + " ".join(f"{value + 0.0:.9g}" for value in values) for name, values in shown),
            f"{derivation.score:.9g}",
            " ".join(f"{inclusive(*source)}={inclusive(*target)}" for source, target in spans if target[0] < target[1]),
        ]
        links = self.word_links(derivation)
        if links is not None:
            fields.append(" ".join(f"{s}-{t}" for s, t in links))
        return " ||| ".join(fields)

    def explain(self, source: Sequence[str], derivation: Derivation[Any]) -> str:
        """A derivation in words, then weight × value of each feature, strongest first, then the sum.

        `source` are the words to show.
        """
        lines = [*self.shown_steps(source, derivation)]
        for name, weight, value in self.contributions(derivation):
            lines.append(f"  {name:<24} {weight:>9.4f} × {value:>10.4f} = {weight * value:>9.4f}")
        return "\n".join([*lines, f"sum {derivation.score:.4f}  {' '.join(derivation.words)}"])

    def shown_steps(self, source: Sequence[str], derivation: Derivation[Any]) -> Iterable[str]:
        """The steps of a derivation in words, line by line."""
        return (step.shown(source) for step in derivation.blocks)

    def contributions(self, derivation: Derivation[Any]) -> list[tuple[str, float, float]]:
        """Name, weight and value of each feature that contributes to the score of a derivation, strongest first."""
        rows = zip(self.feature_names, self.weights_D.tolist(), derivation.features_D.tolist(), strict=True)
        return sorted((row for row in rows if row[1] * row[2]), key=lambda row: -abs(row[1] * row[2]))

    def shown_features(self, derivation: Derivation[Any]) -> Iterator[tuple[str, Sequence[float]]]:
        """The features of a derivation by name, as n-best lists show them."""
        for name, value in zip(self.feature_names, derivation.features_D.tolist(), strict=True):
            yield name, (value,)

    def word_links(self, derivation: Derivation[Any]) -> list[Span] | None:  # noqa: ARG002
        """(source, target) positions that the units align, None if a model does not know."""
        return None

    def orientations(self, derivation: Derivation[Any]) -> list[int]:
        """LEFT, RIGHT or NEUTRAL of each of the derivation's blocks, as pictures show them."""
        return [step.orientation for step in derivation.blocks]


class GraphlessSystem(System[Any, Settings]):
    """A system whose search keeps no graph: it translates, lists and explains, and nothing else.

    Attributes:
        refusal: a message for everything else, what was asked, and what to do.
    """

    refusal: ClassVar[tuple[str, str, str]]

    def _refuse(self, *_: Any, **__: Any) -> Any:
        what, seen, remedy = self.refusal
        raise InputError(what, seen, "translating, n-best lists and explanations", remedy)

    space = derivation = arc_features = with_weights = _refuse


AnySystem = System[Any, Any]
AnyDerivation = Derivation[Step]
