"""Words split into parts that a text knows (Koehn & Knight 2003)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from xlate.errors import InputError
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.opening import plain_file

# The letters of the shortest part, and of the longest word that is split.
LEAST, MOST = 4, 60
# What may stand between two parts and is left out.
FILLERS = ("", "s", "es")
# Counts have fewer digits.
DIGITS = 19


class CompoundSplitter:
    """Splits a word where the geometric mean of the counts of its parts is largest; the word itself is one part.

    Parts are words of the training text, in their most frequent form (Koehn & Knight 2003, section 4.2).

    Example:
        >>> splitter = CompoundSplitter({"Haus": 20, "Meer": 9, "Blick": 5, "Meeresblick": 1})
        >>> splitter.apply(["Meeresblick", "Hausmeer", "Ausblick"])
        ['Meer', 'Blick', 'Haus', 'Meer', 'Ausblick']
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        """`counts` has how often each form occurs."""
        self.form_counts = {form: n for form, n in counts.items() if len(form) >= LEAST and form.isalpha() and n > 0}
        forms = dict[str, tuple[int, str]]()
        self._count, self._split = Counter[str](), dict[str, list[str]]()
        for form, count in self.form_counts.items():
            lower = form.lower()
            self._count[lower] += count
            forms[lower] = min((-count, form), forms.get(lower, (0, form)))
        self._form = {lower: form for lower, (_, form) in forms.items()}

    def apply(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, with compounds replaced by their parts."""
        return [part for token in tokens for part in self._parts(token)]

    def _parts(self, token: str) -> list[str]:
        if not (2 * LEAST <= len(token) <= MOST and token.isalpha()):
            return [token]
        if token not in self._split:
            found = max(self._splits(token.lower()), default=(0.0, 0, ()))[2]
            self._split[token] = [self._form[part] for part in found] if len(found) > 1 else [token]
        return self._split[token]

    def _splits(self, word: str) -> Iterator[tuple[float, int, tuple[str, ...]]]:
        """The best split into each number of parts: the log of the mean of counts, that number, negative, the parts."""
        # By the number of letters, the best split of the beginning into each number of parts.
        begun: list[dict[int, tuple[float, tuple[str, ...]]]] = [{0: (0.0, ())}, *({} for _ in word)]
        for start, splits in enumerate(begun):
            for end in range(start + LEAST, len(word) + 1) if splits else ():
                if not (count := self._count[word[start:end]]):
                    continue
                for filler in FILLERS if end < len(word) else FILLERS[:1]:
                    after = end + len(filler)
                    if not word.startswith(filler, end) or (filler and after == len(word)):
                        continue
                    for number, (total, parts) in splits.items():
                        longer = total + math.log(count), (*parts, word[start:end])
                        begun[after][number + 1] = max(longer, begun[after].get(number + 1, longer))
        yield from ((total / number, -number, parts) for number, (total, parts) in begun[-1].items())

    def save(self, path: str | Path) -> None:
        """Writes each form and its count, with a blank between them, one per line."""
        write_lines(path, (f"{form} {count}" for form, count in sorted(self.form_counts.items())))

    @classmethod
    def load(cls, path: str | Path) -> CompoundSplitter:
        """Reads what `save` wrote.

        Raises:
            InputError: a line is something else.
        """
        counts = {}
        for number, line in enumerate(iterate_lines(plain_file(path)), 1):
            form, _, count = line.partition(" ")
            if not (form.isalpha() and count.isascii() and count.isdecimal() and len(count) < DIGITS):
                raise InputError("not a file of counts", line, "a word and its count", file=path, line=number)
            counts[form] = int(count)
        return cls(counts)
