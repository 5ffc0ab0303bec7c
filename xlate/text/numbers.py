"""Strict reading of numbers in files: ASCII digits, finite, of a reasonable length, with nothing around them.

Python's `int` and `float` also accept `1_0`, digits of other scripts, blanks around a number, `nan` and `inf`, and
integers too large for an array. No file format here has any of these.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import hypot, isfinite
from pathlib import Path

import numpy as np

from xlate.errors import shown
from xlate.settings import LARGEST_INT
from xlate.text.lines import FileLines

# The bytes allowed in a number; `float` accepts more.
WRITTEN_WITH = b"0123456789+-.eE"
# A number written out with %f has 309 digits before the point.
MOST_CHARACTERS = 400
LARGEST_FLOAT = float(np.finfo(np.float64).max)
# The largest number that fits in 32 bits: it rounds to the largest finite one.
LARGEST_FLOAT32 = 3.4028235e38


def parse_float(text: str, largest: float = LARGEST_FLOAT) -> float:
    """Reads a finite decimal number between -`largest` and `largest`.

    Raises:
        ValueError: the text is not such a number.

    Example:
        >>> parse_float("-1.5e3")
        -1500.0
    """
    try:
        value = float(text if len(text) <= MOST_CHARACTERS else "")
    except ValueError:
        raise ValueError(f"not a number: {shown(text)}") from None
    if -largest <= value <= largest and not text.encode().translate(None, WRITTEN_WITH):
        return value
    if abs(value) > largest and isfinite(value):
        raise ValueError(f"a number out of range: {shown(text)} is beyond {largest:.3g}")
    raise ValueError(f"not a finite number: {shown(text)}")


def parse_floats(texts: Sequence[str], largest: float = LARGEST_FLOAT) -> list[float] | None:
    """The numbers in many texts; None if `parse_float` would refuse one of them."""
    joined = "".join(texts)
    # There must be no white space anywhere, as `float` would ignore it.
    if joined.split(None, 1) != [joined] and joined:
        return None
    return _floats(joined, texts, largest)


def parse_row(text: str, largest: float = LARGEST_FLOAT) -> list[float] | None:
    """The numbers of a text, separated by white space; None if `parse_float` would refuse one of them.

    Example:
        >>> parse_row("1 -0.5"), parse_row("1 x")
        ([1.0, -0.5], None)
    """
    return _floats(text, text.split(), largest)


def _floats(whole: str, texts: Sequence[str], largest: float) -> list[float] | None:
    """The numbers in texts without white space, all contained in `whole`; fast, as tables have millions."""
    if not whole.isascii() or "_" in whole:
        return None
    if len(whole) > MOST_CHARACTERS and max(map(len, texts), default=0) > MOST_CHARACTERS:
        return None
    try:
        values = list(map(float, texts))
    except ValueError:
        return None
    # The root of the sum of squares is at least as large as each number, and not finite if one of them is not.
    if hypot(*values) <= largest or all(-largest <= value <= largest for value in values):
        return values
    return None


def read_column(path: str | Path, expected: str, largest: float = LARGEST_FLOAT) -> array[float]:
    """The numbers of a file, one per line, each as `parse_float` reads it.

    Raises:
        InputError: a line is not such a number (its place is named), or the file cannot be read; `expected` says what
            the file should hold.
    """
    values, lines = array("d"), FileLines(path)
    for line in lines:
        try:
            values.append(parse_float(line.strip(" \t\r"), largest))
        except ValueError as error:
            raise lines.error(str(error), line, expected) from error
    return values


def parse_int(text: str) -> int:
    """Reads an integer from 0 to `LARGEST_INT`, written only in digits.

    Raises:
        ValueError: the text is not such a number.
    """
    if text.isascii() and text.isdigit():
        if len(text) <= MOST_CHARACTERS and (value := int(text)) <= LARGEST_INT:
            return value
        raise ValueError(f"a number out of range: {shown(text)} is beyond {LARGEST_INT}")
    raise ValueError(f"not a whole number: {shown(text)}")
