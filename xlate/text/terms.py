"""A glossary: the terms of a text that must, or may, be translated as its owner says, marked on the source words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path

import numpy as np

from xlate.array_types import Ints32
from xlate.errors import InputError
from xlate.text.factors import FactoredWord
from xlate.text.lines import FileLines

# The unit of a term's translation; further translations have the numbers below.
TERM = -4
HARD, SOFT = "hard", "soft"
# The tokens of a source phrase, each with whether it stands for any word that begins so.
Term = tuple[tuple[str, bool], ...]
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


def terms_in(words: Sequence[str]) -> list[tuple[int, int, int]]:
    """The translations that marked words give: the source words of each, half-open, and its unit."""
    return [
        (start, start + word.length, TERM - place)
        for start, word in enumerate(words)
        if isinstance(word, TermWord)
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
class Glossary:
    """The translations of each term, and how they are used: `hard` or `soft`."""

    terms: Mapping[Term, Iterable[tuple[str, ...]]]
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
        found = defaultdict[Term, dict[tuple[str, ...], int]](dict)
        for line, text, target in entries:
            source, words = _term(text, sides[0]), tuple(sides[1](target))
            message, seen, remedy = "", f"{text} → {target}", None
            if not source or not words:
                message, expected = "a term with an empty side", "words on both sides"
            elif len(source) > longest:
                message, expected = "a term of too many words", f"at most {longest}, the longest that the decoder takes"
                seen = f"{len(source)} in {text}"
            elif use == HARD and words not in (known := found[source] or {words: line}):
                message, expected = "two translations of one term", "one translation"
                seen += f", and line {next(iter(known.values()))}"
                remedy = "leave one out, or give both to the decoder to choose from: terms=soft"
            if message:
                raise InputError(message, seen, expected, remedy, file=file, line=line)
            found[source].setdefault(words, line)
        return cls(found, use)

    def marked(self, words: Sequence[str]) -> list[str]:
        """A sentence with its terms marked; where some overlap, the longest one, then the one of fewest prefixes, then
        of most letters.
        """
        found, matches = [*words], []
        for start, first in enumerate(words):
            for term in self._by_first.get(first, []) + self._by_first.get(None, []):
                pairs = [*zip(words[start:], term, strict=False)]
                if len(pairs) == len(term) and all(
                    word.startswith(own) if prefix else word == own for word, (own, prefix) in pairs
                ):
                    order = -len(term), sum(prefix for _, prefix in term), -sum(len(own) for own, _ in term)
                    matches.append((order, start, term))
        for _, start, term in sorted(matches, key=itemgetter(0, 1)):
            places = range(start, start + len(term))
            if not any(isinstance(found[place], TermWord) for place in places):
                for place in places:
                    found[place] = word = TermWord(words[place])
                    word.factors = getattr(words[place], "factors", {})
                    word.targets = () if place > start else tuple(self.terms[term])
                    word.length, word.hard = len(places), self.use == HARD
        return found

    @cached_property
    def _by_first(self) -> dict[str | None, list[Term]]:
        """The terms by their first word; None for those that begin with any word of a prefix."""
        found = defaultdict[str | None, list[Term]](list)
        for term in self.terms:
            word, prefix = term[0]
            found[None if prefix else word].append(term)
        return found


def read_terms(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, source and target of each entry of a file; lines that are blank or begin with `#` are skipped.

    Raises:
        InputError: a line without a separator.
    """
    lines = FileLines(path)
    for line in lines:
        if line.strip() and not line.startswith("#"):
            # There may be further columns, as in the dictionaries that xlate writes.
            source, *targets = SEPARATOR.split(line)
            if not targets:
                message, expected = "a term without a translation", "source TAB target, or source ||| target"
                raise lines.error(message, line, expected)
            yield lines.number, source, targets[0]


def _term(text: str, tokens: Callable[[str], list[str]]) -> Term:
    words = text.split()
    plain = [word[:-1] if word.endswith("*") and len(word) > 1 else word for word in words]
    ends = {len(tokens(" ".join(plain[: n + 1]))) - 1 for n, word in enumerate(words) if word != plain[n]}
    return tuple((token, place in ends) for place, token in enumerate(tokens(" ".join(plain))))
