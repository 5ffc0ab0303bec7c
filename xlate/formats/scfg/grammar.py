"""Synchronous context-free grammars as other systems write them: rules with labels, and named features of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError


class Gap(NamedTuple):
    """A non-terminal of a rule: its label, and its number, which counts those of the source side from 1."""

    label: str
    number: int


Symbol = str | Gap
Side = tuple[Symbol, ...]


class ScfgRule(NamedTuple):
    """A rule lhs → ⟨source, target⟩: words and gaps on both sides, the same gaps on each.

    Links are those of words, as (place in the source side, place in the target side), in the order of the target; gaps
    count as places.

    Example: `ScfgRule("X", ("ne", Gap("X", 1), "pas"), ("not", Gap("X", 1)), ((0, 0), (2, 0)))`
    """

    lhs: str
    source: Side
    target: Side
    links: tuple[tuple[int, int], ...] = ()

    @property
    def gaps(self) -> int:
        """The number of non-terminals."""
        return sum(isinstance(symbol, Gap) for symbol in self.source)

    @property
    def source_words(self) -> list[str]:
        """The words of the source side, without gaps."""
        return [symbol for symbol in self.source if isinstance(symbol, str)]

    @property
    def target_words(self) -> list[str]:
        """The words of the target side, without gaps."""
        return [symbol for symbol in self.target if isinstance(symbol, str)]

    def __str__(self) -> str:
        """For reading: `X → ne [X,1] pas | not [X,1]`."""
        return f"{self.lhs} → {side_text(self.source)} | {side_text(self.target)}"


def side_text(side: Side) -> str:
    """One side as text, gaps as `[X,1]`."""
    return " ".join(symbol if isinstance(symbol, str) else f"[{symbol.label},{symbol.number}]" for symbol in side)


@dataclass(frozen=True)
class Scfg:
    """B rules with D features that stand in columns, and any number of others that few rules have.

    Attributes:
        rules: in the order of their file.
        names: of the D features in columns.
        dense_BD: their values, meant to be multiplied by weights and summed over the rules of a derivation.
        sparse: the other features of a rule by its number, name to value.
        count_B: how often each rule was seen; None where nobody says.
        files: the files that the rules were read from, one rule on each line, and how many each has, in order; None
            for rules of no file.
    """

    rules: list[ScfgRule]
    names: tuple[str, ...]
    dense_BD: Floats
    sparse: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    count_B: Floats | None = None
    files: tuple[tuple[Path | None, int], ...] = ()

    def __len__(self) -> int:
        """The number of rules B."""
        return len(self.rules)

    def features(self, b: int) -> dict[str, float]:
        """The features of rule b by name, those that are 0 left out."""
        values = dict(zip(self.names, self.dense_BD[b].tolist(), strict=True))
        values.update(self.sparse.get(b, {}))
        return {name: value for name, value in values.items() if value}

    def scores(self, weights: Mapping[str, float]) -> Floats:
        """The weighted sum of the features of each rule; a feature without a weight counts 0. Shape (B,)."""
        score_B: Floats = self.dense_BD @ np.array([weights.get(name, 0.0) for name in self.names])
        for b, values in self.sparse.items():
            score_B[b] += sum(weights.get(name, 0.0) * value for name, value in values.items())
        return score_B

    def column(self, name: str) -> Floats | None:
        """The values of a feature in all rules, shape (B,); None when no rule has it."""
        if name in self.names:
            return self.dense_BD[:, self.names.index(name)]
        value_B = np.zeros(len(self))
        rows = [b for b, values in self.sparse.items() if name in values]
        value_B[rows] = [self.sparse[b][name] for b in rows]
        return value_B if rows else None

    def with_column(self, name: str, value_B: Sequence[float] | Floats) -> Scfg:
        """The grammar with one more feature, shape (B,)."""
        dense_BD = np.column_stack([self.dense_BD, np.asarray(value_B, dtype=np.float64)])
        return replace(self, names=(*self.names, name), dense_BD=dense_BD)

    def error(self, b: int, message: str, seen: object, expected: str, remedy: str | None = None) -> InputError:
        """The error for a rule, with the file and line it was read from."""
        for path, rules in self.files:
            if b < rules:
                line = None if path is None else b + 1
                return InputError(message, file=path, line=line, seen=seen, expected=expected, remedy=remedy)
            b -= rules
        return InputError(message, seen=seen, expected=expected, remedy=remedy)

    def select(self, rows: Sequence[int]) -> Scfg:
        """The grammar of some rules, by their numbers."""
        return Scfg(
            [self.rules[b] for b in rows],
            self.names,
            self.dense_BD[list(rows)],
            {new: self.sparse[b] for new, b in enumerate(rows) if b in self.sparse},
            None if self.count_B is None else self.count_B[list(rows)],
        )


def joined(grammars: Iterable[Scfg]) -> Scfg:
    """The rules of several grammars as one; a feature that a grammar does not have is 0 there, a missing count 1."""
    parts = list(grammars)
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    dense_BD = np.zeros((sum(map(len, parts)), len(names)))
    sparse: dict[int, Mapping[str, float]] = {}
    at = 0
    for part in parts:
        dense_BD[at : at + len(part), [names.index(name) for name in part.names]] = part.dense_BD
        sparse.update((at + b, values) for b, values in part.sparse.items())
        at += len(part)
    counted = any(part.count_B is not None for part in parts)
    counts = [np.ones(len(part)) if part.count_B is None else part.count_B for part in parts]
    rules = [rule for part in parts for rule in part.rules]
    files = tuple(file for part in parts for file in part.files or ((None, len(part)),))
    return Scfg(rules, names, dense_BD, sparse, np.concatenate(counts) if counted else None, files)


def glue_grammar(labels: Sequence[str] = ("X",), goal: str = "S") -> Scfg:
    """Rules that put pieces of a sentence one behind the other, as cdec adds them by itself.

    Goal → label, and goal → goal label with the feature `Glue`, for each of some labels.
    """
    before = Gap(goal, 1)
    rules = [ScfgRule(goal, (Gap(label, 1),), (Gap(label, 1),)) for label in labels]
    rules += [ScfgRule(goal, (before, Gap(label, 2)), (before, Gap(label, 2))) for label in labels]
    return Scfg(rules, ("Glue",), np.repeat([[0.0], [1.0]], len(labels), axis=0))
