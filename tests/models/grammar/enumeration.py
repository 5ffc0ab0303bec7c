"""Small random grammars, and all derivations of a sentence, found slowly from the definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count, product
from typing import Any, NamedTuple

import numpy as np

from tests.formats.written_rules import scfg_of
from xlate.formats.scfg import NO_LIMIT, Gap, Scfg, ScfgRule, Symbol, gaps_of, joined
from xlate.models.grammar.parsing import COPY, SynchronousGrammar

MOST = 400


class Way(NamedTuple):
    """The target words and the rules of a derivation, from the top."""

    words: tuple[str, ...]
    rules: tuple[int, ...]


class TooMany(Exception):
    """There are more derivations than a test should look at."""


def enumerate_ways(grammar: SynchronousGrammar, words: Sequence[str]) -> list[Way]:
    """Every derivation of a sentence as it is parsed; each label over each span is looked at once.

    Raises:
        TooMany: there are too many.
    """

    @cache
    def of(label: str, start: int, end: int) -> list[Way]:
        ways: list[Way] = []
        for b, rule in enumerate(grammar.scfg.rules):
            if rule.lhs != label or end - start > rule.limit:
                continue
            for spans in matches(rule.source, words, start, end):
                gaps = zip(gaps_of(rule.source), spans, strict=True)
                for inner in product(*(of(gap.label, *span) for gap, span in gaps)):
                    target: list[str] = []
                    for symbol in rule.target:
                        target += inner[symbol.number - 1].words if isinstance(symbol, Gap) else [symbol]
                    ways.append(Way(tuple(target), (b, *(number for way in inner for number in way.rules))))
                    if len(ways) > MOST:
                        raise TooMany
        if label == grammar.copy_label and end - start == 1 and grammar.copies(words[start]):
            ways.append(Way((words[start],), (COPY,)))
        return ways

    return of(grammar.goal, 0, len(words))


def matches(side: Sequence[Symbol], words: Sequence[str], start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """The spans of the gaps of a rule's source side, for every way in which it matches a span."""
    if not side:
        if start == end:
            yield []
    elif isinstance(side[0], Gap):
        for stop in range(start + 1, end + 1):
            yield from ([(start, stop), *spans] for spans in matches(side[1:], words, stop, end))
    elif start < end and words[start] == side[0]:
        yield from matches(side[1:], words, start + 1, end)


def glue(marked: bool) -> Scfg:
    """Glue rules, or those of Joshua, with `<s>` and `</s>`."""
    if marked:
        return scfg_of("S → S1 X2 | S1 X2", "S → <s> | <s>", "S → S1 </s> | S1 </s>", Glue=[1.0, 0.0, 0.0])
    rules = ("S → X1 | X1", "S → Y1 | Y1", "S → S1 X2 | S1 X2", "S → S1 Y2 | S1 Y2")
    return scfg_of(*rules, Glue=[0.0, 0.0, 1.0, 1.0])


def random_rule(rng: np.random.Generator) -> ScfgRule:
    """A rule with up to two non-terminals; none that turns X alone into something, or Y into Y."""

    def words(of: str) -> list[str]:
        return rng.choice(list(of), rng.integers(not labels, 4)).tolist()

    def shuffled(symbols: list[Any]) -> list[Any]:
        return [symbols[place] for place in rng.permutation(len(symbols))]

    lhs, labels, numbers = "XY"[rng.integers(2)], rng.choice(["X", "Y"], rng.integers(3)).tolist(), count(1)
    symbols = shuffled([*labels, *words("ab")])
    source = tuple(Gap(symbol, next(numbers)) if symbol.isupper() else symbol for symbol in symbols)
    if len(source) == 1 and labels and (lhs, *labels) != ("Y", "X"):
        source = (*source, "a")
    return ScfgRule(lhs, source, tuple(shuffled([*gaps_of(source), *words("uvw")])))


def random_grammar(seed: int) -> SynchronousGrammar:
    """Rules for X and Y, some with a feature of their own, and glue rules; c has no rule of its own."""
    rng = np.random.default_rng(seed)
    drawn = dict.fromkeys(random_rule(rng) for _ in range(rng.integers(3, 13)))
    rules = list(drawn | dict.fromkeys(scfg_of("X → a | u", "Y → b | v w").rules))
    sparse = {b: {"Own": float(rng.normal())} for b in range(0, len(rules) - 2, 3)}
    scfg = Scfg(rules, ("PhraseModel_0", "PhraseModel_1"), rng.normal(size=(len(rules), 2)), sparse)
    grammar = joined([(scfg, NO_LIMIT), (glue(bool(rng.integers(2))), NO_LIMIT)])
    for b in range(len(drawn)):
        grammar.rules[b] = grammar.rules[b]._replace(limit=int(rng.choice([NO_LIMIT, 2, 3])))
    return SynchronousGrammar(grammar, "S")
