"""Opening files for reading: plain or packed, and pipes too."""

from __future__ import annotations

import contextlib
import io
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from xlate.errors import InputError
from xlate.text.packing import LONGEST_MAGIC, PACKINGS, naming_damage, packing_of

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
            expected="a file",
            remedy="write it to a file first",
        )


@contextlib.contextmanager
def open_unpacked(path: str | Path) -> Iterator[BinaryIO]:
    """Opens the bytes of a file or pipe; its first bytes tell whether it is plain, gzip, xz or bzip2.

    Raises:
        InputError: the name tells of a packing that the content does not have, it is an archive or packed in another
            way, or no file can have such a name.
        OSError: it cannot be read.
        DamagedStream: (when read) it is packed and damaged.
    """
    path = checked_name(path)
    with path.open("rb") as raw:
        begin = _first_bytes(raw)
        if raw.seekable():
            raw.seek(0)
            stream = cast(BinaryIO, raw)
        else:
            stream = cast(BinaryIO, io.BufferedReader(_Begun(begin, raw), BUFFER))
        packing = packing_of(path, begin)
        if packing is None:
            yield stream
            return
        with naming_damage(path, packing), packing.reader(stream) as unpacked:
            yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, unpacked), BUFFER))


def _first_bytes(raw: io.BufferedReader) -> bytes:
    """Enough to tell how a stream is packed; of text that comes slowly no more than two bytes are waited for."""
    begin = raw.read(2)
    told = (
        any(packing.magic.startswith(begin) for packing in PACKINGS) or not begin.isascii() or begin in (b"PK", b"7z")
    )
    return begin + raw.read(LONGEST_MAGIC - 2) if told and len(begin) == 2 else begin


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
