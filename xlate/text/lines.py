"""Lines of text files, read strictly and written whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from xlate.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"


def read_lines(path: str | Path) -> list[str]:
    """Reads a UTF-8 text file, plain or gzip, split at LF and at nothing else.

    A bare CR, U+2028, NEL and their like are characters of a line, not line ends. A last line without LF counts.

    Raises:
        InputError: the file is missing, a truncated or damaged .gz, or not UTF-8 (with the line).
    """
    return list(iterate_lines(path))


def iterate_lines(path: str | Path) -> Iterator[str]:
    """Yields the lines of a file one by one; see `read_lines` for what a line is and what is raised."""
    path = Path(path)
    number = 0
    try:
        with _open_binary(path) as stream:
            for raw in stream:
                number += 1
                yield raw.removesuffix(b"\n").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            "not UTF-8",
            file=path,
            line=number,
            seen=error.object[max(0, error.start - 10) : error.start + 10],
            expected="UTF-8 text, plain or gzip",
            remedy="convert the file, for example with iconv -t UTF-8",
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            "truncated or damaged gzip file",
            file=path,
            line=number + 1,
            seen=str(error),
            expected="a complete gzip stream",
            remedy="copy or compress the file again, and check it with gzip -t",
        ) from error


def count_lines(path: str | Path) -> int:
    """Counts the lines of a text file; raises what `read_lines` raises."""
    return sum(1 for _ in iterate_lines(path))


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Writes lines as UTF-8 with LF ends, gzip when the name ends in .gz, whole or not at all.

    Raises:
        InputError: a line holds an LF, which would become two lines.
    """
    with atomic_write(path) as stream:
        for number, line in enumerate(lines, start=1):
            if "\n" in line:
                raise InputError("a line end inside a line", file=path, line=number, seen=repr(line))
            stream.write(line.encode("utf-8") + b"\n")


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a binary stream that appears under `path` only once it was written whole.

    Written aside in the same folder, flushed to disk and renamed; after an error nothing is left. Names ending in .gz
    are compressed with a zero time stamp, so that equal content gives equal bytes.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Cut short, so that the longest names still leave room for the random part.
    handle, aside = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield cast(BinaryIO, raw)
            raw.flush()
            os.fsync(raw.fileno())
        os.chmod(aside, 0o666 & ~_umask())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _open_binary(path: Path) -> Iterator[BinaryIO]:
    try:
        raw = path.open("rb")
    except OSError as error:
        raise InputError(
            "cannot be read", file=path, seen=error.strerror, expected="a readable text file", remedy="check the name"
        ) from error
    with raw:
        magic = raw.read(2)
        raw.seek(0)
        if magic == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=raw, mode="rb") as packed:
                yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, packed), 1 << 20))
        else:
            if path.suffix == ".gz":
                raise _no_gzip(path, magic)
            yield raw


def _no_gzip(path: Path, magic: bytes) -> InputError:
    return InputError(
        "not a gzip file",
        file=path,
        seen=repr(magic) if magic else "an empty file",
        expected="gzip data under a name ending in .gz",
        remedy="rename or compress the file, or copy it again",
    )
