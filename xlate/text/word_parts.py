"""Words split into parts that a text knows: compounds (Koehn & Knight 2003), and words with prefixes or suffixes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from xlate.text.lines import FileLines, write_lines
from xlate.text.opening import plain_file

# The letters of the shortest part of a compound, and of the longest word that is split.
LEAST, MOST = 4, 60
# What may stand between two parts of a compound and is left out.
FILLERS = ("", "s", "es")
# The letters of the shortest stem and of the longest affix, and the least share of all words that have an affix.
STEM, AFFIX, SHARE = 3, 4, 0.005
# Marks where an affix touches its stem.
JOINT = "+"
# Counts have fewer digits.
DIGITS = 19


def affixes_of(forms: Mapping[str, int]) -> dict[str, int]:
    """The frequent prefixes (`un+`) and suffixes (`+ed`), and how many words consist of another word and the affix."""
    words = {form.lower() for form in forms if len(form) >= STEM and form.isalpha()}
    found = Counter[str]()
    for word in words:
        for length in range(1, min(AFFIX, len(word) - STEM) + 1):
            if word[length:] in words:
                found[word[:length] + JOINT] += 1
            if word[:-length] in words:
                found[JOINT + word[-length:]] += 1
    return {affix: n for affix, n in found.items() if n >= SHARE * len(words)}


def usual_forms(counts: Mapping[str, int]) -> dict[str, str]:
    """The most frequent form of each word by its lower-cased form; of equals the first in the alphabet."""
    best: dict[str, tuple[int, str]] = {}
    for form, count in counts.items():
        lower, written = form.lower(), (-count, form)
        best[lower] = min(written, best.get(lower, written))
    return {lower: form for lower, (_, form) in best.items()}


class WordSplitter:
    """Splits a word where the geometric mean of the counts of its parts is largest; the word itself is one part.

    Parts of compounds are words of the training text, in their most frequent form (Koehn & Knight 2003, section 4.2).
    If affixes are given, a word or a part of a compound can also be a shorter word with a prefix, a suffix or both, and
    that shorter word is split again.

    Example:
        >>> splitter = WordSplitter({"Haus": 20, "Meer": 9, "Blick": 5, "Meeresblick": 1})
        >>> splitter.apply(["Meeresblick", "Hausmeer", "Ausblick"])
        ['Meer', 'Blick', 'Haus', 'Meer', 'Ausblick']
        >>> forms = {"walk": 9, "walked": 1, "talk": 8, "talked": 1, "work": 7}
        >>> WordSplitter(forms, compounds=False, affixes=affixes_of(forms)).apply(["worked", "talk"])
        ['work', '+ed', 'talk']
    """

    def __init__(
        self, forms: Mapping[str, int], *, compounds: bool = True, affixes: Mapping[str, int] | None = None
    ) -> None:
        """`forms` has how often each form occurs; `affixes` are what `affixes_of` finds, or none."""
        self.forms = {form: n for form, n in forms.items() if len(form) >= STEM and form.isalpha() and n > 0}
        self.affixes, self._compounds = dict(affixes or {}), compounds
        self._form, self._split = usual_forms(self.forms), dict[str, list[str]]()
        self._count = Counter[str]()
        for form, count in self.forms.items():
            self._count[form.lower()] += count

    def apply(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, with words replaced by their parts."""
        return [part for token in tokens for part in self._parts(token)]

    def _parts(self, token: str) -> list[str]:
        if not (len(token) <= MOST and token.isalpha()):
            return [token]
        if token not in self._split:
            words = self._compound(token) if self._compounds else [token]
            self._split[token] = [part for word in words for part in self._affixed(word)]
        return self._split[token]

    def _compound(self, word: str) -> list[str]:
        found = max(self._splits(word.lower()), default=(0.0, 0, ()))[2] if len(word) >= 2 * LEAST else ()
        return [self._form[part] for part in found] if len(found) > 1 else [word]

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

    def _affixed(self, word: str) -> list[str]:
        lower = word.lower()
        # A word that the text does not have has a lower mean than any split.
        found = (math.log(self._count[lower]) if lower in self._count else -1.0), 0, [word]
        for begin, after in product(range(AFFIX + 1 if self.affixes else 0), repeat=2):
            stem, end = lower[begin : len(lower) - after], len(lower) - after
            prefix, suffix = ([lower[:begin] + JOINT] if begin else []), ([JOINT + lower[end:]] if after else [])
            if len(stem) >= STEM and stem in self._count and all(affix in self.affixes for affix in prefix + suffix):
                counts = [self._count[stem], *(self.affixes[affix] for affix in prefix + suffix)]
                parts = [*prefix, self._form[stem], *suffix] if len(counts) > 1 else [word]
                found = max(found, (sum(map(math.log, counts)) / len(counts), -len(counts), parts))
        # The shorter word is split as it is where it stands alone.
        left = self.forms.keys() & found[2] if len(found[2]) > 1 else ()
        return [more for part in found[2] for more in (self._affixed(part) if part in left else [part])]

    def save(self, path: str | Path) -> None:
        """Writes each form or affix and its count, with a blank between them, one per line."""
        write_lines(path, (f"{part} {count}" for part, count in sorted((self.forms | self.affixes).items())))

    @classmethod
    def load(cls, path: str | Path, split: Sequence[str]) -> WordSplitter:
        """Reads what `save` wrote, to split `compounds`, `affixes` or both.

        Raises:
            InputError: a line is something else.
        """
        forms, affixes, lines = dict[str, int](), dict[str, int](), FileLines(plain_file(path))
        for line in lines:
            part, _, count = line.partition(" ")
            letters = part.removeprefix(JOINT) if part.startswith(JOINT) else part.removesuffix(JOINT)
            if not (letters.isalpha() and count.isascii() and count.isdecimal() and len(count) < DIGITS):
                expected, remedy = "a word or affix and its count", "run xlate prepare again"
                raise lines.error("not a file of counts", line, expected, remedy)
            (forms if letters == part else affixes)[part] = int(count)
        return cls(forms, compounds="compounds" in split, affixes=affixes if "affixes" in split else None)
