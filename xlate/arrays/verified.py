"""Remembers in the user's cache folder which folders of arrays were found whole, so that each is checked once on a
machine.

A file counts as unchanged as long as its path, device, inode, size and times are the same. Where nothing can be
remembered, everything is checked each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from xlate.text.lines import atomic_write

# A file that is changed again within this time may keep its time stamp.
RECENT_NS = 100_000_000
# How deep a check goes: checksums alone, or the ranges of values too.
SUMS, RANGES = DEPTHS = ("sums", "ranges")


def check_once(folder: Path, files: Sequence[str], seal: str, depth: str, check: Callable[[], None]) -> None:
    """Calls `check` unless it has passed before on these files of the folder, unchanged and with the same seal.

    `depth`, one of `DEPTHS`, says how deep the check goes; files that passed a deeper check pass. Whatever `check`
    raises is raised, and then nothing is remembered.
    """
    stamp = _stamp(folder, files, seal)
    record = _record_of(folder)
    if stamp is not None and _read(record) in [stamp + deep for deep in DEPTHS[DEPTHS.index(depth) :]]:
        return
    check()
    if stamp is not None and not _recent(folder, files) and _stamp(folder, files, seal) == stamp:
        _write(record, stamp + depth)


def _stamp(folder: Path, files: Sequence[str], seal: str) -> str | None:
    rows: list[list[object]] = [[str(folder.resolve()), seal]]
    try:
        for name in files:
            found = os.stat(folder / name)
            rows.append([name, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns])
    except OSError:
        return None
    return json.dumps(rows)


def _recent(folder: Path, files: Sequence[str]) -> bool:
    limit = time.time_ns() - RECENT_NS
    try:
        return any(os.stat(folder / name).st_mtime_ns > limit for name in files)
    except OSError:
        return True


def _record_of(folder: Path) -> Path | None:
    given = os.environ.get("XDG_CACHE_HOME", "")
    home = os.environ.get("HOME", "")
    if os.path.isabs(given):
        cache = Path(given)
    elif os.path.isabs(home):
        cache = Path(home) / ".cache"
    else:
        return None
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
    return cache / "xlate" / "verified" / name[:2] / name


def _read(record: Path | None) -> str | None:
    try:
        return record.read_text(encoding="utf-8") if record is not None else None
    except (OSError, ValueError):
        return None


def _write(record: Path | None, stamp: str) -> None:
    if record is not None:
        with contextlib.suppress(OSError, ValueError), atomic_write(record) as stream:
            stream.write(stamp.encode("utf-8"))
