"""Standard input, output and error: text in UTF-8 whatever the locale says, and what is closed says so when used."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

# Bytes of a file name that are not UTF-8 go to standard output as they came in.
ERRORS = {True: "surrogateescape", False: "backslashreplace"}


def open_streams() -> None:
    """Makes standard output and error write UTF-8, as input is read, and keeps closed ones from being taken by files.

    What is written to a closed standard output is an error, which comes when it is flushed; to a closed standard error,
    nothing.
    """
    # Without this the first file opened would become standard output, and get what libraries print.
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
    """Standard output leads nowhere from here on: what is still held back would fail again when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        _point(sys.stdout.fileno(), os.O_WRONLY)


def output_fails() -> bool:
    """Whether standard output does not take what was printed."""
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
    """Makes a descriptor lead to the null device."""
    nowhere = os.open(os.devnull, mode)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def _text(number: int) -> TextIO:
    return os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
