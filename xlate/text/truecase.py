"""Truecasing: the first word of a sentence as it would be written inside one, and back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from xlate.errors import InputError
from xlate.text.lines import iterate_lines, read_lines, write_lines
from xlate.text.opening import plain_file

SENTENCE_ENDS = frozenset(".:?!")
MODEL_LINE = re.compile(r"[^ ]+ \(\d+(/\d+)?\)")
OPENERS = frozenset("\"'([{«„“‘¿¡")


class Truecaser:
    """Knows how each word is written most often where no sentence begins.

    Only tokens at the beginning of a sentence, or behind `. : ? !`, are changed. Words that were seen nowhere else
    become lower-case, which is right more often than not.
    """

    def __init__(self, casing: dict[str, str]) -> None:
        """`casing` maps lower-cased words to how they are written."""
        self._casing = casing

    @classmethod
    def train(cls, sentences: Iterable[Sequence[str]]) -> Truecaser:
        """Counts how words are written where nothing forces a capital."""
        counts: dict[str, Counter[str]] = {}
        for tokens in sentences:
            starts = sentence_starts(tokens)
            for place, token in enumerate(tokens):
                if place not in starts and token[:1].isalpha():
                    counts.setdefault(token.lower(), Counter())[token] += 1
        best = {lower: min(forms.items(), key=lambda f: (-f[1], f[0]))[0] for lower, forms in counts.items()}
        return cls({lower: form for lower, form in best.items() if form != lower})

    def apply(self, tokens: Sequence[str]) -> list[str]:
        """The tokens with sentence beginnings in their usual casing; those with further capitals stay as they are."""
        cased = list(tokens)
        for place in sentence_starts(tokens):
            token, lower = tokens[place], tokens[place].lower()
            if token[:1].isupper() and not any(letter.isupper() for letter in token[1:]):
                cased[place] = self._casing.get(lower, lower)
        return cased

    def restore(self, tokens: Sequence[str]) -> list[str]:
        """The tokens with a capital at each sentence beginning."""
        starts = sentence_starts(tokens)
        return [token[:1].upper() + token[1:] if place in starts else token for place, token in enumerate(tokens)]

    @property
    def words(self) -> list[str]:
        """The words whose usual form is not lower-case."""
        return sorted(self._casing.values())

    def save(self, path: str | Path) -> None:
        """Writes the words whose usual form is not lower-case, one on each line."""
        write_lines(path, self.words)

    @classmethod
    def load(cls, path: str | Path) -> Truecaser:
        """Reads what `save` wrote.

        Raises:
            InputError: a line is not one word.
        """
        casing: dict[str, str] = {}
        for number, word in enumerate(read_lines(plain_file(path)), 1):
            if not word or " " in word:
                raise InputError("not a casing file", word, "one word a line", file=path, line=number)
            casing[word.lower()] = word
        return cls(casing)

    def moses_lines(self, words: Iterable[str]) -> list[str]:
        """The lines of a model of Moses's truecaser for the words of a text in this casing.

        Each has the usual form of a word and then its others. Counts are 1, as they are not known here; Moses goes by
        the order alone.
        """
        forms: dict[str, set[str]] = {lower: {form} for lower, form in self._casing.items()}
        for word in words:
            if word[:1].isalpha():
                forms.setdefault(word.lower(), set()).add(word)
        lines = []
        for lower in sorted(forms):
            usual = self._casing.get(lower, lower)
            others = sorted(forms[lower] - {usual})
            lines.append(" ".join([f"{usual} (1/{1 + len(others)})", *(f"{form} (1)" for form in others)]))
        return lines

    @classmethod
    def of_moses(cls, path: str | Path) -> Truecaser:
        """Reads a model of Moses's train-truecaser: `Haus (12/13) HAUS (1)`, the most frequent form first.

        Raises:
            InputError: a line is something else.
        """
        casing: dict[str, str] = {}
        for number, line in enumerate(iterate_lines(path), 1):
            if MODEL_LINE.match(line) is None:
                expected = "a word and how often, such as Haus (12/13)"
                raise InputError("not a truecasing model", line, expected, file=path, line=number)
            word = line.split(" ", 1)[0]
            if word != word.lower():
                casing[word.lower()] = word
        return cls(casing)


def sentence_starts(tokens: Sequence[str]) -> set[int]:
    """The places of the first words of sentences in a line, behind quotes and brackets."""
    starts: set[int] = set()
    pending = True
    for place, token in enumerate(tokens):
        if pending and token not in OPENERS:
            starts.add(place)
            pending = False
        if token in SENTENCE_ENDS:
            pending = True
    return starts
