"""Standard input, output and error: UTF-8 in every locale, errors for closed streams, and log messages.

Errors of the operating system are worded like our other messages: the file, what happened, what to do.
"""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import os
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xlate.errors import InputError
from xlate.machine import launched_rank
from xlate.progress import Style, set_style
from xlate.text.lines import final_name

if TYPE_CHECKING:
    from xlate.text.batches import Batches

# Names of standard input and output.
STANDARD = (None, "", "-")
# Bytes of a file name that are not UTF-8 are printed unchanged.
ERRORS = {True: "surrogateescape", False: "backslashreplace"}


def open_streams() -> None:
    """Makes standard output and error write UTF-8, and keeps files from getting the descriptors of closed streams.

    Writing to a closed standard output raises an error when it is flushed; writing to a closed standard error does
    nothing.
    """
    # Otherwise the first opened file would become standard output, and receive what libraries print.
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        if _is_closed(number) and (sys.stdin, sys.stdout, sys.stderr)[number] is None:
            _point(number, mode)
    if sys.stdout is None:
        sys.stdout = _text(1)
    if sys.stderr is None:
        sys.stderr = _text(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            known = stream.encoding.lower().replace("-", "").replace("_", "")
            if known != "utf8" or stream.errors == "strict":
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
    """Writes the answers to the lines of `source`: to a file, complete or not at all, or to standard output, each at
    once if somebody may be waiting for it.
    """
    from xlate.text.batches import is_at_hand
    from xlate.text.lines import write_lines

    if output not in STANDARD:
        assert output is not None
        write_lines(output, lines)
        return
    # Somebody may be waiting for the answer to a line before writing the next.
    asked = source in STANDARD and sys.stdin is not None and not is_at_hand(sys.stdin.buffer)
    awaited = asked or sys.stdout.isatty()
    for line in lines:
        print(line, flush=awaited)


def drop(stream: TextIO) -> None:
    """Discards the rest of a stream: writing its buffer would fail again when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        _point(stream.fileno(), os.O_WRONLY)


def fails(stream: TextIO) -> bool:
    """Whether printing to a stream fails."""
    try:
        stream.flush()
    except (OSError, ValueError):
        return True
    return False


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


AGAIN = "and run the same command again"
NAME = "check the name"
# What happened and what the user can do, by error number.
WORDS: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", f"free some space {AGAIN}"),
    errno.EDQUOT: ("the disk quota is used up", f"free some space {AGAIN}"),
    errno.EFBIG: ("the file exceeds a size limit", f"raise the limit (ulimit -f), or write to another place, {AGAIN}"),
    errno.EROFS: ("the file system is read-only", "write to another place"),
    errno.EACCES: ("not permitted", "change the permissions of the file or its folder, or name another"),
    errno.EPERM: ("not permitted", "change the permissions of the file or its folder, or name another"),
    errno.EISDIR: ("a folder, not a file", "name a file"),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", NAME),
    errno.EEXIST: ("it exists already", "name another, or move it away"),
    errno.ENOTEMPTY: ("the folder is not empty", "name another, or move it away"),
    errno.ENOENT: ("no such file or folder", NAME),
    errno.ENAMETOOLONG: ("the name is too long for this file system", "use a shorter name"),
    errno.ELOOP: ("links that form a circle", NAME),
    errno.EBADF: ("closed", "open it in the right direction: > to write, < to read"),
    errno.ENXIO: ("a device or socket without a server", NAME),
    errno.EIO: ("a device error", "check the disk and its file system"),
    errno.EMFILE: ("too many open files", "raise the limit (ulimit -n)"),
    errno.ENFILE: ("too many open files", "close other programs"),
    errno.ENOMEM: ("no memory", "give it more memory"),
    errno.EAGAIN: (
        "temporarily unavailable: a limit is reached, or a stream does not wait",
        "raise the limit (ulimit -u), or wait",
    ),
    errno.ESTALE: ("the server has lost the file", AGAIN.removeprefix("and ")),
}
# Errors that occur only in writing.
OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def in_words(error: OSError, file: str | None = None) -> InputError:
    """An error of the operating system as one of ours; names `file` if the error names no file."""
    # An error in copying names first the source, then the destination.
    name = error.filename2 if error.errno in OF_WRITING and error.filename2 is not None else error.filename
    named = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else file
    where = None if named is None else final_name(named)
    if error.errno is None:
        # NumPy's error for an array that could not be written completely.
        return InputError(
            "not written completely", " ".join(map(str, error.args)), file=where, remedy=f"free some disk space {AGAIN}"
        )
    message, remedy = WORDS.get(error.errno, ("refused by the operating system", NAME))
    return InputError(message, error.strerror, file=where, remedy=remedy)


PLAIN = "%(message)s"
DETAILED = "%(asctime)s %(name)s: %(message)s"


def begin_talk(flags: Collection[str]) -> None:
    """Sets up what this process writes to standard error, according to the flags of a command line.

    `--quiet`: only warnings and errors, no progress. `--verbose`: also times and the names of loggers. Of ranks that
    torchrun started, only the first prints anything but errors.
    """
    rank = launched_rank()
    quiet, detailed = rank > 0 or "--quiet" in flags, "--verbose" in flags
    if rank:
        drop(sys.stdout)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(DETAILED if detailed else PLAIN))
    root = logging.getLogger()
    for old in [one for one in root.handlers if type(one) is logging.StreamHandler]:
        root.removeHandler(old)
    root.addHandler(handler)
    level = logging.ERROR if rank else logging.WARNING if quiet else logging.INFO
    root.setLevel(level)
    # Only xlate's details: other libraries write too many.
    logging.getLogger("xlate").setLevel(logging.DEBUG if detailed and not quiet else level)
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    set_style(Style.SILENT if quiet else Style.FITTING)
