"""One writer at a time for a folder, over processes and machines.

The lock is `flock` on a hidden file beside the folder, which says who holds it. It ends with the process that holds it,
however that ended; a file that a killed process left is taken over, and removed by the next. Readers take no lock.
Where the folder around cannot be written, or its file system or operating system knows no `flock`, nothing is locked.
Over NFS it holds between machines (Linux 2.6.12 and newer).
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import socket
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from xlate.errors import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

ENDING = ".xlate.lock"
# Seconds between two tries.
LOOK = 0.1
_BUSY = (errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK)
# Files that are held now. A forked process would hold them as well, beyond the end of this one.
_held: weakref.WeakSet[_LockFile] = weakref.WeakSet()


class StoppedWaitingError(Exception):
    """A signal came while a folder was waited for."""


@contextlib.contextmanager
def refused_while_written(folder: Path, what: str) -> Iterator[None]:
    """Holds a folder's lock; the folder need not be there.

    Args:
        folder: what is to be written.
        what: it is, such as `run`; for the message.

    Raises:
        InputError: another process writes it; says which.
    """
    with _lock_file(folder) as lock:
        if not lock.taken():
            raise InputError(
                f"another process writes this {what}",
                file=folder,
                seen=lock.holder(),
                expected=f"one process a {what}",
                remedy="wait until it has ended, stop it, or name another folder",
            )
        yield


@contextlib.contextmanager
def awaited(folder: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Waits until no other process holds a folder's lock, and holds it; says for whom.

    Raises:
        StoppedWaitingError: `stop` said so.
    """
    with _lock_file(folder) as lock:
        told = False
        while not lock.taken():
            if stop():
                raise StoppedWaitingError
            if not told:
                log.info("%s: waiting for %s, which is making it", folder, lock.holder())
                told = True
            time.sleep(LOOK)
        yield


@contextlib.contextmanager
def _lock_file(folder: Path) -> Iterator[_LockFile]:
    """The file of a folder's lock, let go at the end; folders around it are made, and removed where they stay empty."""
    folder = Path(os.path.abspath(folder))
    made = _made(folder.parent)
    lock = _LockFile(folder.parent / f".{folder.name}{ENDING}")
    try:
        yield lock
    finally:
        lock.release()
        _remove_empty(made)


class _LockFile:
    """A file that one process holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def taken(self) -> bool:
        """Tries to take it; true as well where nothing can be locked."""
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
            if self._is(file):
                break
            # Its holder has ended and removed it since it was opened.
            os.close(file)
        self._file = file
        _held.add(self)
        with contextlib.suppress(OSError):
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        return True

    def release(self) -> None:
        """Removes the file and lets others go on; nothing where it is not held."""
        if self._file is None:
            return
        _held.discard(self)
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        os.close(self._file)
        self._file = None

    def forget(self) -> None:
        """In a forked process: closes the file, which goes on being held by the process that was forked."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def holder(self) -> str:
        """Who holds it."""
        try:
            described = json.loads(self.path.read_text(encoding="utf-8"))
            return f"process {int(described['pid'])} on {described['host']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"

    def _opened(self) -> int | None:
        """The open file; None in a folder that cannot be written: who writes it hears of that from the write."""
        for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
            with contextlib.suppress(OSError):
                return os.open(self.path, flags | os.O_NOFOLLOW, 0o666)
        return None

    def _is(self, file: int) -> bool:
        """Whether an open file is still the one of this name."""
        try:
            return os.path.samestat(os.fstat(file), os.stat(self.path))
        except FileNotFoundError:
            return False


def _forget_all() -> None:
    for lock in list(_held):
        lock.forget()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _made(folder: Path) -> list[Path]:
    """Makes a folder; returns what was not there before, the deepest first."""
    missing = []
    for path in (folder, *folder.parents):
        if path.exists():
            break
        missing.append(path)
    # Where it cannot be made, who writes into it hears of that.
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return
