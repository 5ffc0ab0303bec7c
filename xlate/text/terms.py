"""A glossary: the terms of a text that must, or may, be translated as its owner says, marked on the source words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints32
from xlate.errors import InputError
from xlate.text.factors import FactoredWord
from xlate.text.lines import read_lines

# The unit of a term's translation; further translations have the numbers below.
TERM = -4
HARD, SOFT = "hard", "soft"
SEPARATOR = re.compile(r"\t| \|\|\| ")


class TermWord(FactoredWord):
    """A source word of a term; it equals the same word elsewhere.

    Attributes:
        targets: at the first word of the term its translations, none at the others.
        length: the words of the term.
        hard: whether nothing else may translate the word.
    """

    targets: tuple[tuple[str, ...], ...]
    length: int
    hard: bool


class TermSpan(NamedTuple):
    """A translation of a term: its source words, half-open, and its unit."""

    start: int
    end: int
    unit: int


def terms_in(words: Sequence[str]) -> list[TermSpan]:
    """The translations that marked words give."""
    marked = ((start, word) for start, word in enumerate(words) if isinstance(word, TermWord))
    return [
        TermSpan(start, start + word.length, TERM - place)
        for start, word in marked
        for place in range(len(word.targets))
    ]


def own_target(words: Sequence[str], unit: int, start: int) -> tuple[str, ...]:
    """The target words of a unit that no model has: of a term, or a copy of the word at `start`."""
    word = words[start]
    return word.targets[TERM - unit] if isinstance(word, TermWord) and unit <= TERM else (word,)


def is_hard(word: str) -> bool:
    """Whether only its term may translate a word."""
    return isinstance(word, TermWord) and word.hard


def open_ids(words: Sequence[str], ids_n: Ints32) -> Ints32:
    """The numbers of words as units are looked up: -1 for a word that only its term may translate."""
    return np.where([is_hard(word) for word in words], np.int32(-1), ids_n).astype(np.int32)


@dataclass(frozen=True)
class Term:
    """A source phrase, its translations in tokens, and whether each source token stands for any word that begins so."""

    source: tuple[str, ...]
    prefix: tuple[bool, ...]
    targets: tuple[tuple[str, ...], ...]

    @property
    def order(self) -> tuple[int, int, int]:
        """Sorts terms: long ones first, then those of few prefixes, then those of many letters."""
        return -len(self.source), sum(self.prefix), -sum(map(len, self.source))

    def matches(self, words: Sequence[str]) -> bool:
        """Whether some words are this phrase."""
        return len(words) == len(self.source) and all(
            word.startswith(own) if open_end else word == own
            for word, own, open_end in zip(words, self.source, self.prefix, strict=True)
        )


@dataclass(frozen=True)
class Glossary:
    """Terms, and how they are used: `hard` or `soft`."""

    terms: Sequence[Term]
    use: str = HARD

    @classmethod
    def of(
        cls,
        entries: Iterable[tuple[int, str, str]],
        sides: tuple[Callable[[str], list[str]], Callable[[str], list[str]]],
        longest: int,
        use: str,
        file: Path | None = None,
    ) -> Glossary:
        """The terms of entries.

        Args:
            entries: line, source and target of each; a word that ends in `*` stands for any word that begins so.
            sides: make tokens of source and target text.
            longest: the most source words that the decoder translates at once.
            use: `hard` or `soft`.
            file: where the entries come from, for messages.

        Raises:
            InputError: a side without words, a source that is too long, or a hard term with two translations.
        """
        found: dict[tuple[tuple[str, ...], tuple[bool, ...]], dict[tuple[str, ...], int]] = {}
        for line, text, target in entries:
            source, words = _pattern(text, sides[0]), tuple(sides[1](target))
            seen = f"{text} → {target}"
            if not source[0] or not words:
                expected = "words on both sides"
                raise InputError("a term with an empty side", seen, expected, file=file, line=line)
            if len(source[0]) > longest:
                message, expected = "a term of too many words", f"at most {longest}, the longest that the decoder takes"
                raise InputError(message, f"{len(source[0])} in {text}", expected, file=file, line=line)
            known = found.setdefault(source, {})
            if use == HARD and known and words not in known:
                other = f"line {next(iter(known.values()))}"
                remedy = "leave one out, or give both to the decoder to choose from: terms=soft"
                message, expected = "two translations of one term", "one translation"
                raise InputError(message, f"{seen}, and {other}", expected, remedy, file=file, line=line)
            known.setdefault(words, line)
        return cls([Term(*source, tuple(targets)) for source, targets in found.items()], use)

    def marked(self, words: Sequence[str]) -> list[str]:
        """A sentence with its terms marked; where some overlap, the longest one, then the most exact one."""
        found = [*words]
        for start, term in sorted(self._matches(words), key=lambda match: (match[1].order, match[0])):
            places = range(start, start + len(term.source))
            if not any(isinstance(found[place], TermWord) for place in places):
                for place in places:
                    found[place] = word = TermWord(words[place])
                    word.factors = getattr(words[place], "factors", {})
                    word.targets = () if place > start else term.targets
                    word.length, word.hard = len(places), self.use == HARD
        return found

    def _matches(self, words: Sequence[str]) -> Iterator[tuple[int, Term]]:
        for start, word in enumerate(words):
            for term in (*self._by_first.get(word, ()), *self._by_first.get(None, ())):
                if term.matches(words[start : start + len(term.source)]):
                    yield start, term

    @cached_property
    def _by_first(self) -> dict[str | None, list[Term]]:
        """The terms by their first word; None for those that begin with any word of a prefix."""
        found = defaultdict[str | None, list[Term]](list)
        for term in self.terms:
            found[None if term.prefix[0] else term.source[0]].append(term)
        return found


def read_terms(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, source and target of each entry of a file; lines that are blank or begin with `#` are skipped.

    Raises:
        InputError: a line without a separator.
    """
    for number, line in enumerate(read_lines(path), 1):
        if line.strip() and not line.startswith("#"):
            # There may be further columns, as in the dictionaries that xlate writes.
            source, *targets = SEPARATOR.split(line)
            if not targets:
                message, expected = "a term without a translation", "source TAB target, or source ||| target"
                raise InputError(message, line, expected, file=path, line=number)
            yield number, source, targets[0]


def _pattern(text: str, tokens: Callable[[str], list[str]]) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """The tokens of a source phrase, and which of them stand for any word that begins so."""
    words = text.split()
    plain = [word[:-1] if word.endswith("*") and len(word) > 1 else word for word in words]
    lengths = (len(tokens(" ".join(plain[:n]))) for n in range(1, len(words) + 1))
    ends = {length - 1 for length, word, own in zip(lengths, words, plain, strict=True) if word != own}
    source = tuple(tokens(" ".join(plain)))
    return source, tuple(place in ends for place in range(len(source)))
