"""What the machine gives this process: memory, and folders that can be written."""

from __future__ import annotations

import atexit
import os
import resource
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from xlate.errors import InputError

MEMINFO, GROUPS_OF_PROCESS, GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# Of a control group, version 2 and version 1: its limit, what it uses, and what of that can be given back at once.
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def peak_megabytes() -> float:
    """The largest resident memory this process has had so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def check_memory(what: str, size: float, setting: str) -> None:
    """Checks before work begins that there is memory for its arrays.

    Args:
        what: the arrays, in words.
        size: the bytes that they will take at least.
        setting: what makes them so large, such as `model.bits=30`.

    Raises:
        InputError: less memory is free.
    """
    free = free_memory()
    if free is not None and size > free:
        raise InputError(
            f"not enough memory for {what}",
            seen=f"{setting}, which needs {_shown(size)}",
            expected=f"no more than the {_shown(free)} that are free",
            remedy=f"lower {setting.partition('=')[0]}, or use a machine with more memory",
        )


def free_memory() -> int | None:
    """The bytes that this process can still take: those free on the machine, or fewer where a control group has a
    limit; None where the system does not say.
    """
    found = [*_free_on_machine(), *_free_in_groups()]
    return max(0, min(found)) if found else None


def _free_on_machine() -> Iterator[int]:
    if MEMINFO.exists():
        for line in MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield 1024 * int(line.split()[1])


def _free_in_groups() -> Iterator[int]:
    """What is free in each control group that this process is in, and in those around it."""
    lines = GROUPS_OF_PROCESS.read_text(encoding="utf-8").splitlines() if GROUPS_OF_PROCESS.exists() else []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = GROUPS / controllers
        folder = top / path.lstrip("/")
        for group in (folder, *(around for around in folder.parents if around.is_relative_to(top))):
            yield from _free_in_group(group, *_FILES[controllers == "memory"])


def _free_in_group(group: Path, limit: str, used: str, given_back: str) -> Iterator[int]:
    try:
        most = (group / limit).read_text(encoding="ascii").strip()
        taken = int((group / used).read_text(encoding="ascii"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
    except OSError:
        return
    if most != "max":
        yield int(most) - taken + int(stat.get(given_back, 0))


def _shown(size: float) -> str:
    return f"{size / 2**30:,.1f} GiB"


def keep_in_scratch(variable: str, name: str, *usual: Path) -> None:
    """Sets an environment variable to a private folder, unless it is set or all usual places can be written."""
    if variable not in os.environ and not all(can_be_written(folder) for folder in usual):
        os.environ[variable] = str(private_folder(name))


def can_be_written(folder: Path) -> bool:
    """Whether a folder can be written, or can be made."""
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    except (OSError, StopIteration):
        return False


def home(variable: str, name: str) -> Path:
    """The folder that an XDG variable names, or else the folder `name` in the home folder."""
    return Path(os.environ.get(variable) or os.path.join(os.path.expanduser("~"), name))


def private_folder(name: str) -> Path:
    """A temporary folder that only this user can write, since what is kept there may be code.

    The next process finds the same folder. Where somebody else has taken its name, the folder is for this process only.
    """
    top = Path(tempfile.gettempdir()) / f"xlate-{os.getuid()}"
    try:
        top.mkdir(mode=0o700, exist_ok=True)
        seen = top.lstat()
        if stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & 0o077:
            (top / name).mkdir(exist_ok=True)
            return top / name
    except OSError:
        pass
    made = tempfile.mkdtemp(prefix="xlate-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
