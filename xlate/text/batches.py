"""Lines in batches, as they arrive: a text of any length takes little memory, and whoever types a line is answered at
once.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO, Generic, Protocol, TypeVar

from xlate.errors import InputError
from xlate.text.lines import arriving_lines, not_utf8, unreadable

# Processes that are forked after the first batch was read know that batch already.
FIRST, LATER = 2048, 256
INPUT = "standard input"
T = TypeVar("T", covariant=True)


class Batches(Protocol[T]):
    """Batches of the lines of a text; some may be empty."""

    def __iter__(self) -> Iterator[Sequence[T]]:
        """The batches, once."""

    def ready(self) -> bool:
        """Whether the next batch can be had without waiting for whoever writes the text."""


class KnownBatches(Generic[T]):
    """Batches of a text that is complete already: a file, or lines in memory."""

    def __init__(self, batches: Iterable[Sequence[T]]) -> None:
        self._batches = batches

    @classmethod
    def of(cls, lines: Iterable[T]) -> KnownBatches[T]:
        """The batches of a long text, read when they are asked for."""
        return cls(_cut(iter(lines), FIRST))

    def __iter__(self) -> Iterator[Sequence[T]]:
        """The batches."""
        return iter(self._batches)

    def ready(self) -> bool:
        """Always."""
        return True


class ArrivingLines:
    """Lines of a pipe or a terminal. A batch is all complete lines that have arrived; it is empty while the first has
    no end yet.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._more = False

    def __iter__(self) -> Iterator[list[str]]:
        """The batches.

        Raises:
            InputError: the stream cannot be read, or a line is not UTF-8 or too long.
        """
        number = 0
        for lines in _arriving(self._stream):
            cut = list(_cut(iter(lines), LATER if number else FIRST))
            for place, batch in enumerate(cut, 1):
                self._more = place < len(cut)
                yield [_decoded(line, number + at) for at, line in enumerate(batch, 1)]
                number += len(batch)
            if not lines:
                yield []

    def ready(self) -> bool:
        """Whether bytes have arrived, or the end of the stream."""
        return self._more or bool(select.select([self._stream], [], [], 0)[0])


def standard_input() -> Batches[str]:
    """The lines of standard input, read as UTF-8 and split only at LF.

    Raises:
        InputError: standard input is closed; later, a line is not UTF-8 or cannot be read.
    """
    if sys.stdin is None:
        remedy = "give a file, input=FILE, or send text to it"
        raise InputError("closed", file=INPUT, expected="text to read", remedy=remedy)
    stream = sys.stdin.buffer
    if is_at_hand(stream):
        return KnownBatches.of(_lines_of(stream))
    return ArrivingLines(stream)


def is_at_hand(stream: BinaryIO) -> bool:
    """Whether a stream is a plain file or in memory, so that nobody waits for an answer to each line."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return True


def _cut(lines: Iterator[T], first: int) -> Iterator[list[T]]:
    size = first
    while batch := list(islice(lines, size)):
        yield batch
        size = LATER


def _lines_of(stream: BinaryIO) -> Iterator[str]:
    number = 0
    for lines in _arriving(stream):
        for raw in lines:
            number += 1
            yield _decoded(raw, number)


def _arriving(stream: BinaryIO) -> Iterator[list[bytes]]:
    try:
        yield from arriving_lines(stream, INPUT)
    except OSError as error:
        raise unreadable(INPUT, error) from error


def _decoded(raw: bytes, number: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_utf8(INPUT, number, error) from error
