"""The source side of CKY: a grammar as a trie of source sides, and which rules match which span of a sentence.

Spans are visited from short to long. A dotted item is a node of the trie with the spans of the non-terminals before it;
items over a span are extended by one word or by a finished cell (Chappelier & Rajman 1998, the form of CKY that needs
no binary rules).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import groupby, pairwise
from typing import NamedTuple

from xlate.errors import refuse_if
from xlate.formats.moses_table import phrases_in
from xlate.formats.scfg import Gap, Scfg, ScfgRule, Side, gaps_of, words_of
from xlate.text.terms import is_hard, own_target, terms_in
from xlate.text.vocabulary import BEGIN, END

# The number of the rule that translates a word as itself, and of the rule above the goal.
COPY, TOP = -1, -2


class Node:
    """The beginning of source sides: the words or labels that may follow, and the rules that end here.

    Rules are by their left side and their limit, the most source words that they cover; `longest` is the largest limit
    of the rules here and below.
    """

    __slots__ = ("gaps", "longest", "rules", "words")

    def __init__(self) -> None:
        # Most nodes have no branch: they share the empty ones, because many small objects slow Python down.
        self.words: dict[str, Node] = _NONE
        self.gaps: dict[str, Node] = _NONE
        self.rules: dict[tuple[str, int], list[int]] = {}
        self.longest = 0

    def add(self, rule: ScfgRule, number: int) -> None:
        """Puts a rule into the trie that begins here."""
        node = self
        node.longest = max(node.longest, rule.limit)
        for symbol in rule.source:
            if isinstance(symbol, Gap):
                node.gaps = branches = node.gaps or {}
                name = symbol.label
            else:
                node.words = branches = node.words or {}
                name = symbol
            if name not in branches:
                branches[name] = Node()
            node = branches[name]
            node.longest = max(node.longest, rule.limit)
        node.rules.setdefault((rule.lhs, rule.limit), []).append(number)


_NONE: dict[str, Node] = {}


class SynchronousGrammar:
    """A grammar that is ready for parsing.

    Source words that no rule translates alone are copied. If the source side of a rule contains `<s>`, as in the glue
    grammars of Moses and Joshua, sentences are parsed between `<s>` and `</s>`.

    Args:
        scfg: all rules.
        goal: the label of a whole sentence.
        copy_label: the left side of copied words.

    Attributes:
        marked: whether sentences are enclosed in `<s>` and `</s>`.
        root: the trie of all source sides.
        unary: the rules whose source side is one non-terminal, with its label and their limit, by their left side.
        labels: every left side; those that a unary rule turns into another one come first.

    Raises:
        InputError: a label is on no left side, or rules that consist of one non-terminal form a cycle.
    """

    def __init__(self, scfg: Scfg, goal: str, copy_label: str = "X") -> None:
        self.scfg, self.goal, self.copy_label = scfg, goal, copy_label
        self.marked = any(BEGIN in rule.source for rule in scfg.rules)
        known = {rule.lhs for rule in scfg.rules} | {copy_label}
        expected = f"one of the left sides: {', '.join(sorted(known)[:20])}"
        remedy = "give the glue grammar too, and name the goal and the label of copied words"
        refuse_if(goal not in known, "an unknown label", f"{goal} as the goal", expected, remedy)
        self.root = Node()
        for b, rule in enumerate(scfg.rules):
            for gap in gaps_of(rule.source):
                if gap.label not in known:
                    raise scfg.error(b, "an unknown label", f"{gap.label} in {rule}", expected, remedy)
            self.root.add(rule, b)
        self.unary: dict[str, list[tuple[str, int, list[int]]]] = defaultdict(list)
        for label, node in self.root.gaps.items():
            for (lhs, longest), same in node.rules.items():
                self.unary[lhs].append((label, longest, same))
        self.labels = self._label_order()

    def select(self, rows: Sequence[int]) -> SynchronousGrammar:
        """The grammar of some rules, by their numbers."""
        return SynchronousGrammar(self.scfg.select(rows), self.goal, self.copy_label)

    def needed_for(self, sentences: Iterable[Sequence[str]]) -> SynchronousGrammar:
        """The grammar of only those rules that can be used in some sentences.

        All their phrases occur there, and each of their gaps has a usable rule.

        Raises:
            InputError: there is no such rule for the goal.
        """
        rules = self.scfg.rules
        # The phrases between the gaps of each source side.
        runs = (groupby(rule.source, lambda symbol: isinstance(symbol, str)) for rule in rules)
        phrases = [[words_of(list(symbols)) for is_word, symbols in each if is_word] for each in runs]
        longest = max((len(phrase) for each in phrases for phrase in each), default=0)
        known = phrases_in(map(self.source, sentences), longest)
        rows = [b for b, each in enumerate(phrases) if known.issuperset(map(" ".join, each))]
        found = -1
        while found != len(rows):
            found = len(rows)
            labels = {self.copy_label, *(rules[b].lhs for b in rows)}
            rows = [b for b in rows if all(gap.label in labels for gap in gaps_of(rules[b].source))]
        return self.select(rows)

    def source(self, words: Sequence[str]) -> list[str]:
        """A sentence in the form that is parsed."""
        return [BEGIN, *words, END] if self.marked else list(words)

    def spoken(self, words: Iterable[str]) -> tuple[str, ...]:
        """Target words without `<s>` and `</s>`."""
        return tuple(word for word in words if not (self.marked and word in (BEGIN, END)))

    def copies(self, word: str) -> bool:
        """Whether a source word is copied because no rule translates it alone."""
        node = self.root.words.get(word)
        return (node is None or not node.rules) and not (self.marked and word in (BEGIN, END))

    def target(self, source: Sequence[str], cell: Cell, rule: int) -> Side:
        """The target side of a rule over a cell of a sentence in parsed form; for copies and terms their words."""
        return own_target(source, rule, cell.start) if rule < 0 else self.scfg.rules[rule].target

    def _label_order(self) -> list[str]:
        """All left sides, each after those that it can be made of by rules alone whose source side is one gap."""
        labels = dict.fromkeys((self.copy_label, *(rule.lhs for rule in self.scfg.rules)))
        graph = {label: [below for below, *_ in self.unary.get(label, ())] for label in labels}
        try:
            return list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            circle = error.args[1]
        steps = set(pairwise(circle))
        unary = ((lhs, label, same) for lhs, below in self.unary.items() for label, _, same in below)
        first = min(same[0] for lhs, label, same in unary if (label, lhs) in steps)
        raise self.scfg.error(
            first,
            "rules that can be applied endlessly",
            f"{self.scfg.rules[first]}, in the cycle {' → '.join(reversed(circle))}",
            "no cycle of rules whose source side is one non-terminal",
            "remove one of the rules from the grammar",
        )


class Cell(NamedTuple):
    """What a label covers: the source words from `start` up to but not including `end`."""

    label: str
    start: int
    end: int


class Match(NamedTuple):
    """Rules of one source side that match a span, with the cells of their non-terminals from left to right."""

    rules: Sequence[int]
    tails: tuple[Cell, ...]


# A dotted item: a node of the trie, and the cells passed so far.
Item = tuple[Node, tuple[Cell, ...]]


def parse(grammar: SynchronousGrammar, source: Sequence[str], fill: Callable[[Cell, list[Match]], bool]) -> None:
    """Calls `fill` once for every cell that some rule matches, after all cells that its rules need.

    Args:
        grammar: of the sentence.
        source: the words in parsed form, see `SynchronousGrammar.source`.
        fill: takes a cell and its matches, and returns whether anything came of them.
    """
    # The items and the filled labels of spans; and the largest limit of all items from each word on, so that longer
    # spans can be skipped.
    items: dict[tuple[int, int], list[Item]] = {}
    labels: dict[tuple[int, int], list[str]] = {}
    longest = [1] * len(source)
    terms = defaultdict[tuple[int, int], list[Match]](list)
    for start, end, unit in terms_in(source):
        terms[start, end].append(Match((unit,), ()))
    lengths = range(1, len(source) + 1)
    for start, end in ((start, start + size) for size in lengths for start in range(len(source) - size + 1)):
        length, word = end - start, source[end - 1]
        if length > longest[start] and (start, end) not in terms:
            continue
        before = [(grammar.root, ())] if length == 1 else items.get((start, end - 1), [])
        # Items are extended by the last word of the span, or by a cell at its end.
        by_word = ((node.words[word], tails) for node, tails in before if word in node.words and not is_hard(word))
        found = [item for item in by_word if item[0].longest >= length]
        found += _after_cells(items, labels, start, end)
        matches: dict[str, list[Match]] = defaultdict(list)
        for node, tails in found:
            for (lhs, limit), rules in node.rules.items():
                if length <= limit:
                    matches[lhs].append(Match(rules, tails))
        own = terms.get((start, end), [])
        if length == 1 and grammar.copies(word) and not own and not is_hard(word):
            own = [Match((COPY,), ())]
        if own:
            matches[grammar.copy_label] += own
        if matches:
            labels[start, end] = _filled(grammar, start, end, matches, fill)
            cells = ((grammar.root.gaps.get(label), Cell(label, start, end)) for label in labels[start, end])
            found += ((node, (cell,)) for node, cell in cells if node is not None and node.longest > length)
        if found:
            items[start, end] = found
            longest[start] = max(longest[start], *(node.longest for node, _ in found))


def _filled(
    grammar: SynchronousGrammar,
    start: int,
    end: int,
    matches: dict[str, list[Match]],
    fill: Callable[[Cell, list[Match]], bool],
) -> list[str]:
    """Fills the cells of a span, first those that rules turn into others; returns the labels that have something."""
    found: list[str] = []
    for label in grammar.labels:
        for below, limit, rules in grammar.unary.get(label, ()):
            if below in found and end - start <= limit:
                matches[label].append(Match(rules, (Cell(below, start, end),)))
        if label in matches and fill(Cell(label, start, end), matches[label]):
            found.append(label)
    return found


def _after_cells(
    items: dict[tuple[int, int], list[Item]], labels: dict[tuple[int, int], list[str]], start: int, end: int
) -> Iterator[Item]:
    """The items extended by a cell at the end of a span, but not over all of it."""
    length = end - start
    for middle in range(start + 1, end):
        found = labels.get((middle, end))
        if not found:
            continue
        for node, tails in items.get((start, middle), ()):
            if node.longest < length:
                continue
            for label in found:
                after = node.gaps.get(label)
                if after is not None and after.longest >= length:
                    yield after, (*tails, Cell(label, middle, end))
