"""Checks that stored ids, offsets and rows are in range, since compiled loops do not check indices.

Arrays are read in pieces, because they may be larger than memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from xlate.array_types import AnyInts
from xlate.arrays.stored import StoredArrays, unusable
from xlate.errors import InputError

PIECE = 1 << 20


def pieces(length: int, size: int = PIECE) -> Iterator[slice]:
    """Slices of at most `size` rows that together cover `length` rows."""
    for first in range(0, length, size):
        yield slice(first, min(first + size, length))


def refuse(stored: StoredArrays, name: str, seen: object, expected: str) -> InputError:
    """The error for values that are out of range."""
    return unusable(stored.folder / f"{name}.npy", "values out of range", seen, expected)


def check_lengths(stored: StoredArrays, **expected: tuple[int, ...]) -> None:
    """Checks that arrays have the shapes that other arrays require.

    Raises:
        InputError: an array has another shape.
    """
    for name, shape in expected.items():
        if name in stored.arrays and stored[name].shape != shape:
            path = stored.folder / f"{name}.npy"
            raise unusable(path, "arrays that do not match", f"shape {stored[name].shape}", f"shape {shape}")


def check_shapes(stored: StoredArrays, texts: str = "") -> None:
    """Checks that arrays have the sizes that the ends of their names stand for (see `layout_of`): one for each letter,
    except for the letters in `texts`, which number the words of several texts.

    Raises:
        InputError: an array has another shape than the arrays before it require.
    """
    sizes: dict[str, int] = {}
    for name, array in stored.arrays.items():
        shape, signs = list(array.shape), re.findall("[A-Z]1?|[0-9]", name.rpartition("_")[2])
        for place, (sign, size) in enumerate(zip(signs, array.shape, strict=False)):
            more = len(sign) - 1
            if sign.isdigit():
                shape[place] = int(sign)
            elif sign not in texts:
                shape[place] = sizes.setdefault(sign[0], size - more) + more
        check_lengths(stored, **{name: tuple(shape)})


def check_within(
    stored: StoredArrays, name: str, low: int, high: int | AnyInts, values: AnyInts | None = None, first: int = 0
) -> None:
    """Checks that all numbers of an array are at least `low` and below `high`.

    Args:
        high: one number, or one for each place.
        values: checked in place of the array, whose part they are; `first` is where this part begins.

    Raises:
        InputError: a number is not.
    """
    array = stored[name] if values is None else values
    for piece in pieces(len(array)):
        part, most = np.asarray(array[piece]), high if isinstance(high, int) else high[piece]
        # The usual case first: the least and the largest number are found faster than all that are out of bounds.
        if not part.size or (low <= part.min() and part.max() < np.min(most)):
            continue
        wrong = (part < low) | (part >= most)
        if wrong.any():
            place = int(np.flatnonzero(wrong.reshape(len(part), -1).any(axis=1))[0])
            expected = f"at least {low} and below {np.broadcast_to(most, len(part))[place]}"
            raise refuse(stored, name, f"{part[place]} at {first + piece.start + place}", expected)


def check_offsets(stored: StoredArrays, name: str, end: int) -> None:
    """Checks that offsets begin with 0, never decrease, and end with `end`.

    Raises:
        InputError: they do not.
    """
    offsets = stored[name]
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end:
        seen = f"{offsets[0]} to {offsets[-1]}" if len(offsets) else "nothing"
        raise refuse(stored, name, seen, f"offsets rising from 0 to {end}")
    check_rising(stored, name)


def check_rising(stored: StoredArrays, name: str, *, strictly: bool = False) -> None:
    """Checks that no number is below the one before it, nor, when `strictly`, equal to it.

    Raises:
        InputError: a number is.
    """
    array = stored[name]
    for piece in pieces(len(array) - 1):
        low, high = array[piece], array[piece.start + 1 : piece.stop + 1]
        wrong = np.flatnonzero(low >= high if strictly else low > high)
        if len(wrong):
            place = int(wrong[0])
            seen = f"{low[place]}, then {high[place]}, at {piece.start + place}"
            raise refuse(stored, name, seen, "numbers that rise" if strictly else "numbers that never fall")


def check_hash_table(stored: StoredArrays, keys: str, rows: str, size: int, empty: int) -> None:
    """Checks that a hash table has 2^n slots, at least one of them empty, and rows below `size`.

    Raises:
        InputError: it does not; a search in it would not end, or would read outside of it.
    """
    keys_H, rows_H = stored[keys], stored[rows]
    slots = len(keys_H)
    if slots < 1 or slots & (slots - 1):
        raise refuse(stored, keys, f"{slots} slots", "a power of two")
    check_lengths(stored, **{rows: (slots,)})
    free = 0
    for piece in pieces(slots):
        taken = keys_H[piece] != np.uint64(empty)
        free += int((~taken).sum())
        wrong = np.flatnonzero(taken & ((rows_H[piece] < 0) | (rows_H[piece] >= size)))
        if len(wrong):
            place = piece.start + int(wrong[0])
            raise refuse(stored, rows, f"{rows_H[place]} at {place}", f"at least 0 and below {size}")
    if not free:
        raise refuse(stored, keys, "no empty slot", "one or more")
