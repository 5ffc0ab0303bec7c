"""Word classes, and their file: `word TAB class` on each line, as mkcls and Brown clustering write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from xlate.array_types import AnyInts, Ints32
from xlate.errors import InputError
from xlate.text.lines import iterate_lines, write_lines
from xlate.text.vocabulary import END_ID


def read_classes(path: str | Path) -> dict[str, str]:
    """Reads the class of each word; classes are the text that stands in the file.

    A line of three or more columns is read as Brown clustering writes it: bit string, word, count.

    Raises:
        InputError: a line has no tab, or its word came before; the line is named.
    """
    classes: dict[str, str] = {}
    for number, line in enumerate(iterate_lines(path), 1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise InputError("not a word and its class", line, "word TAB class", file=path, line=number)
        word, name = (columns[1], columns[0]) if len(columns) > 2 else (columns[0], columns[1].strip())
        if word in classes:
            raise InputError("a word that came before", word, "each word once", file=path, line=number)
        classes[word] = name
    return classes


def write_classes(path: str | Path, classes: Mapping[str, str]) -> None:
    """Writes `word TAB class`, one word a line."""
    write_lines(path, (f"{word}\t{name}" for word, name in classes.items()))


def class_numbers(words: Sequence[str], classes: Mapping[str, str]) -> tuple[Ints32, tuple[str, ...]]:
    """The number of each word's class, shape (V,), and the names of the classes in order; words without a class have
    -1.
    """
    names = sorted(set(classes.values()), key=lambda name: (len(name), name))
    number = {name: n for n, name in enumerate(names)}
    numbers_V = np.array([number[classes[w]] if w in classes else -1 for w in words], np.int32)
    return numbers_V, tuple(names)


def commonest_classes(words: Sequence[str], word_T: AnyInts, value_T: AnyInts, names: Sequence[str]) -> dict[str, str]:
    """The value that each word of a text has most often, such as its commonest part of speech.

    Args:
        words: by their numbers; special ones get no value.
        word_T: the tokens of the text, shape (T,).
        value_T: the value of each, shape (T,); of equally frequent ones the first is taken.
        names: of the values.

    Example:
        >>> words, names = ["<unk>", "<s>", "</s>", "light"], ["NOUN", "VERB"]
        >>> commonest_classes(words, np.array([3, 3, 3]), np.array([1, 0, 1]), names)
        {'light': 'VERB'}
    """
    rows_N, count_N = np.unique(word_T.astype(np.int64) * len(names) + value_T, return_counts=True)
    word_N, value_N = np.divmod(rows_N, len(names))
    order = np.lexsort((value_N, -count_N, word_N))
    word_W, first = np.unique(word_N[order], return_index=True)
    found = zip(word_W.tolist(), value_N[order][first].tolist(), strict=True)
    return {words[word]: names[value] for word, value in found if word > END_ID}
