"""A private folder for files that libraries make once, for users whose home cannot be written."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from pathlib import Path


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
