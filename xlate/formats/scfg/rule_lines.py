"""Collects the rules of a grammar while its lines are read, and checks what every format has in common."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from xlate.errors import InputError
from xlate.formats.scfg.grammar import Gap, Scfg, ScfgRule, Side, Symbol
from xlate.text.numbers import LARGEST_FLOAT32, parse_float, parse_int, parse_row
from xlate.text.tokens import between_blanks

BAR = " ||| "
NUMBERS = f"numbers with blanks between, at most {LARGEST_FLOAT32:.3g}"
Links = tuple[tuple[int, int], ...]
LABEL = re.compile(r"[^\s\[\],]+")
_LEFT = re.compile(r"\[([^\s\[\],]+)\]")


class RuleLines:
    """What the lines of one grammar hold so far.

    Args:
        path: named in messages.
        form: how a line looks, for messages.
        prefix: begins the names of features that are written without one; their number from 0 ends it.
    """

    def __init__(self, path: str | Path, form: str, prefix: str) -> None:
        self.path = Path(path)
        self.form = form
        self.prefix = prefix
        self.rules: list[ScfgRule] = []
        self.columns = -1
        self.values: array[float] = array("d")
        self.bare: list[bool] = []
        self.sparse: dict[int, dict[str, float]] = {}
        self.counts: array[float] = array("d")
        self.counted = False
        self._sides: dict[str, list[Symbol]] = {}
        self._symbols: dict[str, Symbol] = {}
        self._links: dict[str, Links] = {}
        self._labels: dict[str, str] = {}

    def fields(self, line: str, number: int, least: int, most: int) -> list[str]:
        """The fields of a line, without blanks around them.

        Raises:
            InputError: they are too few or too many.
        """
        # Of an empty field, as in Moses's glue grammars, only one blank may be left.
        while "||| |||" in line:
            line = line.replace("||| |||", "|||  |||")
        parts = [part.strip(" \t") for part in f"{line} ".split(BAR)]
        if not least <= len(parts) <= most:
            raise self.error("wrong number of fields", number, line, self.form)
        return parts

    def side(self, text: str, number: int, symbol: Callable[[str], Symbol]) -> list[Symbol]:
        """The symbols of one side; `symbol` reads one, and may raise ValueError with what it expected.

        Raises:
            InputError: the side is empty, holds an empty word, or a symbol that cannot be read.
        """
        found = self._sides.get(text)
        if found is not None:
            return found
        words = text.split(" ")
        if "" in words or "|||" in text:
            raise self.error("an empty side, or one with two blanks in a row", number, text, self.form)
        symbols = self._symbols
        try:
            for word in words:
                if word not in symbols:
                    symbols[word] = symbol(word)
            self._sides[text] = found = [symbols[word] for word in words]
        except ValueError as error:
            raise self.error("a symbol that is no word and no non-terminal", number, text, str(error)) from None
        return found

    def label(self, text: str, number: int) -> str:
        """The label in `[X]`.

        Raises:
            InputError: the text is not a label in brackets.
        """
        found = self._labels.get(text)
        if found is None:
            match = _LEFT.fullmatch(text)
            if match is None:
                raise self.error("no label of a left side", number, text, "a label in brackets, such as [X]")
            self._labels[text] = found = match[1]
        return found

    def links(self, text: str, number: int) -> Links:
        """Links like `0-1`, source first, in the order (target, source).

        Raises:
            InputError: something else stands there.
        """
        found = self._links.get(text)
        if found is None:
            try:
                pairs = [link.partition("-") for link in text.split()]
                by_target = sorted({(parse_int(target), parse_int(source)) for source, _, target in pairs})
            except ValueError:
                raise self.error("malformed link", number, text, "links like 0-1, source first, from 0") from None
            self._links[text] = found = tuple((source, target) for target, source in by_target)
        return found

    def add(self, number: int, lhs: str, source: Sequence[Symbol], target: Sequence[Symbol], links: Links) -> None:
        """Takes a rule whose gaps carry the numbers of its line; they are numbered again by the source side.

        Raises:
            InputError: the two sides have different gaps, or a link lies outside of them or at a gap.
        """
        if Gap in map(type, source) or Gap in map(type, target):
            source, target = self._numbered(number, source, target)
        for s, t in links:
            if s >= len(source) or t >= len(target):
                raise self.error("a link outside its rule", number, f"{s}-{t}", "places in the two sides, from 0")
        words = [(s, t) for s, t in links if type(source[s]) is str and type(target[t]) is str]
        links = links if len(words) == len(links) else tuple(words)
        self.rules.append(ScfgRule(lhs, tuple(source), tuple(target), links))

    def _numbered(self, number: int, source: Sequence[Symbol], target: Sequence[Symbol]) -> tuple[Side, Side]:
        gaps = [symbol for symbol in source if isinstance(symbol, Gap)]
        others = [symbol for symbol in target if isinstance(symbol, Gap)]
        if len(gaps) < 3 and (gaps == others or gaps == others[::-1]):
            numbers = [gap.number for gap in gaps]
            if numbers == ([1, 2] if len(gaps) == 2 else [1]):
                return tuple(source), tuple(target)
        order = {gap.number: Gap(gap.label, place) for place, gap in enumerate(gaps, start=1)}
        labels = [order.get(gap.number, Gap("", 0)).label for gap in others]
        same = {gap.number for gap in others} == order.keys() and len(gaps) == len(others) == len(order)
        if not same or any(label != gap.label for label, gap in zip(labels, others, strict=True) if gap.label):
            seen = " | ".join(" ".join(f"{gap.label},{gap.number}" for gap in each) for each in (gaps, others))
            expected = "the same on both sides, each once"
            raise self.error("non-terminals that do not match", number, seen or "none", expected)
        one, two = (
            tuple(order[symbol.number] if isinstance(symbol, Gap) else symbol for symbol in side)
            for side in (source, target)
        )
        return one, two

    def add_values(self, text: str, number: int, sign: float = 1.0) -> None:
        """Takes the features of the rule that was added last: bare numbers (times `sign`) and `Name=value`.

        Raises:
            InputError: something is not a number of 32 bits, a name stands twice, or there are not as many bare numbers
                as in the lines before.
        """
        if "=" in text:
            words = between_blanks(text)
            named = [word for word in words if "=" in word]
            text = " ".join(word for word in words if "=" not in word)
            self._add_named(named, number)
        values = self.numbers(text, number, f"{NUMBERS}, or Name=value")
        self.add_bare(values, number, sign, optional=bool(self.sparse.get(len(self.rules) - 1)))

    def numbers(self, text: str, number: int, expected: str) -> list[float]:
        """The numbers of a field; none is so large that its product with a weight could overflow.

        Raises:
            InputError: something else stands there.
        """
        values = parse_row(text, LARGEST_FLOAT32)
        if values is None:
            raise self.error("not numbers", number, text, expected)
        return values

    def add_bare(self, values: list[float], number: int, sign: float = 1.0, *, optional: bool = False) -> None:
        """Takes the numbers in columns; none are allowed where `optional`.

        Raises:
            InputError: there are not as many as in the lines before.
        """
        if not values and optional:
            self.bare.append(False)
            return
        if self.columns < 0:
            self.columns = len(values)
        if len(values) != self.columns:
            seen, expected = f"{len(values)} numbers", f"{self.columns}, as in the lines before"
            raise self.error("another number of features", number, seen, expected)
        self.values.extend(values if sign == 1.0 else [sign * value + 0.0 for value in values])
        self.bare.append(True)

    def _add_named(self, words: list[str], number: int) -> None:
        found = self.sparse.setdefault(len(self.rules) - 1, {})
        for word in words:
            name, _, value = word.rpartition("=")
            if not name or name in found:
                raise self.error("a feature without a name, or for the second time", number, word, "Name=value, once")
            try:
                found[name] = parse_float(value, LARGEST_FLOAT32)
            except ValueError as error:
                raise self.error(
                    str(error), number, word, f"a number behind the name, at most {LARGEST_FLOAT32:.3g}"
                ) from None

    def add_count(self, count: float | None, number: int) -> None:
        """Takes how often the rule was seen; with None, that nobody says.

        Raises:
            InputError: the count is below 0.
        """
        if count is not None and count < 0:
            raise self.error("a count below 0", number, count, "0 or more")
        self.counted |= count is not None
        self.counts.append(1.0 if count is None else count)

    def error(self, message: str, number: int, seen: object, expected: str) -> InputError:
        """The error for a line."""
        remedy = "check that the grammar is whole, and of the format it is read as"
        return InputError(message, file=self.path, line=number, seen=seen, expected=expected, remedy=remedy)

    def grammar(self) -> Scfg:
        """All that was read; without bare numbers, a name that at least half of the rules have becomes a column."""
        names = tuple(f"{self.prefix}{column}" for column in range(max(self.columns, 0)))
        dense_BD = np.zeros((len(self.rules), len(names)))
        if names and self.bare:
            dense_BD[np.array(self.bare, dtype=bool)] = np.array(self.values).reshape(-1, len(names))
        having = Counter(name for named in self.sparse.values() for name in named)
        frequent = [name for name, count in having.items() if not names and 2 * count >= len(self.rules)]
        more_BD = np.zeros((len(self.rules), len(frequent)))
        for column, name in enumerate(frequent):
            rows = [b for b, named in self.sparse.items() if name in named]
            more_BD[rows, column] = [self.sparse[b].pop(name) for b in rows]
        sparse = {b: named for b, named in self.sparse.items() if named}
        count_B = np.array(self.counts) if self.counted else None
        dense_BD = np.hstack([dense_BD, more_BD])
        return Scfg(self.rules, (*names, *frequent), dense_BD, sparse, count_B, ((self.path, len(self.rules)),))
