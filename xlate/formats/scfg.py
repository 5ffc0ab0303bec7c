"""Synchronous context-free grammars of other systems: labelled rules, each with named features.

`RuleLines` collects the rules of a file line by line and checks what all formats have in common.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.formats.moses_table import LINKS, parse_links
from xlate.phrases.settings import MOST_GAPS
from xlate.text.lines import FileLines
from xlate.text.numbers import LARGEST_FLOAT32, parse_float, parse_row
from xlate.text.vocabulary import BEGIN

# Weights that do not belong to features of rules: log probabilities, target words, copied words.
LANGUAGE, WORDS, COPIES = "LanguageModel", "TargetWords", "CopiedWords"
# The limit for rules that may cover any number of source words.
NO_LIMIT = 1 << 30
LABEL = re.compile(r"[^\s\[\],]+")
_AT_MOST = f"at most {LARGEST_FLOAT32:.3g}"


class Gap(NamedTuple):
    """A non-terminal of a rule: its label, and its number on the source side, from 1."""

    label: str
    number: int


Symbol = str | Gap
Side = tuple[Symbol, ...]
Links = tuple[tuple[int, int], ...]


class ScfgRule(NamedTuple):
    """A rule lhs → ⟨source, target⟩: words and gaps on both sides, the same gaps on each.

    It covers at most `limit` source words.

    Example: `ScfgRule("X", ("ne", Gap("X", 1), "pas"), ("not", Gap("X", 1)))`
    """

    lhs: str
    source: Side
    target: Side
    limit: int = NO_LIMIT

    def __str__(self) -> str:
        """For reading: `X → ne [X,1] pas | not [X,1]`."""
        return f"{self.lhs} → {self.sides()}"

    def sides(self) -> str:
        """Both sides for reading: `ne [X,1] pas | not [X,1]`."""
        symbols = (*self.source, "|", *self.target)
        return " ".join(
            symbol if isinstance(symbol, str) else f"[{symbol.label},{symbol.number}]" for symbol in symbols
        )


def words_of(side: Sequence[Symbol]) -> list[str]:
    """The words of a side, without its gaps."""
    return [symbol for symbol in side if isinstance(symbol, str)]


def gaps_of(side: Sequence[Symbol]) -> list[Gap]:
    """The gaps of a side, without its words."""
    return [symbol for symbol in side if isinstance(symbol, Gap)]


@dataclass(frozen=True)
class Scfg:
    """B rules with D features in columns, and any number of others that few rules have.

    Attributes:
        rules: in the order of their file.
        names: of the D features in columns.
        dense_BD: their values, which are multiplied by weights and summed over the rules of a derivation.
        sparse: the other features of each rule by its number, name to value.
        files: the files the rules were read from, one rule per line, with the number of rules in each, in order; None
            for rules from no file.
    """

    rules: list[ScfgRule]
    names: tuple[str, ...]
    dense_BD: Floats
    sparse: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    files: tuple[tuple[Path | None, int], ...] = ()

    def __len__(self) -> int:
        """The number of rules B."""
        return len(self.rules)

    def features(self, b: int) -> dict[str, float]:
        """The features of rule b by name, without those that are 0."""
        values = {**dict(zip(self.names, self.dense_BD[b].tolist(), strict=True)), **self.sparse.get(b, {})}
        return {name: value for name, value in values.items() if value}

    def scores(self, weights: Mapping[str, float]) -> Floats:
        """The weighted sum of the features of each rule, shape (B,); a feature without a weight counts 0."""
        score_B: Floats = self.dense_BD @ np.array([weights.get(name, 0.0) for name in self.names])
        for b, values in self.sparse.items():
            score_B[b] += sum(weights.get(name, 0.0) * value for name, value in values.items())
        return score_B

    def with_column(self, name: str, value_B: Sequence[float]) -> Scfg:
        """The grammar with one more feature, shape (B,)."""
        return replace(self, names=(*self.names, name), dense_BD=np.column_stack([self.dense_BD, value_B]))

    def select(self, rows: Sequence[int]) -> Scfg:
        """The grammar of some rules, by their numbers."""
        sparse = {new: self.sparse[b] for new, b in enumerate(rows) if b in self.sparse}
        return Scfg([self.rules[b] for b in rows], self.names, self.dense_BD[list(rows)], sparse)

    def error(self, b: int, message: str, seen: object, expected: str, remedy: str | None = None) -> InputError:
        """The error for a rule, with the file and line it was read from."""
        file, line = None, None
        for path, rules in self.files:
            if 0 <= b < rules and path is not None:
                file, line = path, b + 1
            b -= rules
        return InputError(message, seen, expected, remedy, file=file, line=line)


def joined(parts: Sequence[tuple[Scfg, int]]) -> Scfg:
    """Several grammars as one; each comes with the most source words that its rules cover.

    A feature that a grammar does not have is 0 there.
    """
    names = tuple(dict.fromkeys(name for part, _ in parts for name in part.names))
    dense_BD = np.zeros((sum(len(part) for part, _ in parts), len(names)))
    sparse: dict[int, Mapping[str, float]] = {}
    rules: list[ScfgRule] = []
    for part, limit in parts:
        at = len(rules)
        rules += (rule if rule.limit == limit else rule._replace(limit=limit) for rule in part.rules)
        dense_BD[at : len(rules), [names.index(name) for name in part.names]] = part.dense_BD
        sparse.update((at + b, values) for b, values in part.sparse.items())
    files = tuple(file for part, _ in parts for file in part.files or ((None, len(part)),))
    return Scfg(rules, names, dense_BD, sparse, files)


def glue_grammar(label: str = "X", goal: str = "S") -> Scfg:
    """Rules that concatenate pieces of a sentence, as cdec adds them automatically.

    Goal → label, and goal → goal label with the feature `Glue`.
    """
    one, (before, piece) = Gap(label, 1), (Gap(goal, 1), Gap(label, 2))
    rules = [ScfgRule(goal, (one,), (one,)), ScfgRule(goal, (before, piece), (before, piece))]
    return Scfg(rules, ("Glue",), np.array([[0.0], [1.0]]))


@dataclass(frozen=True)
class ForeignSystem:
    """A system of another decoder as its configuration describes it.

    Attributes:
        scfg: all its grammars, joined.
        goal: the label of a complete sentence.
        label: the label of copied words.
        weights: by the names of features, and of `LANGUAGE` (natural logarithms), `WORDS` and `COPIES`.
        lm: the language model, in ARPA format; None for a system without one.
        tables: for each grammar the number of rules, and how many rules per source side count, 0 for all; empty if all
            rules of all grammars count.
    """

    scfg: Scfg
    goal: str
    label: str
    weights: Mapping[str, float]
    lm: Path | None
    tables: Sequence[tuple[int, int]] = ()


class RuleLines(FileLines):
    """The lines of one grammar, and its rules, collected line by line, checked for what all formats have in common.

    Args:
        path: of the file, plain or gzip.
        form: how a line looks, for messages.
        prefix: the names of features written without one begin with it and end with their number from 0.
        symbol: reads one symbol of a side; raises ValueError with what it expected.
    """

    def __init__(self, path: str | Path, form: str, prefix: str, symbol: Callable[[str], Symbol]) -> None:
        super().__init__(path, "check that the grammar is complete and in the expected format")
        self.form, self.prefix = form, prefix
        self.rules: list[ScfgRule] = []
        self.columns = -1
        self.values: array[float] = array("d")
        self.bare: list[bool] = []
        self.sparse: dict[int, dict[str, float]] = {}
        # Many lines share words, sides, links and gaps.
        self.side, self.links, self._symbol = cache(self._side), cache(self._links), cache(symbol)
        self.order = cache(self._order)

    def fields(self, line: str, most: int) -> list[str]:
        """The fields of a line, at least three, without surrounding blanks.

        Raises:
            InputError: there are too few or too many.
        """
        # An empty field, as in Moses's glue grammars, may be a single blank.
        while "||| |||" in line:
            line = line.replace("||| |||", "|||  |||")
        parts = [part.strip(" \t") for part in f"{line} ".split(" ||| ")]
        if not 3 <= len(parts) <= most:
            raise self.error("wrong number of fields", line, self.form)
        return parts

    def _side(self, text: str) -> Side:
        words = text.split(" ")
        if "" in words or "|||" in text:
            raise self.error("an empty side, or one with two spaces in a row", text, self.form)
        try:
            return tuple(map(self._symbol, words))
        except ValueError as error:
            raise self.error("neither a word nor a non-terminal", text, str(error)) from None

    def _links(self, text: str) -> Links:
        try:
            return tuple(sorted(parse_links(text), key=itemgetter(1)))
        except ValueError:
            raise self.error("malformed link", text, LINKS) from None

    def add(self, lhs: str, source: Side, target: Side, links: Links) -> None:
        """Adds a rule whose gaps have the numbers of its line; they are renumbered by the source side.

        Raises:
            InputError: a gap of the source side has no label, the two sides have different gaps, or a link is outside
                of them.
        """
        gaps, others = tuple(gaps_of(source)), tuple(gaps_of(target))
        if (gaps or others) and (order := self.order(gaps, others)):
            source, target = (
                tuple(order[symbol.number] if isinstance(symbol, Gap) else symbol for symbol in side)
                for side in (source, target)
            )
        for s, t in links:
            if s >= len(source) or t >= len(target):
                raise self.error("a link outside its rule", f"{s}-{t}", "positions in the two sides, counted from 0")
        self.rules.append(ScfgRule(lhs, source, target))

    def _order(self, gaps: tuple[Gap, ...], others: tuple[Gap, ...]) -> dict[int, Gap]:
        """The gaps of a source side, renumbered from 1, by their old numbers; empty if both sides are numbered so
        already.
        """
        if bare := [f"[{gap.number}]" for gap in gaps if not gap.label]:
            expected = "a label in each non-terminal of the source side, such as [X,1]"
            raise self.error("neither a word nor a non-terminal", bare[0], expected)
        order = {gap.number: Gap(gap.label, place) for place, gap in enumerate(gaps, 1)}
        same = {gap.number for gap in others} == order.keys() and len(gaps) == len(others) == len(order)
        if not same or any(gap.label not in ("", order[gap.number].label) for gap in others):
            seen = " | ".join(" ".join(f"{gap.label},{gap.number}" for gap in each) for each in (gaps, others))
            raise self.error("non-terminals that do not match", seen, "the same on both sides, each once")
        return {} if gaps == tuple(order.values()) and set(gaps) == set(others) else order

    def add_values(
        self, text: str, named: Sequence[tuple[str, str]], *, optional: bool = False, sign: float = 1.0
    ) -> None:
        """Adds the features of the rule added last: bare numbers (times `sign`), and others by name.

        With `optional`, a rule with named features may have no bare numbers.

        Raises:
            InputError: something is not a 32-bit number, a name occurs twice, or there are not as many bare numbers as
                in the lines before.
        """
        if named:
            found = self.sparse[len(self.rules) - 1] = {}
            for name, value in named:
                seen = f"{name}={value}"
                if not name or name in found:
                    raise self.error(
                        "a feature without a name, or one that appears twice", seen, "each feature once, with its name"
                    )
                try:
                    found[name] = parse_float(value, LARGEST_FLOAT32)
                except ValueError as error:
                    raise self.error(str(error), seen, f"a number after the name, {_AT_MOST}") from None
        values = parse_row(text, LARGEST_FLOAT32)
        if values is None:
            raise self.error("not numbers", text, f"numbers separated by spaces, {_AT_MOST}, or the form {self.form}")
        self.bare.append(bool(values) or not (optional and named))
        if self.bare[-1]:
            self.columns = len(values) if self.columns < 0 else self.columns
            if len(values) != self.columns:
                seen, expected = f"{len(values)} numbers", f"{self.columns}, as in the lines before"
                raise self.error("a different number of features", seen, expected)
            self.values.extend(sign * value + 0.0 for value in values)

    def grammar(self) -> Scfg:
        """The complete grammar; without bare numbers, a name that at least half of the rules have becomes a column."""
        names = tuple(f"{self.prefix}{column}" for column in range(max(self.columns, 0)))
        having = Counter(name for named in self.sparse.values() for name in named)
        frequent = [name for name, count in having.items() if not names and 2 * count >= len(self.rules)]
        dense_BD = np.zeros((len(self.rules), len(names) + len(frequent)))
        if names:
            dense_BD[np.array(self.bare, bool)] = np.array(self.values).reshape(-1, len(names))
        for column, name in enumerate(frequent):
            rows = [b for b, named in self.sparse.items() if name in named]
            dense_BD[rows, column] = [self.sparse[b].pop(name) for b in rows]
        sparse = {b: named for b, named in self.sparse.items() if named}
        return Scfg(self.rules, (*names, *frequent), dense_BD, sparse, ((self.path, len(self.rules)),))


def normal_form(grammar: Scfg, label: str = "X") -> tuple[str, list[str]]:
    """A sentence on how many rules are in target normal form, and the faults of the others.

    Target normal form: a phrase of one word or more, then the non-terminals; at most two, with one label (Watanabe et
    al. 2007, Eq. 2). Faults are listed with the number of rules and an example, the most frequent first.

    Example: `23 rules: a target word after a non-terminal, such as X → ne [X,1] pas | do [X,1] not`
    """
    found = defaultdict[str, list[ScfgRule]](list)
    for rule in grammar.rules:
        found[_fault(rule, label)].append(rule)
    normal = found.pop("", [])
    hierarchical, both = (sum(bool(gaps_of(rule.source)) for rule in each) for each in (grammar.rules, normal))
    share, of_them = 100 * len(normal) / max(len(grammar), 1), 100 * both / max(hierarchical, 1)
    sentence = (
        f"{len(normal)} of {len(grammar)} rules ({share:.1f} %) are in target normal form, "
        f"{both} of the {hierarchical} with non-terminals ({of_them:.1f} %)"
    )
    faults = sorted(found.items(), key=lambda each: -len(each[1]))
    return sentence, [f"{len(rules)} rules: {fault}, such as {rules[0]}" for fault, rules in faults]


def _fault(rule: ScfgRule, label: str) -> str:
    """Why a rule is not in target normal form; empty if it is."""
    gaps = gaps_of(rule.target)
    phrase = len(rule.target) - len(gaps)
    if rule.lhs != label or any(gap.label != label for gap in gaps):
        return f"a label other than {label}"
    if BEGIN in rule.source:
        return f"{BEGIN} in the source"
    if len(gaps) > MOST_GAPS:
        return f"more than {MOST_GAPS} non-terminals"
    if not phrase:
        return "no word in the target"
    return "a target word after a non-terminal" if gaps_of(rule.target[:phrase]) else ""
