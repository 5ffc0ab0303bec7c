"""Folders and JSON files that are written completely or not at all, and locks that let one process at a time write one.

A folder that xlate did not make is never replaced or written into.

The lock is `flock` on a hidden file next to the folder; the file says who holds it. The lock ends with the process that
holds it, even if that is killed; the next process takes over the file and removes it at the end. Readers take no lock.
If the hidden file cannot be written, or the file system or operating system has no `flock`, nothing is locked. Over NFS
the lock works between machines (Linux 2.6.12 and newer).
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
import shutil
import socket
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.machine import Stop, Stopped, never
from xlate.text.lines import clear_left, done_aside, name_aside, unreadable, write_file
from xlate.text.opening import checked_name, plain_file

# The fields that an object must have, with the types of their values.
Fields = Mapping[str, type | tuple[type, ...]]
_NAMES: dict[object, str] = {dict: "an object", list: "a list", str: "text", int: "a number", float: "a number"}


def read_json(path: str | Path, expected: str, remedy: str, fields: Fields | None = None) -> dict[str, Any]:
    """Reads a JSON object; `fields` are those it must have, with the types of their values.

    Raises:
        InputError: the file is missing, damaged, or holds something else; the message has `expected` and `remedy`.
    """
    path = plain_file(path)
    try:
        held = json.loads(path.read_bytes().decode())
    except OSError as error:
        raise unreadable(path, error, expected, remedy) from error
    except (ValueError, RecursionError) as error:
        raise InputError("damaged", error, f"{expected}, in JSON", remedy, file=path) from error
    if not isinstance(held, dict):
        raise InputError("damaged", held, f"{expected}, a JSON object", remedy, file=path)
    check_fields(held, fields or {}, path, remedy)
    return held


def check_fields(held: Mapping[str, Any], fields: Fields, file: str | Path, remedy: str) -> None:
    """Checks that an object has the fields it must have, with values of their types; true and false do not count as
    numbers.

    Raises:
        InputError: a field is missing or has another type.
    """
    for name, kinds in fields.items():
        known = kinds if isinstance(kinds, tuple) else (kinds,)
        value = held.get(name)
        fits = isinstance(value, known) and not (isinstance(value, bool) and bool not in known)
        if name not in held or not fits:
            seen = f"{name} is {value!r}" if name in held else f"no {name}"
            wanted = " or ".join(dict.fromkeys(_NAMES.get(kind, "nothing") for kind in known))
            raise InputError("damaged", seen, f"{name}, {wanted}", remedy, file=file)


def write_json(path: str | Path, value: Mapping[str, Any], indent: int | None = 2) -> None:
    """Writes a JSON object, completely or not at all."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str) + "\n"
    write_file(path, text.encode("utf-8", "surrogateescape"))


# The number of bytes read from the file that marks a folder.
MARK_BYTES = 1 << 20
Strangers = Callable[[Path], list[str]]


@contextlib.contextmanager
def hidden_folder(final: Path) -> Iterator[Path]:
    """An empty folder under a hidden name next to `final`; removed at the end unless it has another name by then."""
    final.parent.mkdir(parents=True, exist_ok=True)
    clear_left(final.parent)
    hidden = name_aside(final)
    hidden.mkdir()
    try:
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        done_aside(hidden)


@contextlib.contextmanager
def whole_folder(final: Path, kind: str, strangers: Strangers, remedy: str) -> Iterator[Path]:
    """A folder that is filled under a hidden name and takes its final name when it is complete.

    A folder that already has the name is replaced if it is empty or carries our mark of the same kind. After an error,
    nothing is left behind. If the name is a symbolic link, the folder it leads to is replaced.

    Args:
        final: the folder's name.
        kind: what the folder will hold, with an article: `a candidate store`.
        strangers: lists the files in a folder that are not ours; all of them if it does not carry the mark of this
            kind.
        remedy: what the user can do if there are any.

    Raises:
        InputError: the name belongs to something that is not a folder or not ours, perhaps only by the end, or is a
            name such as `..`.
        OSError: another process put its folder there at the same moment, or the file system refuses.
    """
    check_replaceable(final, kind, strangers, remedy)
    path = Path(os.path.realpath(final)) if final.is_symlink() else final
    with hidden_folder(path) as hidden:
        yield hidden
        check_replaceable(final, kind, strangers, remedy)
        _sync(hidden)
        _rename(hidden, path)


