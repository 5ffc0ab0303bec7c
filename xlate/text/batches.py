"""Lines in batches, as they arrive: a text of any length takes little memory, and typed lines are answered at once."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO, Generic, TypeVar

from xlate.errors import InputError
from xlate.text.lines import arriving_lines, not_utf8, unreadable

# Processes forked after the first batch was read already know that batch.
FIRST, LATER = 2048, 256
INPUT = "standard input"
T = TypeVar("T", covariant=True)


class Batches(Generic[T]):
    """Batches of lines, some of which may be empty; this class is for complete texts: a file, or lines in memory."""

    def __init__(self, batches: Iterable[Sequence[T]]) -> None:
        self._batches = batches

    @classmethod
    def of(cls, lines: Iterable[T]) -> Batches[T]:
        """The batches of a long text, read on demand."""
        return cls(_cut(iter(lines), FIRST))

    def __iter__(self) -> Iterator[Sequence[T]]:
        """The batches, once."""
        return iter(self._batches)

    def ready(self) -> bool:
        """Whether the next batch is available without waiting for the writer of the text."""
        return True


class ArrivingLines(Batches[str]):
    """Lines of a pipe or a terminal. A batch is all complete lines that have arrived; it is empty while the first line
    is incomplete.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._more = False

    def __iter__(self) -> Iterator[list[str]]:
        """The batches, once.

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
        return self._more or bool(select.select([self._stream], [], [], 0)[0])


def standard_input() -> Batches[str]:
    """The lines of standard input, read as UTF-8 and split only at LF.

    Raises:
        InputError: standard input is closed; later, a line is not UTF-8 or cannot be read.
    """
    if sys.stdin is None:
        remedy = "give a file, input=FILE, or pipe text to it"
        raise InputError("closed", file=INPUT, expected="text to read", remedy=remedy)
    stream = sys.stdin.buffer
    if is_at_hand(stream):
        every = (line for lines in _arriving(stream) for line in lines)
        return Batches.of(_decoded(raw, number) for number, raw in enumerate(every, 1))
    return ArrivingLines(stream)


def is_at_hand(stream: BinaryIO) -> bool:
    """Whether a stream is a plain file or in memory, so that nobody waits for an answer to each line."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return True


def _cut(lines: Iterator[T], size: int) -> Iterator[list[T]]:
    while batch := list(islice(lines, size)):
        yield batch
        size = LATER


def _arriving(stream: BinaryIO) -> Iterator[list[bytes]]:
    try:
        yield from arriving_lines(stream, INPUT)
    except OSError as error:
        raise unreadable(INPUT, error) from error


def _decoded(raw: bytes, number: int) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(INPUT, number, error) from error
