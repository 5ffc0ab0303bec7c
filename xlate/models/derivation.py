"""A finished translation: the steps it is made of, the features whose weighted sum is its score, and both explained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

from xlate.array_types import Floats
from xlate.kernels.pairs import LEFT, NEUTRAL, RIGHT
from xlate.search.beam import SearchGraph, labels_of

# The units of a copied source word, and of the end of the sentence, which covers nothing.
COPIED, END = -1, -2
Span = tuple[int, int]


@dataclass(frozen=True)
class Step:
    """One unit of a model put into a derivation.

    Attributes:
        unit: the number of the block, phrase pair or rule; `COPIED`, or `END`.
        source_spans: half-open, in words, from left to right; more than one where the unit has gaps.
        target_words: its target words.
        orientation: LEFT, RIGHT or NEUTRAL relative to the step before; NEUTRAL in models without orientations.
    """

    unit: int
    source_spans: tuple[Span, ...]
    target_words: tuple[str, ...]
    orientation: int = NEUTRAL

    @property
    def source_span(self) -> Span:
        """From the first source word to just past the last one."""
        return self.source_spans[0][0], self.source_spans[-1][1]

    @property
    def places(self) -> list[int]:
        """The source position of each symbol of the unit's source side; for a gap, that of its first word."""
        return [place for begin, end in self.source_spans for place in range(begin, end)]

    def moved(self, by: int) -> Self:
        """The same unit, shifted `by` source words to the right."""
        return replace(self, source_spans=spans_moved(self.source_spans, by))

    def shown(self, source: Sequence[str]) -> str:
        """The half-open span and both sides in words.

        Example: `[0,2)  das haus -> the house`
        """
        start, end = self.source_span
        return f"[{start},{end})  {' '.join(source[start:end])} -> {' '.join(self.target_words)}"

    @property
    def is_end(self) -> bool:
        """Whether this is the end of the sentence."""
        return self.unit == END


def spans_moved(spans: Iterable[Span], by: int) -> tuple[Span, ...]:
    """Spans shifted `by` words to the right."""
    return tuple((begin + by, end + by) for begin, end in spans)


def own_spans(span: Span, gaps: Sequence[Span]) -> tuple[Span, ...]:
    """The runs of source words that a rule translates itself, from left to right."""
    own: list[Span] = []
    at = span[0]
    for begin, end in [*sorted(gaps), (span[1], span[1])]:
        if at < begin:
            own.append((at, begin))
        at = end
    return tuple(own)


StepT = TypeVar("StepT", bound=Step, covariant=True)


@dataclass(frozen=True)
class Derivation(Generic[StepT]):
    """A source sentence, the steps that translate it in target order, their features and summed score.

    `features` may be a function that computes them on first use: a translation needs only its words.
    """

    source: tuple[str, ...]
    steps: tuple[StepT, ...]
    features: Floats | Callable[[], Floats] = field(compare=False)
    score: float

    @cached_property
    def features_D(self) -> Floats:
        """Features in the order of its system's `feature_names`; score = weights · features. Shape (D,)."""
        return self.features() if callable(self.features) else self.features

    def __getstate__(self) -> dict[str, Any]:
        """Pickles it for another process, with its features."""
        return vars(self) | {"features": self.features_D}

    @property
    def words(self) -> list[str]:
        """The target words."""
        return [word for step in self.steps for word in step.target_words]

    @property
    def blocks(self) -> tuple[StepT, ...]:
        """The steps that cover source words: all but the end of the sentence."""
        return tuple(step for step in self.steps if not step.is_end)

    @property
    def target_spans(self) -> list[Span]:
        """The half-open target span of each of `blocks`."""
        spans, at = [], 0
        for step in self.blocks:
            spans.append((at, at + len(step.target_words)))
            at += len(step.target_words)
        return spans

    @property
    def copied(self) -> int:
        """How many source words are copied."""
        return sum(step.unit == COPIED for step in self.steps)


def side_of(before: Span | None, span: Span) -> int:
    """The side of `before` on which `span` lies: LEFT or RIGHT where they touch, else NEUTRAL."""
    if before is None:
        return NEUTRAL
    return RIGHT if span[0] == before[1] else LEFT if span[1] == before[0] else NEUTRAL


def joined(parts: Sequence[Derivation[StepT]]) -> Derivation[StepT]:
    """One derivation of a sentence from those of its pieces; each piece keeps its end, and features add up."""
    steps: list[StepT] = []
    at = 0
    for part in parts:
        steps += [step.moved(at) for step in part.steps]
        at += len(part.source)
    source = tuple(word for part in parts for word in part.source)

    def features_D() -> Floats:
        return sum((part.features_D for part in parts[1:]), parts[0].features_D)

    return Derivation(source, tuple(steps), features_D, sum(part.score for part in parts))


def best_joined(lists: Sequence[Sequence[Derivation[StepT]]], most: int, distinct: bool) -> list[Derivation[StepT]]:
    """The best derivations of a sentence from the lists of its pieces: the highest sums of scores, best first.

    With `distinct`, only the best of those with the same target words is kept.
    """
    found: list[Derivation[StepT]] = []
    seen: set[tuple[str, ...]] = set()
    size = len(lists)
    arcs = [(n, n + 1, place, one.score) for n, listed in enumerate(lists) for place, one in enumerate(listed)]
    graph = SearchGraph.of_arcs(arcs, [0.0] * (size + 1), [-1] * (size + 1), size)
    for places in labels_of(graph.best_paths(most)[0]):
        whole = joined([derivations[place] for derivations, place in zip(lists, places, strict=True)])
        target = tuple(whole.words) if distinct else ()
        if not distinct or target not in seen:
            found.append(whole)
        seen.add(target)
    return found
