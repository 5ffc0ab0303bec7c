"""Temporary names beside the final ones, and removing what a killed process left under such names."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import secrets
import shutil
from pathlib import Path

# The final name (cut short), the machine, the process, and a random part.
_ASIDE = re.compile(r"\.(.+)\.xlate-([0-9a-f]{8})-([1-9][0-9]*)-[0-9a-f]{8}\.partial", re.DOTALL)
# The final name is cut to so many characters, so that even the longest leaves room for the rest.
KEPT = 40
_in_use: set[str] = set()
_cleared: set[str] = set()


def name_aside(final: Path) -> Path:
    """A hidden, unused name beside `final`. Until `done_aside` is called, this process does not remove what has that
    name.
    """
    named = f".{final.name[:KEPT]}.xlate-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.partial"
    aside = final.with_name(named)
    _in_use.add(os.path.abspath(aside))
    return aside


def done_aside(aside: Path) -> None:
    """Says that a name of `name_aside` is no longer in use: what had it was renamed or removed, or may be removed."""
    _in_use.discard(os.path.abspath(aside))


def final_name(path: str) -> str:
    """The path with every temporary name replaced by the start of the final name that it stands for."""
    parts = [_ASIDE.fullmatch(part) for part in path.split("/")]
    return "/".join(found[1] if found else part for found, part in zip(parts, path.split("/"), strict=True))


def clear_left(folder: Path) -> None:
    """Removes from a folder the temporary files and folders of processes of this machine that were killed.

    What belongs to a living process, to another machine or to another container stays, and so does everything whose
    name does not have exactly our form.
    """
    left: list[os.DirEntry[str]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        left = [entry for entry in entries if entry.name.endswith(".partial") and _is_left(entry)]
    for entry in left:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        elif entry.is_file(follow_symlinks=False):
            with contextlib.suppress(OSError):
                os.unlink(entry.path)


def clear_left_once(folder: Path) -> None:
    """Calls `clear_left` the first time that this process asks it for a folder; a folder may hold very many files."""
    key = os.path.abspath(folder)
    if key not in _cleared:
        _cleared.add(key)
        clear_left(folder)


def _is_left(entry: os.DirEntry[str]) -> bool:
    found = _ASIDE.fullmatch(entry.name)
    if found is None or found[2] != _machine():
        return False
    process = int(found[3])
    if process == os.getpid():
        # Left by an earlier process of the same number, or by a thread of this one.
        return os.path.abspath(entry.path) not in _in_use
    return not _lives(process)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@functools.cache
def _machine() -> str:
    """An identity of the machine, or of the container on it, within which process numbers are unique."""
    known = [os.uname().nodename]
    with contextlib.suppress(OSError):
        known.append(os.readlink("/proc/self/ns/pid"))
    with contextlib.suppress(OSError):
        known.append(Path("/etc/machine-id").read_text(encoding="ascii", errors="replace").strip())
    return hashlib.sha256(" ".join(known).encode("utf-8", "surrogateescape")).hexdigest()[:8]
