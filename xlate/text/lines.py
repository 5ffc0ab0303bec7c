"""Lines of text files: read strictly, written completely or not at all, and compared between the sides of a text."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from xlate.errors import InputError
from xlate.text.opening import PIECE, DamagedStream, checked_name, named_packing, open_unpacked

# The final name (cut short), the machine, the process, and a random part.
_ASIDE = re.compile(r"\.(.+)\.xlate-([0-9a-f]{8})-([1-9][0-9]*)-[0-9a-f]{8}\.partial", re.DOTALL)
# The final name is cut to this many characters, so that even the longest leaves room for the rest.
KEPT = 40
_in_use: set[str] = set()


def name_aside(final: Path) -> Path:
    """A hidden, unused name next to `final`. Until `done_aside` is called, this process does not remove what has it."""
    named = f".{final.name[:KEPT]}.xlate-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.partial"
    aside = final.with_name(named)
    _in_use.add(os.path.abspath(aside))
    return aside


def done_aside(aside: Path) -> None:
    """Releases a name of `name_aside`: what had it was renamed or removed, or may be removed."""
    _in_use.discard(os.path.abspath(aside))


def final_name(path: str) -> str:
    """The path with every temporary name replaced by the start of its final name."""
    parts = [_ASIDE.fullmatch(part) for part in path.split("/")]
    return "/".join(found[1] if found else part for found, part in zip(parts, path.split("/"), strict=True))


def clear_left(folder: Path) -> None:
    """Removes from a folder the temporary files and folders of killed processes of this machine.

    What belongs to a running process, another machine or another container stays, as does everything whose name does
    not have exactly our form.
    """
    left = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        left = [entry for entry in entries if entry.name.endswith(".partial") and _is_left(entry)]
    for entry in left:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        elif entry.is_file(follow_symlinks=False):
            with contextlib.suppress(OSError):
                os.unlink(entry.path)


# Only once per folder in this process, as a folder may hold very many files.
clear_left_once = functools.cache(clear_left)


def _is_left(entry: os.DirEntry[str]) -> bool:
    found = _ASIDE.fullmatch(entry.name)
    if found is None or found[2] != _machine():
        return False
    process = int(found[3])
    if process == os.getpid():
        # Left by an earlier process with the same number, or by a thread of this one.
        return os.path.abspath(entry.path) not in _in_use
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


@functools.cache
def _machine() -> str:
    """The identity of the machine or container within which process numbers are unique."""
    known = [os.uname().nodename]
    with contextlib.suppress(OSError):
        known.append(os.readlink("/proc/self/ns/pid"))
    with contextlib.suppress(OSError):
        known.append(Path("/etc/machine-id").read_text(encoding="ascii", errors="replace").strip())
    return hashlib.sha256(" ".join(known).encode("utf-8", "surrogateescape")).hexdigest()[:8]


# Errors that are not the fault of the file to read.
OF_THE_MACHINE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The most bytes of a line (of text, a rule and the like), and of a record that may hold whole lists or documents.
LONGEST_LINE, LONGEST_RECORD = 1 << 20, 1 << 26
# The most symbolic links that are followed.
MOST_LINKS = 40
_DESCRIPTOR = re.compile(
    r"/dev/std(?P<stream>out|err)|(?:/dev|/proc/(?P<process>self|[0-9]+))/fd/(?P<number>[0-9]{1,9})"
)


def read_lines(path: str | Path) -> list[str]:
    """Reads a UTF-8 text file, plain or packed by gzip, xz, bzip2 or zstd, split only at LF.

    A bare CR, U+2028, NEL and the like are characters of a line, not line ends. A last line without LF counts.

    Raises:
        InputError: the file is missing, packed and damaged, an archive, not UTF-8 (with the line), or a line is longer
            than `LONGEST_LINE`.
    """
    return list(iterate_lines(path))


def iterate_lines(path: str | Path, longest: int = LONGEST_LINE) -> Iterator[str]:
    """Yields the lines of a file one by one; see `read_lines` for what a line is and what is raised.

    The file may also be a pipe or anything else that can be read only once.
    """
    path = Path(path)
    number = 0
    try:
        with open_unpacked(path) as stream:
            for lines in arriving_lines(stream, path, longest):
                for raw in lines:
                    number += 1
                    yield raw.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(path, number, error) from error
    except DamagedStream as error:
        error.line = number + 1
        raise
    except OSError as error:
        raise unreadable(path, error) from error


class FileLines:
    """The lines of a file one after the other; `number` is that of the current one, from 1.

    Args:
        path: the file; see `iterate_lines`.
        remedy: of errors that name no other one.
        longest: the most bytes of a line.
    """

    def __init__(self, path: str | Path, remedy: str | None = None, longest: int = LONGEST_LINE) -> None:
        self.path, self.remedy, self.longest, self.number = Path(path), remedy, longest, 0

    def __iter__(self) -> Iterator[str]:
        """The lines, once; raises what `iterate_lines` raises."""
        lines = iterate_lines(self.path, self.longest)
        for self.number, line in enumerate(lines, 1):
            yield line

    def settings(self) -> Iterator[str]:
        """The lines of a configuration without the blanks around them; blank lines and comments (`#`) are left out."""
        for raw in self:
            line = raw.strip(" \t\r")
            if line and not line.startswith("#"):
                yield line

    def error(
        self, message: str, seen: object, expected: str, remedy: str | None = None, line: int | None = None
    ) -> InputError:
        """The error for the current line, or for another one."""
        line = line or max(1, self.number)
        return InputError(message, seen, expected, remedy or self.remedy, file=self.path, line=line)


def arriving_lines(stream: BinaryIO, file: str | Path, longest: int = LONGEST_LINE) -> Iterator[list[bytes]]:
    """The lines of a stream as its bytes arrive: those that each piece completes, often none; without their LF.

    Raises:
        InputError: a line has more than `longest` bytes; no more of it is read.
    """
    number, begun, size = 0, [b""], 0
    while piece := stream.read1(PIECE):  # type: ignore[attr-defined]
        *lines, rest = piece.split(b"\n")
        # The other lines are shorter than a piece.
        if size + len(lines[0] if lines else rest) > longest:
            raise InputError(
                "a line that is too long",
                f"more than {longest:,} bytes, beginning {(b''.join(begun) + piece)[:40]!r}",
                f"at most {longest:,} bytes",
                "cut the line into sentences, and check that it is the file you meant",
                file=file,
                line=number + 1,
            )
        if lines:
            lines[0] = b"".join(begun) + lines[0]
            number, begun, size = number + len(lines), [], 0
        begun.append(rest)
        size += len(rest)
        yield lines
    if size:
        yield [b"".join(begun)]


def count_lines(path: str | Path) -> int:
    """Counts the lines of a text file; raises what `read_lines` raises."""
    return sum(1 for _ in iterate_lines(path))


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Writes lines as UTF-8 with LF ends, packed if the name ends in .gz, .xz, .bz2 or .zst, completely or not at all.

    Raises:
        InputError: a line holds an LF, so it would become two lines.
    """
    with atomic_write(path) as stream:
        for number, line in enumerate(lines, 1):
            if "\n" in line:
                raise InputError("a line end inside a line", repr(line), file=path, line=number)
            stream.write(line.encode() + b"\n")


