"""Lines in batches as they come, so that a text of any length takes little memory and a person is answered at once."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO, Generic, Protocol, TypeVar

from xlate.errors import InputError
from xlate.text.lines import not_utf8, unreadable

# The first batch is what processes that are forked behind it know already.
FIRST, LATER = 2048, 256
PIECE = 1 << 16
INPUT = "standard input"
T = TypeVar("T", covariant=True)


class Batches(Protocol[T]):
    """Batches of a text, some of them perhaps empty."""

    def __iter__(self) -> Iterator[Sequence[T]]:
        """The batches, once."""

    def ready(self) -> bool:
        """Whether the next batch is there without waiting for whoever writes it."""


class KnownBatches(Generic[T]):
    """Batches of what never lets anyone wait: a file, or a text in memory."""

    def __init__(self, batches: Iterable[Sequence[T]]) -> None:
        self._batches = batches

    @classmethod
    def of(cls, lines: Iterable[T]) -> KnownBatches[T]:
        """A long text, which is read when it is asked for."""
        return cls(_cut(iter(lines), FIRST))

    def __iter__(self) -> Iterator[Sequence[T]]:
        """The batches."""
        return iter(self._batches)

    def ready(self) -> bool:
        """Always."""
        return True


class ArrivingLines:
    """Lines of a pipe or a terminal: a batch is all whole lines that are there; empty while a line has no end yet."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._more = False

    def __iter__(self) -> Iterator[list[str]]:
        """The batches.

        Raises:
            InputError: it cannot be read, or a line is not UTF-8.
        """
        number, begun = 0, [b""]
        while piece := self._piece():
            *ends, rest = piece.split(b"\n")
            if not ends:
                begun.append(rest)
                yield []
                continue
            lines = [b"".join(begun) + ends[0], *ends[1:]]
            begun = [rest]
            cut = list(_cut(iter(lines), LATER if number else FIRST))
            for place, batch in enumerate(cut, start=1):
                self._more = place < len(cut)
                yield [_decoded(line, number + at) for at, line in enumerate(batch, start=1)]
                number += len(batch)
        if last := b"".join(begun):
            yield [_decoded(last, number + 1)]

    def _piece(self) -> bytes:
        try:
            return bytes(self._stream.read1(PIECE))  # type: ignore[attr-defined]
        except OSError as error:
            raise unreadable(INPUT, error) from error

    def ready(self) -> bool:
        """Whether bytes are there, or the end."""
        return self._more or bool(select.select([self._stream], [], [], 0)[0])


def standard_input() -> Batches[str]:
    """The lines of standard input, UTF-8 and split at LF alone.

    Raises:
        InputError: it is closed; on the way, a line that is not UTF-8, or what the system refuses.
    """
    if sys.stdin is None:
        remedy = "give a file, input=FILE, or send text to it"
        raise InputError("closed", file=INPUT, expected="text to read", remedy=remedy)
    stream = sys.stdin.buffer
    if is_at_hand(stream):
        return KnownBatches.of(_lines_of(stream))
    return ArrivingLines(stream)


def is_at_hand(stream: BinaryIO) -> bool:
    """Whether a stream is a plain file or in memory, and nobody waits for what becomes of its lines."""
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
    try:
        for number, raw in enumerate(stream, start=1):
            yield _decoded(raw.removesuffix(b"\n"), number)
    except OSError as error:
        raise unreadable(INPUT, error) from error


def _decoded(raw: bytes, number: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_utf8(INPUT, number, error) from error
