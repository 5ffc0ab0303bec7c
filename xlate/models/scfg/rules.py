"""What a chart parser needs of a grammar: a trie of source sides, limits of spans, and the order of labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import groupby, pairwise
from typing import NamedTuple

from xlate.errors import InputError
from xlate.formats.moses_table import phrases_in
from xlate.formats.scfg.grammar import Gap, Scfg, ScfgRule, Side, Symbol, joined
from xlate.text.vocabulary import BEGIN, END

# The number of the rule that translates a word as itself.
COPY = -1
# The number of the rule above the goal.
TOP = -2
NO_LIMIT = 1 << 30


class Leaf(NamedTuple):
    """Rules of one source side, left side and limit: they cover at most `limit` source words."""

    lhs: str
    limit: int
    rules: list[int]


class Node:
    """The beginning of source sides: by which word or label they go on, and the rules that end here.

    `longest` is the largest limit of the rules here and below.
    """

    __slots__ = ("gaps", "leaves", "longest", "words")

    def __init__(self) -> None:
        # Most nodes have no branch: they share the empty ones, since many small objects slow Python down.
        self.words: dict[str, Node] = _NONE
        self.gaps: dict[str, Node] = _NONE
        self.leaves: list[Leaf] = []
        self.longest = 0

    def after(self, symbol: Symbol) -> Node:
        """The node behind one more symbol, made if it is not there."""
        if isinstance(symbol, Gap):
            self.gaps = branches = self.gaps or {}
            name = symbol.label
        else:
            self.words = branches = self.words or {}
            name = symbol
        if name not in branches:
            branches[name] = Node()
        return branches[name]

    def add(self, rule: ScfgRule, number: int, limit: int) -> None:
        """Puts a rule into the trie that begins here."""
        node = self
        node.longest = max(node.longest, limit)
        for symbol in rule.source:
            node = node.after(symbol)
            node.longest = max(node.longest, limit)
        for leaf in node.leaves:
            if leaf.lhs == rule.lhs and leaf.limit == limit:
                leaf.rules.append(number)
                return
        node.leaves.append(Leaf(rule.lhs, limit, [number]))


_NONE: dict[str, Node] = {}


class SynchronousGrammar:
    """One or more grammars as one, ready for parsing.

    Source words that no rule translates alone are copied. Where the source side of a rule holds `<s>`, as in the glue
    grammars of Moses and Joshua, sentences are parsed between `<s>` and `</s>`.

    Attributes:
        scfg: all rules.
        goal: the label of a whole sentence.
        copy_label: the left side of copied words.
        marked: whether sentences stand between `<s>` and `</s>`.
        root: the trie of all source sides.
        labels: every left side, those that a unary rule turns into another one first.
    """

    def __init__(self, parts: Iterable[tuple[Scfg, int | None]], goal: str, copy_label: str = "X") -> None:
        """Takes grammars, each with the most source words that its rules cover, None without a limit.

        Raises:
            InputError: a label is on no left side, or rules that consist of one non-terminal go round in a circle.
        """
        given = list(parts)
        self.scfg = joined(scfg for scfg, _ in given)
        self.limits = [NO_LIMIT if limit is None else limit for scfg, limit in given for _ in scfg.rules]
        self.goal = goal
        self.copy_label = copy_label
        self.marked = any(BEGIN in rule.source for rule in self.scfg.rules)
        self._check_labels()
        self.labels = _label_order(self.scfg, copy_label)
        self.root = Node()
        for b, (rule, limit) in enumerate(zip(self.scfg.rules, self.limits, strict=True)):
            self.root.add(rule, b, limit)

    @classmethod
    def of_rules(
        cls, scfg: Scfg, limits: Sequence[int], goal: str, copy_label: str, rows: Sequence[int] | None = None
    ) -> SynchronousGrammar:
        """The grammar of all rules of one, or of those of some numbers, each with its limit, as in `limits`."""
        parts: list[tuple[Scfg, int | None]] = []
        for limit, some in groupby(range(len(scfg)) if rows is None else rows, key=limits.__getitem__):
            parts.append((scfg.select(list(some)), None if limit == NO_LIMIT else limit))
        return cls(parts, goal, copy_label)

    def needed_for(self, sentences: Iterable[Sequence[str]]) -> SynchronousGrammar:
        """The grammar of those rules only that can be of use in some sentences.

        All their phrases occur there, and each of their gaps has a rule that is of use.

        Raises:
            InputError: there is no such rule for the goal.
        """
        rules = self.scfg.rules
        longest = max((len(run) for rule in rules for run in _runs(rule.source)), default=0)
        known = phrases_in(map(self.source, sentences), longest)
        rows = [b for b, rule in enumerate(rules) if known.issuperset(" ".join(run) for run in _runs(rule.source))]
        found = -1
        while found != len(rows):
            found = len(rows)
            labels = {self.copy_label, *(rules[b].lhs for b in rows)}
            rows = [b for b in rows if all(symbol.label in labels for symbol in _gaps(rules[b].source))]
        return self.of_rules(self.scfg, self.limits, self.goal, self.copy_label, rows)

    def source(self, words: Sequence[str]) -> list[str]:
        """A sentence as it is parsed."""
        return [BEGIN, *words, END] if self.marked else list(words)

    def copies(self, word: str) -> bool:
        """Whether a source word is copied: no rule translates it alone."""
        node = self.root.words.get(word)
        return (node is None or not node.leaves) and not (self.marked and word in (BEGIN, END))

    def _check_labels(self) -> None:
        known = {rule.lhs for rule in self.scfg.rules} | {self.copy_label}
        expected = f"one of the left sides: {', '.join(sorted(known)[:20])}"
        remedy = "give the glue grammar too, and name the goal and the label of copied words"
        if self.goal not in known:
            seen = f"{self.goal} as the goal"
            raise InputError("an unknown label", seen=seen, expected=expected, remedy=remedy)
        for b, rule in enumerate(self.scfg.rules):
            for gap in _gaps(rule.source):
                if gap.label not in known:
                    raise self.scfg.error(b, "an unknown label", f"{gap.label} in {rule}", expected, remedy)


def _runs(side: Side) -> Iterator[list[str]]:
    """The phrases between the gaps of a side."""
    for is_word, symbols in groupby(side, lambda symbol: isinstance(symbol, str)):
        if is_word:
            yield [symbol for symbol in symbols if isinstance(symbol, str)]


def _gaps(side: Side) -> Iterator[Gap]:
    return (symbol for symbol in side if isinstance(symbol, Gap))


def unary_label(rule: ScfgRule) -> str | None:
    """The label that a rule turns into its left side, for a rule whose source side is one non-terminal."""
    symbol = rule.source[0]
    return symbol.label if len(rule.source) == 1 and isinstance(symbol, Gap) else None


def _label_order(scfg: Scfg, copy_label: str) -> list[str]:
    """All left sides, each behind those that it can be made of by unary rules alone.

    Raises:
        InputError: there is no such order; the first rule of a circle is named.
    """
    graph: dict[str, set[str]] = {copy_label: set()}
    unary: dict[tuple[str, str], int] = {}
    for b, rule in enumerate(scfg.rules):
        below = graph.setdefault(rule.lhs, set())
        label = unary_label(rule)
        if label is not None:
            below.add(label)
            unary.setdefault((label, rule.lhs), b)
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = error.args[1]
    first = min(map(unary.__getitem__, pairwise(circle)))
    raise scfg.error(
        first,
        "rules that can be applied without end",
        f"{scfg.rules[first]}, in the circle {' → '.join(reversed(circle))}",
        "no circle of rules whose source side is one non-terminal",
        "take one of the rules out of the grammar",
    )


def unary_leaves(root: Node) -> Iterator[tuple[str, Leaf]]:
    """The rules whose source side is one non-terminal, with its label."""
    for label, node in root.gaps.items():
        for leaf in node.leaves:
            yield label, leaf
