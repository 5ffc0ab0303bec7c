"""Folders that are written whole or not at all. A folder that xlate did not make is never replaced or written into."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.text.aside import clear_left, done_aside, name_aside
from xlate.text.lines import atomic_write
from xlate.text.opening import checked_name, plain_file

# So many bytes of the file that marks a folder are read.
MARK_BYTES = 1 << 20
Strangers = Callable[[Path], list[str]]


class WholeFolder:
    """A folder that is filled under a hidden name and takes its final name when it is complete.

    A folder that has the name already is replaced if it is empty or carries our mark of the same kind. Used as a
    context manager it gives the path to fill, keeps the folder when all went well, and otherwise leaves nothing behind.
    Where a symbolic link has the name, the folder it leads to is replaced.

    Args:
        final: the folder's name.
        kind: what the folder will hold, with an article: `a candidate store`.
        strangers: tells which files in a folder are not ours; all of them where it does not carry the mark of this
            kind.
        remedy: what the user can do when there are some.

    Raises:
        InputError: what has the name is not a folder or not ours, or the name is one such as `..`.
    """

    def __init__(self, final: str | Path, kind: str, strangers: Strangers, remedy: str) -> None:
        self._asked = Path(final), kind, strangers, remedy
        check_replaceable(*self._asked)
        self.final = Path(os.path.realpath(final)) if os.path.islink(final) else Path(final)
        self.final.parent.mkdir(parents=True, exist_ok=True)
        clear_left(self.final.parent)
        self.path = name_aside(self.final)
        self.path.mkdir()

    def keep(self) -> None:
        """Gives the folder its final name.

        Raises:
            InputError: a folder that is not ours has taken the name meanwhile.
            OSError: another process put its folder there at the same moment, or the file system refuses.
        """
        check_replaceable(*self._asked)
        _sync(self.path)
        older = name_aside(self.final)
        try:
            # The old folder is renamed before it is removed: a kill in between leaves no folder without its mark.
            with contextlib.suppress(FileNotFoundError):
                os.rename(self.final, older)
            os.rename(self.path, self.final)
            _sync(self.final.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.rename(older, self.final)
            error.filename = str(self.final)
            raise
        finally:
            if self.final.exists():
                shutil.rmtree(older, ignore_errors=True)
            done_aside(older)

    def discard(self) -> None:
        """Removes what was written so far."""
        shutil.rmtree(self.path, ignore_errors=True)
        done_aside(self.path)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.keep()
        finally:
            self.discard()


def remove_folder(folder: Path) -> None:
    """Removes a folder of ours, renamed first: a kill half-way leaves nothing under its name."""
    aside = name_aside(folder)
    with contextlib.suppress(OSError):
        os.rename(folder, aside)
    shutil.rmtree(aside, ignore_errors=True)
    done_aside(aside)


def check_replaceable(folder: Path, kind: str, strangers: Strangers, remedy: str) -> None:
    """Checks that a folder may be made here, in the place of what has the name now.

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
            f"{kind} cannot take the place of a mounted folder",
            file=folder,
            seen="a mount point",
            expected="a folder inside it",
            remedy=remedy,
        )
    names = strangers(folder)
    if names:
        raise foreign_files(folder, kind, names, remedy)


def claim_folder(folder: Path, kind: str, mark: str, remedy: str) -> None:
    """Makes a folder for files that are written one by one, with a file `mark` that says that it is ours.

    Raises:
        InputError: what has the name is not a folder, or has files and not the mark.
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
    write_mark(folder / mark, {"holds": kind})


def write_mark(path: Path, described: dict[str, Any]) -> None:
    """Writes the JSON file that says what a folder of ours holds."""
    with atomic_write(path) as stream:
        stream.write((json.dumps(described, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape"))


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
            return text.encode("utf-8") in stream.read(MARK_BYTES)
    except OSError:
        return False


def foreign_files(folder: Path, kind: str, names: Sequence[str], remedy: str, held: str | None = None) -> InputError:
    """The error for a folder with files that are not ours; `held` says what it may hold, when `kind` does not."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return InputError(
        f"the folder holds something else than {kind}",
        file=folder,
        seen=", ".join(names[:5]) + more,
        expected=f"no folder yet, an empty one, or one that holds {held or kind}",
        remedy=remedy,
    )


def check_is_folder(folder: Path, kind: str) -> None:
    """Checks that a path is a folder.

    Raises:
        InputError: it is something else.
    """
    if not folder.is_dir():
        seen = "a link that leads nowhere" if folder.is_symlink() and not folder.exists() else "a file"
        raise InputError(f"{kind} needs a folder", file=folder, seen=seen, expected="a folder, or nothing yet")


def _nameless(folder: Path, kind: str, remedy: str) -> InputError:
    return InputError(
        f"{kind} needs a folder with a name of its own",
        seen=str(folder),
        expected="the name of a folder, not . or .. or / or -",
        remedy=remedy,
    )


def _sync(folder: Path) -> None:
    """Writes the names in a folder to disk, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
