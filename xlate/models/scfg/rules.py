"""What a chart parser needs of a grammar: a trie of source sides, limits of spans, and the order of labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from xlate.errors import InputError
from xlate.formats.scfg.grammar import Gap, Scfg, ScfgRule, Symbol, joined
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
        self.labels = _label_order(self.scfg.rules, copy_label)
        self.root = Node()
        for b, (rule, limit) in enumerate(zip(self.scfg.rules, self.limits, strict=True)):
            self.root.add(rule, b, limit)

    def source(self, words: Sequence[str]) -> list[str]:
        """A sentence as it is parsed."""
        return [BEGIN, *words, END] if self.marked else list(words)

    def copies(self, word: str) -> bool:
        """Whether a source word is copied: no rule translates it alone."""
        node = self.root.words.get(word)
        return (node is None or not node.leaves) and not (self.marked and word in (BEGIN, END))

    def _check_labels(self) -> None:
        known = {rule.lhs for rule in self.scfg.rules} | {self.copy_label}
        used: dict[str, object] = {self.goal: "the goal"}
        for rule in self.scfg.rules:
            for symbol in rule.source:
                if isinstance(symbol, Gap):
                    used.setdefault(symbol.label, rule)
        for label, where in used.items():
            if label not in known:
                raise InputError(
                    "an unknown label",
                    seen=f"{label} in {where}",
                    expected=f"one of the left sides: {', '.join(sorted(known)[:20])}",
                    remedy="give the glue grammar too, and name the goal and the label of copied words",
                )


def unary_label(rule: ScfgRule) -> str | None:
    """The label that a rule turns into its left side, for a rule whose source side is one non-terminal."""
    symbol = rule.source[0]
    return symbol.label if len(rule.source) == 1 and isinstance(symbol, Gap) else None


def _label_order(rules: Sequence[ScfgRule], copy_label: str) -> list[str]:
    graph: dict[str, set[str]] = {copy_label: set()}
    for rule in rules:
        below = graph.setdefault(rule.lhs, set())
        label = unary_label(rule)
        if label is not None:
            if label == rule.lhs:
                raise _circle(f"{rule}")
            below.add(label)
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise _circle(" → ".join(reversed(error.args[1]))) from None


def _circle(seen: str) -> InputError:
    return InputError(
        "rules that can be applied without end",
        seen=seen,
        expected="no circle of rules whose source side is one non-terminal",
        remedy="leave one of the rules out (`Scfg.select`)",
    )


def unary_leaves(root: Node) -> Iterator[tuple[str, Leaf]]:
    """The rules whose source side is one non-terminal, with its label."""
    for label, node in root.gaps.items():
        for leaf in node.leaves:
            yield label, leaf