def _rename(hidden: Path, final: Path) -> None:
    """Gives a folder its final name."""
    older = name_aside(final)
    try:
        # The old folder is renamed before it is removed: a kill in between leaves no folder without its mark.
        with contextlib.suppress(FileNotFoundError):
            os.rename(final, older)
        os.rename(hidden, final)
        _sync(final.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.rename(older, final)
        error.filename = str(final)
        raise
    finally:
        if final.exists():
            shutil.rmtree(older, ignore_errors=True)
        done_aside(older)


def remove_folder(folder: Path) -> None:
    """Removes a folder of ours, renamed first: a kill half-way leaves nothing under its name."""
    aside = name_aside(folder)
    with contextlib.suppress(OSError):
        os.rename(folder, aside)
    shutil.rmtree(aside, ignore_errors=True)
    done_aside(aside)


def check_replaceable(folder: Path, kind: str, strangers: Strangers, remedy: str) -> None:
    """Checks that a folder may be made here, replacing what has the name now.

    Raises:
        InputError: what has the name is not a folder, is not ours, or cannot be replaced.
    """
    checked_name(folder)
    if folder.name in ("", "..", "-"):
        raise _nameless(folder, kind, remedy)
    if not os.path.lexists(folder):
        return
    check_is_folder(folder, kind)
    if os.path.ismount(folder):
        raise InputError(
            f"{kind} cannot replace a mounted folder",
            "a mount point",
            "a folder inside it",
            remedy,
            file=folder,
        )
    names = strangers(folder)
    if names:
        raise foreign_files(folder, kind, names, remedy)


def claim_folder(folder: Path, kind: str, mark: str, remedy: str) -> None:
    """Makes a folder for files that are written one by one, with a file `mark` that says that it is ours.

    Raises:
        InputError: what has the name is not a folder, or has files but not the mark.
    """
    checked_name(folder)
    if str(folder) == "-":
        raise _nameless(folder, kind, remedy)
    if os.path.lexists(folder):
        check_is_folder(folder, kind)
        names = sorted(os.listdir(folder))
        if mark in names:
            return
        if names:
            raise foreign_files(folder, kind, names, remedy)
    write_json(folder / mark, {"holds": kind}, indent=1)


def without_mark(mark: str, text: str, known: str = ".*") -> Strangers:
    """A function that lists the files of a folder that are not ours.

    In a folder whose file `mark` contains `text`, those are the files whose names do not match the pattern `known`; the
    rest of `mark` may be damaged. In any other folder, all files are.
    """
    pattern = re.compile(known, re.DOTALL)

    def strangers(folder: Path) -> list[str]:
        names = sorted(os.listdir(folder))
        return [name for name in names if not pattern.fullmatch(name)] if holds(folder / mark, text) else names

    return strangers


def holds(path: Path, text: str) -> bool:
    """Whether a file exists and contains a text near its beginning."""
    try:
        with plain_file(path).open("rb") as stream:
            return text.encode() in stream.read(MARK_BYTES)
    except OSError:
        return False


def foreign_files(folder: Path, kind: str, names: Sequence[str], remedy: str, held: str | None = None) -> InputError:
    """The error for a folder with files that are not ours; `held` says what it may hold if `kind` does not."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return InputError(
        f"the folder contains something other than {kind}",
        ", ".join(names[:5]) + more,
        f"no folder yet, an empty one, or one that holds {held or kind}",
        remedy,
        file=folder,
    )


def check_is_folder(folder: Path, kind: str) -> None:
    """Checks that a path is a folder.

    Raises:
        InputError: it is something else.
    """
    if not folder.is_dir():
        seen = "a broken link" if folder.is_symlink() and not folder.exists() else "a file"
        raise InputError(f"{kind} needs a folder", seen, "a folder, or nothing yet", file=folder)


def _nameless(folder: Path, kind: str, remedy: str) -> InputError:
    return InputError(
        f"not a usable folder name for {kind}",
        str(folder),
        "the name of a folder, not . or .. or / or -",
        remedy,
    )


def _sync(folder: Path) -> None:
    """Writes the names in a folder to disk if the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

ENDING = ".xlate.lock"
# Seconds between two attempts.
LOOK = 0.1
_BUSY = (errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK)
# The lock files that this process holds. A forked process closes them, or it would hold them even after this one ended.
_held: weakref.WeakSet[_LockFile] = weakref.WeakSet()


@contextlib.contextmanager
def refused_while_written(folder: Path, what: str) -> Iterator[None]:
    """Holds the lock of a folder, which need not exist.

    Args:
        folder: the folder that is to be written.
        what: what the folder is, such as `run`; for the message.

    Raises:
        InputError: another process is writing it; the message says which.
    """
    with _LockFile(folder) as lock:
        if not lock.taken():
            raise InputError(
                f"another process is writing this {what}",
                lock.holder(),
                f"one process per {what}",
                "wait until it ends, stop it, or name another folder",
                file=folder,
            )
        yield


@contextlib.contextmanager
def awaited(folder: Path, stop: Stop = never) -> Iterator[None]:
    """Waits until no other process holds the lock of a folder, then holds it; logs which process it waits for.

    Raises:
        Stopped: `stop` became true.
    """
    with _LockFile(folder) as lock:
        told = False
        while not lock.taken():
            if stop():
                raise Stopped
            if not told:
                log.info("%s: waiting for %s, which is making it", folder, lock.holder())
                told = True
            time.sleep(LOOK)
        yield


class _LockFile:
    """The lock file of a folder, which one process at a time can hold; a context manager that releases it at the end.

    Missing parent folders are made, and removed if they stay empty.
    """

    def __init__(self, folder: Path) -> None:
        folder = Path(os.path.abspath(folder))
        self.path = folder.parent / f".{folder.name}{ENDING}"
        self._file: int | None = None
        self._made = [path for path in self.path.parents if not path.exists()]
        # If they cannot be made, the writer gets an error when it writes.
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> _LockFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            _held.discard(self)
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            self.close()
        with contextlib.suppress(OSError):
            for path in self._made:
                path.rmdir()

    def close(self) -> None:
        """Closes the file; if this is a forked process, its parent still holds it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def taken(self) -> bool:
        """Tries to take the file; also true if nothing can be locked."""
        if fcntl is None:
            return True
        while True:
            file = self._opened()
            if file is None:
                return True
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(file)
                if error.errno in _BUSY:
                    return False
                log.debug("%s cannot be locked: %s", self.path, error)
                return True
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(self.path)):
                    break
            # The process that held it removed it after it was opened here.
            os.close(file)
        self._file = file
        _held.add(self)
        with contextlib.suppress(OSError):
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        return True

    def holder(self) -> str:
        """A description of the holder of the file."""
        try:
            described = json.loads(self.path.read_text(encoding="utf-8"))
            return f"process {int(described['pid'])} on {described['host']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"

    def _opened(self) -> int | None:
        """The open file; None in a folder that cannot be written, where the writer gets an error when it writes."""
        for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
            with contextlib.suppress(OSError):
                return os.open(self.path, flags | os.O_NOFOLLOW, 0o666)
        return None


def _close_all() -> None:
    for lock in list(_held):
        lock.close()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