def join_files(path: Path, parts: Iterable[Path]) -> None:
    """Writes the contents of plain files one after the other, packed as the name says."""
    with atomic_write(path) as stream:
        for part in parts:
            with part.open("rb") as lines:
                shutil.copyfileobj(lines, stream)


def write_file(path: str | Path, content: str | bytes) -> None:
    """Writes a file completely or not at all; text as UTF-8."""
    with atomic_write(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a binary stream to a file that gets its name `path` only when it is complete.

    The file is written under a temporary name in the same folder, flushed to disk and renamed; after an error nothing
    is left. Files with names ending in .gz, .xz, .bz2 or .zst are packed, without a time stamp, so equal content gives
    equal bytes. If the name is a symbolic link, the file it leads to is replaced. `-` is standard output; devices,
    FIFOs, sockets and open descriptors (`/dev/fd/3`, `/dev/stdout`) are written in place.

    Raises:
        InputError: no file can have such a name.
        OSError: the file cannot be written; the error names it.
    """
    given, path = path, checked_name(path)
    number = _descriptor(given)
    in_place = _in_place(path) if number is None else _duplicate(number)
    with naming_file("standard output" if number == 1 else path), in_place or _aside(path) as raw:
        packing = named_packing(path)
        if packing is None:
            yield raw
        else:
            with packing.writer(raw) as packed:
                yield packed


@contextlib.contextmanager
def naming_file(path: str | Path) -> Iterator[None]:
    """Adds this file's name to errors of the operating system that name none."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def _aside(path: Path) -> Iterator[BinaryIO]:
    """A stream to a temporary file that is renamed to `path` at the end."""
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_left_once(Path(os.path.abspath(path.parent)))
    aside = name_aside(path)
    try:
        with aside.open("xb") as raw:
            try:
                yield cast(BinaryIO, raw)
            except OSError as error:
                if error.errno is None:
                    # NumPy reports that it could not write a complete array, but not why; writing one more byte shows.
                    os.write(raw.fileno(), b"\0")
                raise
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(aside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        if isinstance(error, OSError) and error.filename == str(aside):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        done_aside(aside)


def _in_place(path: Path) -> contextlib.AbstractContextManager[BinaryIO] | None:
    """A stream into a device, FIFO or socket; None for a plain file or a new one.

    Raises:
        IsADirectoryError: it is a folder.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return None if stat.S_ISREG(mode) else cast(BinaryIO, os.fdopen(os.open(path, os.O_WRONLY), "wb"))


@contextlib.contextmanager
def _duplicate(number: int) -> Iterator[BinaryIO]:
    """A stream into an open descriptor, at its position and in its mode; the descriptor stays open."""
    if number == 1 and sys.stdout is not None:
        sys.stdout.flush()
    with os.fdopen(os.dup(number), "wb") as stream:
        yield cast(BinaryIO, stream)


def _descriptor(path: str | Path) -> int | None:
    """The open descriptor that a name refers to, directly or through symbolic links; None for any other name."""
    name = str(path)
    if name == "-":
        return 1
    for _ in range(MOST_LINKS):
        found = _DESCRIPTOR.fullmatch(os.path.abspath(name))
        if found is not None and found["process"] in (None, "self", str(os.getpid())):
            return int(found["number"] or {"out": 1, "err": 2}[found["stream"]])
        if not os.path.islink(name):
            break
        name = os.path.join(os.path.dirname(name), os.readlink(name))
    return None


def not_utf8(file: str | Path, line: int, error: UnicodeDecodeError) -> InputError:
    """The error for a line that is not UTF-8."""
    return InputError(
        "not UTF-8",
        error.object[max(0, error.start - 10) : error.start + 10],
        "UTF-8 text",
        "convert the file, for example with iconv -t UTF-8",
        file=file,
        line=line,
    )


def unreadable(
    file: str | Path,
    error: OSError,
    expected: str = "a readable text file",
    remedy: str = "check the name",
    message: str = "cannot be read",
) -> InputError:
    """The error for a file that cannot be read.

    Raises:
        OSError: the error itself, if it is not the fault of the file: too many open files, no memory, a full disk.
    """
    if error.errno in OF_THE_MACHINE:
        error.filename = error.filename or str(file)
        raise error
    return InputError(message, error.strerror or error, expected, remedy, file=file)


def check_sides(source: str | Path, source_lines: int, target: str | Path, target_lines: int) -> None:
    """Checks that two sides have the same number of lines.

    Raises:
        InputError: they do not.
    """
    if source_lines != target_lines:
        raise InputError(
            "sides of unequal length",
            f"{source_lines} lines in {source}, {target_lines} in {target}",
            "the same number of lines on both sides",
            "only LF ends a line here: check for lines cut or joined by another tool",
            file=source,
            line=min(source_lines, target_lines) + 1,
        )


def read_references(paths: Sequence[str | Path], expected: int) -> list[list[str]]:
    """Reads reference files; returns one list of lines per file.

    Raises:
        InputError: a file does not have the expected number of lines.
    """
    references = []
    for path in paths:
        lines = read_lines(path)
        check_length(path, len(lines), expected)
        references.append(lines)
    return references


def check_length(path: str | Path, lines: int, expected: int, what: str = "a reference") -> None:
    """Checks that a file that goes with a text has as many lines as the text.

    Raises:
        InputError: it does not; the message says `what` it is.
    """
    if lines != expected:
        raise InputError(
            f"{what} of a different length",
            f"{lines} line{'s' * (lines != 1)}",
            f"{expected} line{'s' * (expected != 1)}, one per sentence",
            "check that this file belongs to the same text",
            file=path,
            line=min(lines, expected) + 1,
        )


def drop_unusable(
    source: Sequence[Sequence[str]], target: Sequence[Sequence[str]], *, max_words: int
) -> tuple[list[int], dict[str, int]]:
    """The numbers of the tokenised pairs that can be trained on, and how many were left out for each reason.

    A pair is left out if a side has no words or more than `max_words`.
    """
    kept, empty, long = [], 0, 0
    for number, (left, right) in enumerate(zip(source, target, strict=True)):
        if not left or not right:
            empty += 1
        elif max(len(left), len(right)) > max_words:
            long += 1
        else:
            kept.append(number)
    return kept, {"an empty side": empty, f"more than {max_words} words": long}
