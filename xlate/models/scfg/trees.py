"""Derivations as trees: their words, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xlate.formats.scfg.grammar import Gap, Side
from xlate.models.scfg.parsing import Cell
from xlate.models.scfg.rules import COPY, TOP, SynchronousGrammar


class Tree(NamedTuple):
    """A derivation: a rule, by its number, over a cell, and the derivations of its non-terminals in source order."""

    cell: Cell
    rule: int
    below: tuple[Tree, ...]

    def nodes(self) -> Iterator[Tree]:
        """This tree and all below it, from the top, source left to right."""
        return (tree for _, tree in self.by_depth())

    def by_depth(self) -> Iterator[tuple[int, Tree]]:
        """The same, each with the number of trees it lies within."""
        waiting = [(0, self)]
        while waiting:
            depth, tree = waiting.pop()
            yield depth, tree
            waiting += [(depth + 1, below) for below in reversed(tree.below)]


def target_side(grammar: SynchronousGrammar, source: Sequence[str], cell: Cell, rule: int) -> Side:
    """What a rule over a cell of a sentence, as it is parsed, says: a word for copies, the only gap above the goal."""
    if rule == TOP:
        return (Gap(grammar.goal, 1),)
    return (source[cell.start],) if rule == COPY else grammar.scfg.rules[rule].target


def tree_words(grammar: SynchronousGrammar, tree: Tree, source: Sequence[str]) -> list[str]:
    """The target words of a derivation of a sentence as it is parsed."""
    words: list[str] = []
    waiting: list[str | Tree] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            words.append(part)
        else:
            target = target_side(grammar, source, part.cell, part.rule)
            waiting += [part.below[s.number - 1] if isinstance(s, Gap) else s for s in reversed(target)]
    return words


def drawn(grammar: SynchronousGrammar, tree: Tree, source: Sequence[str]) -> Iterator[str]:
    """Yields the lines of a derivation drawn as a tree, a rule a line, with the source words it covers.

    Example:
        X 0-3  ne [X,1] pas | not [X,1]
          X 1-2  va | goes
    """
    for depth, node in tree.by_depth():
        if node.rule == COPY:
            word = grammar.source(source)[node.cell.start]
            rule = f"{word} | {word} (copied)"
        else:
            rule = str(grammar.scfg.rules[node.rule]).partition(" → ")[2]
        yield f"{'  ' * depth}{node.cell.label} {node.cell.start}-{node.cell.end}  {rule}"
