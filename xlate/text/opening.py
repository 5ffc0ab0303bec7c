"""Opening files for reading: plain or gzip, and pipes too."""

from __future__ import annotations

import contextlib
import gzip
import io
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from xlate.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
BUFFER = 1 << 20


def checked_name(path: str | Path) -> Path:
    """Returns the path if a file can have it.

    Raises:
        InputError: the path holds a NUL character.
    """
    if "\0" in str(path):
        raise InputError(
            "no file has such a name", file=repr(str(path)), seen="a NUL character", expected="a file name"
        )
    return Path(path)


def check_read_again(path: str | Path) -> None:
    """Checks that a file can be read twice.

    Raises:
        InputError: it is a pipe or the like, which can be read only once. OSError: it does not exist.
    """
    mode = checked_name(path).stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(
            "can be read only once, and is needed twice",
            file=path,
            seen="a pipe or a device",
            expected="a file, plain or gzip",
            remedy="write it to a file first",
        )


@contextlib.contextmanager
def open_unpacked(path: str | Path) -> Iterator[BinaryIO]:
    """Opens the bytes of a file or pipe; its first bytes tell whether it is plain or gzip.

    Raises:
        InputError: the name ends in .gz and the content is not gzip, or no file can have such a name.
        OSError: it cannot be read.
        EOFError, zlib.error: (when read) it is a damaged gzip file.
    """
    path = checked_name(path)
    with path.open("rb") as raw:
        magic = raw.read(2)
        if raw.seekable():
            raw.seek(0)
            stream = cast(BinaryIO, raw)
        else:
            stream = cast(BinaryIO, io.BufferedReader(_Begun(magic, raw), BUFFER))
        if magic == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=stream, mode="rb") as packed:
                yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, packed), BUFFER))
        else:
            if path.suffix == ".gz":
                raise _no_gzip(path, magic)
            yield stream


class _Begun(io.RawIOBase):
    """A stream that cannot go back, with the bytes that were already read put in front again."""

    def __init__(self, begin: bytes, rest: io.BufferedReader) -> None:
        self._begin, self._rest = begin, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        some = self._begin or self._rest.read1(len(buffer))
        self._begin = some[len(buffer) :] if self._begin else b""
        some = some[: len(buffer)]
        buffer[: len(some)] = some
        return len(some)


def _no_gzip(path: Path, magic: bytes) -> InputError:
    return InputError(
        "not a gzip file",
        file=path,
        seen=repr(magic) if magic else "an empty file",
        expected="gzip data under a name ending in .gz",
        remedy="rename or compress the file, or copy it again",
    )
