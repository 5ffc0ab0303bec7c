"""Errors of the operating system in the words of our other messages: the file, what happened, what to do."""

from __future__ import annotations

import errno
import os

from xlate.errors import InputError
from xlate.text.lines import final_name

AGAIN = "and run the same command again"
NAME = "check the name"
# For each error number: what happened, and what the user can do.
WORDS: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", f"free some room {AGAIN}"),
    errno.EDQUOT: ("the disk quota is used up", f"free some room {AGAIN}"),
    errno.EFBIG: ("the file may not grow so large", f"raise the limit (ulimit -f), or write elsewhere, {AGAIN}"),
    errno.EROFS: ("the file system is read-only", "write elsewhere"),
    errno.EACCES: ("not permitted", "change the rights of the file or its folder, or name another"),
    errno.EPERM: ("not permitted", "change the rights of the file or its folder, or name another"),
    errno.EISDIR: ("a folder, where a file is needed", "name a file"),
    errno.ENOTDIR: ("a part of the path is a file, where a folder is needed", NAME),
    errno.EEXIST: ("something stands there already", "name another, or move it away"),
    errno.ENOTEMPTY: ("the folder is not empty", "name another, or move it away"),
    errno.ENOENT: ("no such file or folder", NAME),
    errno.ENAMETOOLONG: ("a name too long for this file system", "name it shorter"),
    errno.ELOOP: ("links that lead in a circle", NAME),
    errno.EBADF: ("closed", "open it for what the command does with it: > to write, < to read"),
    errno.ENXIO: ("a device or socket that nobody serves", NAME),
    errno.EIO: ("an error of the device", "check the disk and its file system"),
    errno.EMFILE: ("too many open files", "raise the limit (ulimit -n)"),
    errno.ENFILE: ("too many open files", "close other programs"),
    errno.ENOMEM: ("no memory", "give it more memory"),
    errno.EAGAIN: ("not now: a limit is reached, or a stream does not wait", "raise the limit (ulimit -u), or wait"),
    errno.ESTALE: ("a file that its server has lost", AGAIN.removeprefix("and ")),
}
# What goes wrong only where something is written.
OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def in_words(error: OSError, file: str | None = None) -> InputError:
    """An error of the operating system as one of ours; `file` is named where the error names none."""
    # An error of copying names what is copied first, and then where to.
    name = error.filename2 if error.errno in OF_WRITING and error.filename2 is not None else error.filename
    named = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else file
    where = None if named is None else final_name(named)
    if error.errno is None:
        # NumPy's error for an array that could not be written to its end.
        seen = " ".join(map(str, error.args))
        return InputError("not written whole", file=where, seen=seen, remedy=f"free some room on the disk {AGAIN}")
    known = WORDS.get(error.errno)
    if known is None:
        return InputError("refused by the operating system", file=where, seen=error.strerror, remedy=NAME)
    return InputError(known[0], file=where, seen=error.strerror, remedy=known[1])
