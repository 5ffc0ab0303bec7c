"""Taggers: a value for each word of a line, the factor `pos`; here by a table of word classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from xlate.errors import InputError
from xlate.text.classes import read_classes
from xlate.text.factors import FactorNames
from xlate.text.tagging.hanta import HantaTagger
from xlate.text.tokens import Preprocessor, between_blanks

# What the factor of a tagger is called.
POS = "pos"
# What a word without a class gets.
UNKNOWN = "UNKNOWN"


class Tagger(Protocol):
    """Anything that tags the words of a line."""

    def tags(self, words: Sequence[str]) -> list[str]:
        """One tag a word, never empty and without blanks; the words are cased as they were written."""


class ClassTagger:
    """Gives each word its class in a table; a word that is not there gets that of its lower-cased form, or `UNKNOWN`.

    Example:
        >>> ClassTagger({"das": "7", "Haus": "3"}).tags(["Das", "Haus", "fällt"])
        ['7', '3', 'UNKNOWN']
    """

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = classes

    @classmethod
    def read(cls, path: str | Path) -> ClassTagger:
        """The tagger of a file of word classes.

        Raises:
            InputError: it is no such file, or a class is empty or holds blanks.
        """
        classes = read_classes(path)
        for word, name in classes.items():
            if between_blanks(name) != [name]:
                seen, expected = f"{word!r}: {name!r}", "a class without blanks, for it stands behind its word"
                raise InputError("a class that cannot be a factor", seen, expected, file=path)
        return cls(classes)

    def tags(self, words: Sequence[str]) -> list[str]:
        """The class of each word."""
        return [self._classes.get(word) or self._classes.get(word.lower(), UNKNOWN) for word in words]


class LineTagger:
    """Turns plain lines into lines of tokens with their tags behind them, as `xlate prepare` reads them.

    Example:
        >>> LineTagger(Preprocessor("de"), ClassTagger({"das": "7", "Haus": "3"})).tagged("Das Haus.")
        'Das|7 Haus|3 .|UNKNOWN'
    """

    def __init__(self, preprocessor: Preprocessor, tagger: Tagger) -> None:
        self._preprocessor = preprocessor
        self._tagger = tagger
        self._names = FactorNames((POS,))

    def tagged(self, line: str) -> str:
        """The line with its factors, in which a `|` of a word is written `&#124;`; empty for a line without words."""
        words = self._preprocessor.tokens(line)
        return self._names.join(words, {POS: self._tagger.tags(words)})


def open_tagger(language: str, classes: str | Path | None = None) -> Tagger:
    """The tagger of a file of word classes where one is given, otherwise HanTa's for a language.

    Raises:
        InputError: the file is none of word classes; HanTa is not installed, or does not know the language.
    """
    return HantaTagger(language) if classes is None else ClassTagger.read(classes)
