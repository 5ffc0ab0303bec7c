"""Standard input, output and error: UTF-8 in every locale, and an error when one that is closed is used."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

# Bytes of a file name that are not UTF-8 are printed as they were given.
ERRORS = {True: "surrogateescape", False: "backslashreplace"}


def open_streams() -> None:
    """Makes standard output and error write UTF-8, and keeps files from getting the descriptors of closed streams.

    Writing to a closed standard output raises an error when it is flushed; writing to a closed standard error does
    nothing.
    """
    # Otherwise the first file that is opened would become standard output, and get what libraries print.
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        if _is_closed(number) and (sys.stdin, sys.stdout, sys.stderr)[number] is None:
            _point(number, mode)
    if sys.stdout is None:
        sys.stdout = _text(1)
    if sys.stderr is None:
        sys.stderr = _text(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and _is_other(stream):
            stream.reconfigure(encoding="utf-8", errors=ERRORS[stream is sys.stdout])


def drop_output() -> None:
    """Sends the rest of standard output nowhere: what is still in its buffer would fail again when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        _point(sys.stdout.fileno(), os.O_WRONLY)


def output_fails() -> bool:
    """Whether printing to standard output fails."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        return True
    return False


def _is_other(stream: io.TextIOWrapper) -> bool:
    return stream.encoding.lower().replace("-", "").replace("_", "") != "utf8" or stream.errors == "strict"


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False


def _point(number: int, mode: int) -> None:
    """Points a descriptor to the null device."""
    nowhere = os.open(os.devnull, mode)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def _text(number: int) -> TextIO:
    return os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
