"""Whether a grammar can translate a sentence as given, and in how many ways: parsing both sides at once, exactly.

A cell of the source counts, for each span of the translation, the derivations that cover both. Spans of the target side
of a rule are found symbol by symbol from its left end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from xlate.formats.scfg.grammar import Gap, Side
from xlate.models.scfg.parsing import Cell, Match, parse
from xlate.models.scfg.rules import COPY, SynchronousGrammar

# Derivations by the end of a span, by its start.
Spans = dict[int, dict[int, int]]


def reachable(grammar: SynchronousGrammar, source: Sequence[str], target: Sequence[str]) -> bool:
    """Whether the grammar has a derivation of a sentence and its translation."""
    return count_derivations(grammar, source, target) > 0


def count_derivations(grammar: SynchronousGrammar, source: Sequence[str], target: Sequence[str]) -> int:
    """How many derivations a sentence and its translation have; rules that are spelled alike count as one."""
    forced = _Forced(grammar, grammar.source(source), grammar.source(target))
    parse(grammar, forced.source, forced.fill)
    whole = Cell(grammar.goal, 0, len(forced.source))
    return forced.cells.get(whole, {}).get(0, {}).get(len(forced.target), 0)


class _Forced:
    """The derivations of the cells of one sentence."""

    def __init__(self, grammar: SynchronousGrammar, source: Sequence[str], target: Sequence[str]) -> None:
        self.grammar, self.source, self.target = grammar, source, target
        self.cells: dict[Cell, Spans] = {}
        self.places: dict[str, list[int]] = {}
        for place, word in enumerate(target):
            self.places.setdefault(word, []).append(place)
        self._fitting: dict[int, list[Side]] = {}

    def fill(self, cell: Cell, matches: list[Match]) -> bool:
        """Counts the derivations of a cell."""
        spans: Spans = defaultdict(lambda: defaultdict(int))
        for rules, tails in matches:
            inner = [self.cells[tail] for tail in tails]
            for side in self._sides(cell, rules):
                for (start, end), count in self._spread(side, inner).items():
                    spans[start][end] += count
        if spans:
            self.cells[cell] = spans
        return bool(spans)

    def _sides(self, cell: Cell, rules: Sequence[int]) -> Iterable[Side]:
        """The different target sides of some rules whose words all stand in the translation."""
        if rules[0] == COPY:
            return [(self.source[cell.start],)]
        fitting = self._fitting.get(id(rules))
        if fitting is None:
            sides = dict.fromkeys(self.grammar.scfg.rules[b].target for b in rules)
            fitting = [side for side in sides if all(isinstance(s, Gap) or s in self.places for s in side)]
            self._fitting[id(rules)] = fitting
        return fitting

    def _spread(self, side: Side, inner: Sequence[Spans]) -> dict[tuple[int, int], int]:
        """The spans of the translation that a target side covers, with the number of ways."""
        reached: dict[tuple[int, int], int] = {}
        for number, symbol in enumerate(side):
            after: dict[tuple[int, int], int] = defaultdict(int)
            if isinstance(symbol, Gap):
                spans = inner[symbol.number - 1]
                begun = reached if number else {(start, start): 1 for start in spans}
                for (start, middle), count in begun.items():
                    for end, more in spans.get(middle, {}).items():
                        after[start, end] += count * more
            elif number:
                for (start, middle), count in reached.items():
                    if middle < len(self.target) and self.target[middle] == symbol:
                        after[start, middle + 1] = count
            else:
                after.update(((place, place + 1), 1) for place in self.places.get(symbol, ()))
            if not after:
                return {}
            reached = after
        return reached
