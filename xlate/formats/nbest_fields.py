"""Reads the feature field of an n-best line as each toolkit writes it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from operator import itemgetter
from typing import Any

from xlate.text.numbers import LARGEST_FLOAT32, parse_float, parse_floats

Layout = tuple[tuple[str, int], ...]
UNLABELLED = "F"
WORD_SCORES = "WordScores="
# Values are kept and learned from in 32 bits.
LARGEST = LARGEST_FLOAT32
_COUNT = itemgetter(1)
_SOFT = re.compile(r"[0-9eE.,+ -]+")


class FeatureParser:
    """Reads feature fields; the pattern of a line is tried first on the next one, which makes it fast.

    It reads `Name= v v` (Moses, Marian), `name: v v` (old Moses, Phrasal), `name=v` (Joshua, cdec), and numbers without
    names, which become values of the feature `F`.

    Example:
        >>> FeatureParser().parse("d: 0 -7.6 w: -9")
        ((('d', 2), ('w', 1)), [0.0, -7.6, -9.0])
        >>> FeatureParser().parse("lm_0=-28.045 Glue=1")
        ((('lm_0', 1), ('Glue', 1)), [-28.045, 1.0])
    """

    def __init__(self) -> None:
        self._length = -1
        self._labels: Any = None
        self._label_places: Any = None
        self._value_places: Any = None
        self._layout: Layout = ()
        self._before: Layout = ()
        self._singles = _Singles()

    def parse(self, field: str) -> tuple[Layout, list[float]]:
        """The names with the number of values of each, and all values in a row.

        Raises:
            ValueError: a value is not a finite number of 32 bits, or a name has no values or stands twice.
        """
        tokens = field.split(" ")
        if "" in tokens:
            tokens = [token for token in tokens if token]
        if len(tokens) == self._length and self._label_places(tokens) == self._labels:
            values = parse_floats(self._value_places(tokens), LARGEST)
            if values is not None:
                return self._layout, values
        return self._parse(tokens)

    def _parse(self, tokens: list[str]) -> tuple[Layout, list[float]]:
        places = [place for place, token in enumerate(tokens) if token[-1] in "=:"]
        numbers = [token for token in tokens if token[-1] not in "=:"]
        if not places or places[0] > 0 or "=" in "".join(numbers):
            layout, numbers = _glued(tokens)
        else:
            layout = self._spaced(tokens, places)
        values = parse_floats(numbers, LARGEST)
        if values is None or len(dict(layout)) < len(layout) or not all(map(_COUNT, layout)):
            raise _fault(layout, numbers)
        if len(places) > 1 and layout == self._before:
            self._remember(tokens, layout, places)
        self._before = layout
        return layout, values

    def _spaced(self, tokens: list[str], places: list[int]) -> Layout:
        singles = self._singles
        return tuple(
            [
                singles[tokens[place]] if after - place == 2 else (tokens[place][:-1], after - place - 1)
                for place, after in pairwise([*places, len(tokens)])
            ]
        )

    def _remember(self, tokens: list[str], layout: Layout, places: list[int]) -> None:
        known = set(places)
        self._length, self._layout = len(tokens), layout
        self._label_places = itemgetter(*places)
        self._value_places = itemgetter(*(place for place in range(len(tokens)) if place not in known))
        self._labels = self._label_places(tokens)


class _Singles(dict[str, tuple[str, int]]):
    """From `name=` to (name, 1). Each pair is made once: a sparse list has millions, and new ones would start the
    garbage collector.
    """

    def __missing__(self, token: str) -> tuple[str, int]:
        pair = self[token] = (token[:-1], 1)
        return pair


def _glued(tokens: list[str]) -> tuple[Layout, list[str]]:
    """Reads tokens `name=v`, perhaps mixed with `name= v`, or numbers without names."""
    layout: list[tuple[str, int]] = []
    numbers: list[str] = []
    opened = False
    for token in tokens:
        label, equals, number = token.rpartition("=")
        if token[-1] in "=:":
            layout.append((token[:-1], 0))
            opened = True
            continue
        numbers.append(number)
        if equals:
            layout.append((label, 1))
            opened = False
        elif opened or not layout:
            name, count = layout.pop() if layout else (UNLABELLED, 0)
            layout.append((name, count + 1))
            opened = True
        else:
            raise ValueError(f"a value without a name: {token}")
    return tuple(layout), numbers


def _fault(layout: Layout, numbers: list[str]) -> ValueError:
    """Says what is wrong with a feature field that cannot be read."""
    for number in numbers:
        try:
            parse_float(number, LARGEST)
        except ValueError as error:
            return error
    names = [name for name, _ in layout]
    times = Counter(names)
    twice = next((name for name in names if times[name] > 1), None)
    if twice is not None:
        return ValueError(f"a feature stands twice: {twice}")
    return ValueError(f"a feature without a value: {next(name for name, count in layout if not count)}")


def parse_total(field: str) -> float | None:
    """The total score of a hypothesis, None for an empty field.

    Raises:
        ValueError: the field is not a finite number of 32 bits.
    """
    return parse_float(field, LARGEST) if field else None


def is_alignment(field: str) -> bool:
    """Whether a field holds only numbers and their separators, as Marian's alignments before the features do."""
    return _SOFT.fullmatch(field) is not None


def is_word_scores(field: str) -> bool:
    """Whether a field holds Marian's score of each word: it has as many as there are words, so it is no feature."""
    return field.startswith(WORD_SCORES)
