"""Word classes: a number for each word, and their file, `word TAB class`, as mkcls and Brown clustering write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from xlate.errors import InputError
from xlate.text.lines import iterate_lines, write_lines


def read_classes(path: str | Path) -> dict[str, str]:
    """The class of each word, as it is written.

    A line of three or more columns is taken for the output of Brown clustering: bit string, word, count.

    Raises:
        InputError: with the line, one that has no tab or a word that came before.
    """
    classes: dict[str, str] = {}
    for number, line in enumerate(iterate_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise InputError("not a word and its class", file=path, line=number, seen=line, expected="word TAB class")
        word, name = (columns[1], columns[0]) if len(columns) > 2 else (columns[0], columns[1].strip())
        if word in classes:
            raise InputError("a word that came before", file=path, line=number, seen=word, expected="each word once")
        classes[word] = name
    return classes


def write_classes(path: str | Path, classes: Mapping[str, str]) -> None:
    """Writes `word TAB class`, one word a line."""
    write_lines(path, (f"{word}\t{name}" for word, name in classes.items()))


def class_numbers(words: Sequence[str], classes: Mapping[str, str]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """The number of each word's class, -1 for words without, shape (V,), and the names of the classes in order."""
    names = sorted(set(classes.values()), key=lambda name: (len(name), name))
    number = {name: n for n, name in enumerate(names)}
    numbers_V = np.array([number[classes[w]] if w in classes else -1 for w in words], dtype=np.int32)
    return numbers_V, tuple(names)
