"""All derivations of a sentence, found slowly from the definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from tests.formats.grammars.small_grammars import grammars
from xlate.formats.grammars.grammar import NO_LIMIT, Gap, Scfg, ScfgRule, joined
from xlate.models.grammar.parsing import COPY, SynchronousGrammar

MOST = 400


class Way(NamedTuple):
    """The target words and the rules of a derivation, from the top."""

    words: tuple[str, ...]
    rules: tuple[int, ...]


class TooMany(Exception):
    """There are more derivations than a test should look at."""


@dataclass
class Enumeration:
    """The derivations of a sentence, given as it is parsed; each label over each span is looked at once."""

    grammar: SynchronousGrammar
    words: Sequence[str]
    known: dict[tuple[str, int, int], list[Way]] = field(default_factory=dict)

    def of(self, label: str, start: int, end: int) -> list[Way]:
        """Every derivation of a span from a label.

        Raises:
            TooMany: there are too many.
        """
        if (label, start, end) not in self.known:
            self.known[label, start, end] = list(islice(self._ways(label, start, end), MOST + 1))
        if len(self.known[label, start, end]) > MOST:
            raise TooMany
        return self.known[label, start, end]

    def _ways(self, label: str, start: int, end: int) -> Iterator[Way]:
        grammar = self.grammar
        for b, (rule, limit) in enumerate(zip(grammar.scfg.rules, grammar.limits, strict=True)):
            if rule.lhs == label and end - start <= limit:
                for spans in matches(rule, self.words, start, end):
                    yield from self._inserted(b, rule, spans)
        if label == grammar.copy_label and end - start == 1 and grammar.copies(self.words[start]):
            yield Way((self.words[start],), (COPY,))

    def _inserted(self, b: int, rule: ScfgRule, spans: list[tuple[int, int]]) -> Iterator[Way]:
        """The derivations that begin with a rule over given spans."""
        labels = [symbol.label for symbol in rule.source if isinstance(symbol, Gap)]
        for ways in product(*(self.of(label, *span) for label, span in zip(labels, spans, strict=True))):
            target: list[str] = []
            for symbol in rule.target:
                target += ways[symbol.number - 1].words if isinstance(symbol, Gap) else [symbol]
            yield Way(tuple(target), (b, *(number for way in ways for number in way.rules)))


def matches(rule: ScfgRule, words: Sequence[str], start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """The spans of the gaps of a rule's source side, for every way in which it matches a span."""

    def rest(place: int, at: int, spans: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
        if place == len(rule.source):
            if at == end:
                yield spans
        elif isinstance(rule.source[place], Gap):
            for stop in range(at + 1, end + 1):
                yield from rest(place + 1, stop, [*spans, (at, stop)])
        elif at < end and words[at] == rule.source[place]:
            yield from rest(place + 1, at + 1, spans)

    return rest(0, start, [])


def glue(marked: bool) -> Scfg:
    """Glue rules, or those of Joshua, with `<s>` and `</s>`."""
    if not marked:
        one, pairs = (Gap("X", 1), Gap("Y", 1)), [(Gap("S", 1), Gap(label, 2)) for label in "XY"]
        rules = [ScfgRule("S", side, side) for side in (*((gap,) for gap in one), *pairs)]
        return Scfg(rules, ("Glue",), np.array([[0.0], [0.0], [1.0], [1.0]]))
    goal, x = Gap("S", 1), Gap("X", 2)
    rules = [
        ScfgRule("S", (goal, x), (goal, x)),
        ScfgRule("S", ("<s>",), ("<s>",)),
        ScfgRule("S", (goal, "</s>"), (goal, "</s>")),
    ]
    return Scfg(rules, ("Glue",), np.array([[1.0], [0.0], [0.0]]))


@st.composite
def whole_grammars(draw: st.DrawFn) -> SynchronousGrammar:
    """Random rules for X and Y with glue rules; c has no rule of its own."""
    base = Scfg(
        [ScfgRule("X", ("a",), ("u",)), ScfgRule("Y", ("b",), ("v", "w"))],
        ("PhraseModel_0", "PhraseModel_1"),
        np.array([[0.5, -0.25], [-1.0, 0.125]]),
    )
    parts = [(base, NO_LIMIT)]
    for _ in range(2):
        drawn = distinct(draw(grammars(most=5)), joined(parts)[0])
        parts.append((drawn, draw(st.sampled_from([NO_LIMIT, 2, 3]))))
    return SynchronousGrammar(*joined([*parts, (glue(draw(st.booleans())), NO_LIMIT)]), "S")


def distinct(grammar: Scfg, other: Scfg) -> Scfg:
    """The rules that another grammar does not have."""
    return grammar.select([b for b, rule in enumerate(grammar.rules) if rule not in other.rules])
