"""The source side of CKY: which rules match which span, over which spans of their non-terminals.

Spans are visited from short to long. A dotted item is a node of the trie of source sides with the spans of the
non-terminals before it; items over a span go on by one word or by a finished cell (Chappelier & Rajman 1998, the form
of CKY that needs no binary rules).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from xlate.models.scfg.rules import COPY, Leaf, Node, SynchronousGrammar, unary_leaves


class Cell(NamedTuple):
    """What a label covers: the source words from `start` on, up to but without `end`."""

    label: str
    start: int
    end: int


class Match(NamedTuple):
    """Rules of one source side that match a span, with the cells of their non-terminals from left to right."""

    rules: Sequence[int]
    tails: tuple[Cell, ...]


# Fills a cell from all rules that match it; says whether anything came of them.
Fill = Callable[[Cell, list[Match]], bool]


def parse(grammar: SynchronousGrammar, source: Sequence[str], fill: Fill) -> None:
    """Calls `fill` once for every cell that some rule matches, after all cells that its rules need.

    Args:
        grammar: of the sentence.
        source: the words as they are parsed, see `SynchronousGrammar.source`.
        fill: is given a cell and its matches.
    """
    _Parse(grammar, source, fill).run()


Item = tuple[Node, tuple[Cell, ...]]


class _Parse:
    """The dotted items of one sentence by (start, end): nodes of the trie, with the cells behind them.

    `longest[start]` is the largest limit of all items from there, so that no longer span need be looked at.
    """

    def __init__(self, grammar: SynchronousGrammar, source: Sequence[str], fill: Fill) -> None:
        self.grammar, self.source, self.fill, self.root = grammar, source, fill, grammar.root
        self.items: dict[tuple[int, int], list[Item]] = {}
        self.longest = [1] * len(source)
        self.labels: dict[tuple[int, int], list[str]] = {}
        self.unary: dict[str, list[tuple[str, Leaf]]] = defaultdict(list)
        for label, leaf in unary_leaves(grammar.root):
            self.unary[leaf.lhs].append((label, leaf))

    def run(self) -> None:
        """Visits all spans."""
        size = len(self.source)
        for length in range(1, size + 1):
            for start in range(size - length + 1):
                if length <= self.longest[start]:
                    self._span(start, start + length)

    def _span(self, start: int, end: int) -> None:
        items = [*self._after_word(start, end), *self._after_cells(start, end)]
        matches: dict[str, list[Match]] = defaultdict(list)
        for node, tails in items:
            for leaf in node.leaves:
                if end - start <= leaf.limit:
                    matches[leaf.lhs].append(Match(leaf.rules, tails))
        if end - start == 1 and self.grammar.copies(self.source[start]):
            matches[self.grammar.copy_label].append(Match((COPY,), ()))
        if matches:
            items.extend(self._cells(start, end, matches))
        if items:
            self.items[start, end] = items
            self.longest[start] = max(self.longest[start], *(node.longest for node, _ in items))

    def _cells(self, start: int, end: int, matches: dict[str, list[Match]]) -> Iterator[Item]:
        """Fills the cells of a span; the items that begin with one of them."""
        found: list[str] = []
        for label in self.grammar.labels:
            for below, leaf in self.unary.get(label, ()):
                if below in found and end - start <= leaf.limit:
                    matches[label].append(Match(leaf.rules, (Cell(below, start, end),)))
            if label in matches and self.fill(Cell(label, start, end), matches[label]):
                found.append(label)
        self.labels[start, end] = found
        for label in found:
            node = self.root.gaps.get(label)
            if node is not None and node.longest > end - start:
                yield node, (Cell(label, start, end),)

    def _after_word(self, start: int, end: int) -> Iterator[Item]:
        """The items that go on by the last word of a span."""
        length, word = end - start, self.source[end - 1]
        before: list[Item] = [(self.root, ())] if length == 1 else self.items.get((start, end - 1), [])
        for node, tails in before:
            after = node.words.get(word)
            if after is not None and after.longest >= length:
                yield after, tails

    def _after_cells(self, start: int, end: int) -> Iterator[Item]:
        """The items that go on by a cell at the end of a span, but not over all of it."""
        length = end - start
        for middle in range(start + 1, end):
            labels = self.labels.get((middle, end))
            items = self.items.get((start, middle))
            if not labels or not items:
                continue
            for node, tails in items:
                if node.longest < length:
                    continue
                for label in labels:
                    after = node.gaps.get(label)
                    if after is not None and after.longest >= length:
                        yield after, (*tails, Cell(label, middle, end))
