"""Locks that let one process at a time write a folder.

The lock is `flock` on a hidden file beside the folder; the file says who holds it. The lock ends with the process that
holds it, even if that is killed; the next process takes over the file and removes it in the end. Readers take no lock.
Where the hidden file cannot be written, or the file system or operating system has no `flock`, nothing is locked. Over
NFS the lock holds between machines (Linux 2.6.12 and newer).
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
# Seconds between two attempts.
LOOK = 0.1
_BUSY = (errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK)
# The lock files that this process holds. A forked process closes them, or it would hold them even after this one ends.
_held: weakref.WeakSet[_LockFile] = weakref.WeakSet()


class StoppedWaitingError(Exception):
    """A signal came while the process waited for a folder."""


@contextlib.contextmanager
def refused_while_written(folder: Path, what: str) -> Iterator[None]:
    """Holds the lock of a folder, which need not exist.

    Args:
        folder: the folder that is to be written.
        what: what the folder is, such as `run`; for the message.

    Raises:
        InputError: another process writes it; the message says which.
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
    """Waits until no other process holds the lock of a folder, then holds it; says whom it waits for.

    Raises:
        StoppedWaitingError: `stop` became true.
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
    """The lock file of a folder, released at the end; missing folders around it are made, and removed if they stay
    empty.
    """
    folder = Path(os.path.abspath(folder))
    made = _made(folder.parent)
    lock = _LockFile(folder.parent / f".{folder.name}{ENDING}")
    try:
        yield lock
    finally:
        lock.release()
        _remove_empty(made)


class _LockFile:
    """A file that one process can hold."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def taken(self) -> bool:
        """Tries to take the file; true also where nothing can be locked."""
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
            # The process that held it has removed it since it was opened here.
            os.close(file)
        self._file = file
        _held.add(self)
        with contextlib.suppress(OSError):
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        return True

    def release(self) -> None:
        """Removes the file and lets others go on; does nothing when it is not held."""
        if self._file is None:
            return
        _held.discard(self)
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        os.close(self._file)
        self._file = None

    def forget(self) -> None:
        """Closes the file in a forked process; the parent process goes on holding it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def holder(self) -> str:
        """Who holds the file, in words."""
        try:
            described = json.loads(self.path.read_text(encoding="utf-8"))
            return f"process {int(described['pid'])} on {described['host']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"

    def _opened(self) -> int | None:
        """The open file; None in a folder that cannot be written, which the writer will be told when it writes."""
        for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
            with contextlib.suppress(OSError):
                return os.open(self.path, flags | os.O_NOFOLLOW, 0o666)
        return None

    def _is(self, file: int) -> bool:
        """Whether an open file is still the one that has this name."""
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
    """Makes a folder with those around it; returns the new ones, the deepest first."""
    missing = []
    for path in (folder, *folder.parents):
        if path.exists():
            break
        missing.append(path)
    # Where it cannot be made, the writer will be told when it writes.
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return
