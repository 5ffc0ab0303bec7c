"""What sparse features know about a word: the word itself, the word if it is frequent, or its class."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from xlate.array_types import NO_INTS32, Ints, Ints32
from xlate.errors import refuse_if
from xlate.text.classes import read_classes
from xlate.text.vocabulary import BEGIN, BEGIN_ID, UNKNOWN_ID, Vocabulary

_NUMBERED_KIND = re.compile(r"(top|class|prefix|suffix)([1-9][0-9]*)")
DIGITS = "digits"
NAMED = ("all", "topN", "classN", "prefixN", "suffixN", DIGITS)
# The given number of classes of a side (`source` or `target`).
ClassesOf = Callable[[str, int], Mapping[str, str]]


@dataclass(frozen=True)
class WordValues:
    """One of `size` values for each of V words, or -1 for none; `<s>` represents what is before a sentence.

    Attributes:
        name: such as `all`, `top80`, `class20`.
        value_V: by word number.
        labels: the name of each value.
        words: the V words, if labels do not show which of them have a value; else none.
    """

    name: str
    value_V: Ints32
    labels: tuple[str, ...]
    words: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.labels)

    def spelled(self, value: int, members: int) -> str:
        """The name of a value; a word class is followed by `members` of its words, the first of the vocabulary.

        Example: `17{haus mann hund …}`; just `17` with no members.
        """
        label = self.labels[value]
        if not self.words or not members or label == BEGIN:
            return label
        of_class = np.flatnonzero(self.value_V == value)
        shown = [self.words[v] for v in of_class[:members].tolist()] + ["…"] * (len(of_class) > members)
        return f"{label}{{{' '.join(shown)}}}"


# For what does not depend on words.
NO_WORDS = WordValues("", NO_INTS32, ())


def every_word(words: Sequence[str]) -> WordValues:
    """Each word as its own value; unknown words have none."""
    value_V = np.arange(len(words), dtype=np.int32)
    value_V[UNKNOWN_ID] = -1
    return WordValues("all", value_V, tuple(words))


def frequent_words(words: Sequence[str], count_V: Ints, most: int) -> WordValues:
    """The `most` words of the highest counts as their own values, ties in the order of the words; others have none."""
    count_V = np.array(count_V)
    count_V[: BEGIN_ID + 2] = 0
    best = np.argsort(-count_V, kind="stable")[:most]
    best = best[count_V[best] > 0]
    value_V = np.full(len(words), -1, np.int32)
    value_V[best] = np.arange(len(best))
    value_V[BEGIN_ID] = len(best)
    return WordValues(f"top{most}", value_V, (*(words[v] for v in best.tolist()), BEGIN))


def affixes(words: Sequence[str], kind: str, length: int) -> WordValues:
    """The first (`prefix`) or last (`suffix`) letters of each word that is longer; others have none.

    Example: with 4 letters `violate` is `viol+` or `+late` (Watanabe et al. 2007, section 3.3).
    """
    prefix = kind == "prefix"
    cut = [f"{word[:length]}+" if prefix else f"+{word[-length:]}" for word in words]
    longer = [value if len(word) > length else None for value, word in zip(cut, words, strict=True)]
    return _numbered(f"{kind}{length}", longer)


def digit_shapes(words: Sequence[str]) -> WordValues:
    """Each word that has digits, with `@` for each of them; others have none.

    Example: `2007/6/27` is `@@@@/@/@@` (Watanabe et al. 2007, section 3.3).
    """
    shapes = [re.sub(r"[0-9]", "@", word) if re.search(r"[0-9]", word) else None for word in words]
    return _numbered("digits", shapes)


def _numbered(name: str, values: Sequence[str | None]) -> WordValues:
    """Values by name, numbered in the order of the words; special words have none."""
    given = [None if word_number <= BEGIN_ID + 1 else value for word_number, value in enumerate(values)]
    labels = tuple(dict.fromkeys(value for value in given if value is not None))
    number = {label: n for n, label in enumerate(labels)}
    value_V = np.array([-1 if value is None else number[value] for value in given], np.int32)
    return WordValues(name, value_V, labels)


def word_classes(name: str, words: Sequence[str], classes: Mapping[str, str]) -> WordValues:
    """The class of each word; `<s>` has its own."""
    labels = sorted(set(classes.values()), key=lambda label: (len(label), label))
    number = {label: n for n, label in enumerate(labels)}
    value_V = np.array([number[classes[w]] if w in classes else -1 for w in words], np.int32)
    value_V[BEGIN_ID] = len(labels)
    return WordValues(name, value_V, (*labels, BEGIN), tuple(words))


@dataclass(frozen=True)
class Side:
    """The words of one language.

    Attributes:
        name: `source` or `target`.
        vocabulary: the words.
        count_V: how often each occurs.
        factors: the value that a factor of the text, such as `pos`, has for words, made on request.
    """

    name: str
    vocabulary: Vocabulary
    count_V: Ints
    factors: Mapping[str, Callable[[], Mapping[str, str]]] = field(default_factory=dict)


def word_values(kind: str, side: Side, classes_of: ClassesOf) -> WordValues:
    """The values of one kind for the words of a side.

    Raises:
        InputError: there is no such kind, or a file of classes cannot be read.
    """
    words = side.vocabulary.words
    if kind in side.factors:
        return word_classes(kind, words, side.factors[kind]())
    files = class_files(kind, side.factors)
    if files is not None:
        return word_classes("given", words, read_classes(files[0 if side.name == "source" else 1]))
    if kind == "all":
        return every_word(words)
    if kind == DIGITS:
        return digit_shapes(words)
    numbered = _NUMBERED_KIND.fullmatch(kind)
    assert numbered is not None
    name, size = numbered[1], int(numbered[2])
    if name in ("prefix", "suffix"):
        return affixes(words, name, size)
    if name == "top":
        return frequent_words(words, side.count_V, size)
    return word_classes(kind, words, classes_of(side.name, size))


def class_files(kind: str, factors: Iterable[str] = ()) -> list[str] | None:
    """The two files that a kind of words names, None for one made from the text."""
    if kind in ("all", DIGITS) or _NUMBERED_KIND.fullmatch(kind):
        return None
    files = kind.split(",")
    refuse_if(
        len(files) != 2, "an unknown kind of words", kind, ", ".join([*NAMED, *factors, "or two files SOURCE,TARGET"])
    )
    return files
