"""Standard input, output and error: UTF-8 in every locale, and an error when one that is closed is used."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from xlate.text.batches import Batches

# Names of standard input and output.
STANDARD = (None, "", "-")
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


def arriving_lines(name: str | None) -> Batches[str]:
    """The lines of a file, or of standard input as they come.

    Raises:
        InputError: the file cannot be read to its end, or standard input is closed; later, a line is not UTF-8.
    """
    from xlate.text.batches import Batches, standard_input
    from xlate.text.lines import count_lines, iterate_lines

    if name in STANDARD:
        return standard_input()
    assert name is not None
    # A file that cannot be read to its end is refused before anything is printed; a pipe can be read only once.
    if Path(name).is_file():
        count_lines(name)
    return Batches.of(iterate_lines(name))


def write_answers(lines: Iterable[str], output: str | None, source: str | None) -> None:
    """Writes the answers to the lines of `source` to a file, whole, or to standard output, each as soon as it is there
    when somebody may be waiting for it.
    """
    from xlate.text.lines import write_lines

    if output not in STANDARD:
        assert output is not None
        write_lines(output, lines)
        return
    awaited = sys.stdout.isatty() or _is_asked(source)
    for line in lines:
        print(line, flush=awaited)


def _is_asked(source: str | None) -> bool:
    """Whether somebody may be waiting for the answer to a line before writing the next."""
    from xlate.text.batches import is_at_hand

    return source in STANDARD and sys.stdin is not None and not is_at_hand(sys.stdin.buffer)


def drop_output() -> None:
    """Sends the rest of standard output nowhere: what is still in its buffer would fail again when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        _point(sys.stdout.fileno(), os.O_WRONLY)


def drop_errors() -> None:
    """Sends nowhere what standard error no longer takes: Python would end with status 120 when it failed again."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            _point(sys.stderr.fileno(), os.O_WRONLY)


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
