"""Opening files and pipes: plain, or packed by gzip, xz, bzip2 or zstd; errors name archives and other packings."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from xlate.errors import InputError

BUFFER = 1 << 20
# The bytes that are packed, or cut into lines, at a time.
PIECE = 1 << 16
# A packed file that unpacks to more than this many bytes and more than this many times its own size is not text.
MOST_UNPACKED, MOST_TIMES = 1 << 26, 500
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")


# Part of Python from 3.14 on.
ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


@dataclass(frozen=True)
class Packing:
    """One way to pack a stream.

    Attributes:
        name: the name of the packing, and of the tool that unpacks and checks such a file.
        suffix: the end of such files' names.
        magic: their first bytes.
        module: the module that does it, of Python's library or of a package.
    """

    name: str
    suffix: str
    magic: bytes
    module: str

    def packed(self, begin: bytes) -> bool:
        """Whether a stream that begins with `begin` is packed in this way."""
        # Text may begin with the first three bytes of bzip2; bzip2's block or end marks distinguish it.
        return begin.startswith(self.magic) and (self.suffix != ".bz2" or begin[4:10] in _BZIP2_BLOCKS)

    def library(self) -> Any:
        """The module.

        Raises:
            InputError: its package is not installed.
        """
        try:
            return import_module(self.module)
        except ModuleNotFoundError as error:
            remedy = f'pip install "xlate[lists]", or use {self.name} -d yourself'
            raise InputError(f"{self.name} needs a package that is not installed", self.module, None, remedy) from error

    @contextlib.contextmanager
    def writer(self, raw: BinaryIO) -> Iterator[BinaryIO]:
        """A stream whose bytes are packed into another; equal bytes give equal output."""
        packed: io.BufferedIOBase
        if self.suffix == ".gz":
            import gzip

            packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
        else:
            library = self.library()
            # Only zstd has to be told to write checksums.
            checked = {"options": {library.CompressionParameter.checksum_flag: 1}} if self.suffix == ".zst" else {}
            packed = library.open(raw, "wb", **checked)
        # Packing has a cost per piece, and lines are small pieces.
        with packed, io.BufferedWriter(cast(io.RawIOBase, packed), PIECE) as pieces:
            yield pieces


PACKINGS = (
    Packing("gzip", ".gz", b"\x1f\x8b", "gzip"),
    Packing("xz", ".xz", b"\xfd7zXZ\0", "lzma"),
    Packing("bzip2", ".bz2", b"BZh", "bz2"),
    Packing("zstd", ".zst", b"\x28\xb5\x2f\xfd", ZSTD),
)
SUFFIXES = tuple(packing.suffix for packing in PACKINGS)
# Packings that are not supported: first bytes, name, and the command that converts the file.
_OTHERS = (
    (b"PK\x03\x04", "zip archive", "unzip -p FILE | gzip > FILE.gz"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive", "7z x -so FILE | gzip > FILE.gz"),
)
# The number of bytes that identify a packing, and the first two bytes of every packing.
LONGEST_MAGIC = 10
PACKED_BEGINS = frozenset(magic[:2] for magic in (*(p.magic for p in PACKINGS), *(other[0] for other in _OTHERS)))


def packing_of(path: Path, begin: bytes) -> Packing | None:
    """How a file is packed, according to its first bytes; None for plain text.

    Raises:
        InputError: it is packed in another way, or its name indicates a packing that it does not have.
    """
    for magic, name, command in _OTHERS:
        if begin.startswith(magic):
            raise InputError(
                f"a {name}",
                repr(begin[:LONGEST_MAGIC]),
                "plain text, or text packed with gzip, xz, bzip2 or zstd",
                f"unpack it, for example {command.replace('FILE', path.name)}",
                file=path,
            )
    found = next((packing for packing in PACKINGS if packing.packed(begin)), None)
    named = named_packing(path)
    if named is not None and found is None:
        article = "an" if named.name[0] == "x" else "a"
        raise InputError(
            f"not {article} {named.name} file",
            repr(begin[:2]) if begin else "an empty file",
            f"{named.name} data under a name ending in {named.suffix}",
            "rename or compress the file, or copy it again",
            file=path,
        )
    return found


def named_packing(path: Path) -> Packing | None:
    """The packing that the name of a file indicates."""
    return next((packing for packing in PACKINGS if packing.suffix == path.suffix), None)


def packed_beside(path: Path) -> Path:
    """The file itself or, if it does not exist, a packed one with an ending added; itself if neither exists."""
    beside = (path.parent / f"{path.name}{suffix}" for suffix in SUFFIXES)
    return path if path.exists() else next((packed for packed in beside if packed.exists()), path)


class DamagedStream(InputError):
    """A packed stream that is cut off or damaged; readers of lines add the line that could not be read."""


def checked_name(path: str | Path) -> Path:
    """Returns the path if a file can have such a name.

    Raises:
        InputError: the path holds a NUL character.
    """
    if "\0" in str(path):
        raise InputError("not a possible file name", "a NUL character", "a file name", file=repr(str(path)))
    return Path(path)


def plain_file(path: str | Path) -> Path:
    """Returns the path if it is a file that can be read again without a writer, or if nothing exists there.

    Raises:
        InputError: it is a pipe or the like.
    """
    path = checked_name(path)
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise InputError(
            "can be read only once, but a file is needed",
            "a pipe or a device",
            "a plain file",
            "write it to a file first",
            file=path,
        )
    return path


@contextlib.contextmanager
def open_unpacked(path: str | Path) -> Iterator[BinaryIO]:
    """Opens the bytes of a file or pipe; its first bytes show whether it is plain, gzip, xz, bzip2 or zstd.

    `-` is standard input, which is kept in a temporary file when first opened, so that it can be read again.

    Raises:
        InputError: the name indicates a packing that the content does not have, it is an archive or packed in another
            way, or no file can have such a name; (when read) it unpacks to an implausible size.
        OSError: it cannot be read.
        DamagedStream: (when read) it is packed and damaged.
    """
    path = checked_name(path)
    with (standard_input() if str(path) == "-" else path).open("rb") as raw:
        # Enough to recognise the packing; for text that arrives slowly, only two bytes are awaited.
        begin = raw.read(2)
        if begin in PACKED_BEGINS:
            begin += raw.read(LONGEST_MAGIC - 2)
        packing, begun = packing_of(path, begin), _Begun(begin, raw)
        if packing is None and raw.seekable():
            raw.seek(0)
            yield cast(BinaryIO, raw)
            return
        stream = cast(BinaryIO, io.BufferedReader(begun, BUFFER))
        if packing is None:
            yield stream
            return
        try:
            with cast(BinaryIO, packing.library().open(stream, "rb")) as unpacked:
                yield cast(BinaryIO, io.BufferedReader(_Unpacked(unpacked, begun, path), BUFFER))
        except Exception as error:
            # bzip2 raises an OSError without a number, and so does a wrong checksum in gzip.
            unnumbered = isinstance(error, OSError) and error.errno is None
            if (
                unnumbered
                or isinstance(error, EOFError | zlib.error)
                or type(error).__name__ in ("LZMAError", "ZstdError")
            ):
                raise DamagedStream(
                    f"truncated or damaged {packing.name} file",
                    str(error),
                    f"a complete {packing.name} stream",
                    f"copy or compress the file again, and check it with {packing.name} -t",
                    file=path,
                ) from error
            raise


@functools.cache
def standard_input() -> Path:
    """The name under which what came through standard input can be opened, as often as needed.

    Raises:
        InputError: standard input is closed.
    """
    if sys.stdin is None:
        raise InputError("closed", file="standard input", expected="something to read", remedy="give a file")
    number, name = tempfile.mkstemp()
    os.unlink(name)
    with os.fdopen(number, "wb", closefd=False) as spool:
        shutil.copyfileobj(sys.stdin.buffer, spool, BUFFER)
    return Path(f"/dev/fd/{number}")


class _Begun(io.RawIOBase):
    """A stream with the bytes already read put back in front; `taken` counts the bytes taken from it."""

    def __init__(self, begin: bytes, rest: io.BufferedReader) -> None:
        self._begin, self._rest, self.taken = begin, rest, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        some = self._begin or self._rest.read1(len(buffer))
        self._begin = some[len(buffer) :] if self._begin else b""
        some = some[: len(buffer)]
        buffer[: len(some)] = some
        self.taken += len(some)
        return len(some)


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a packed stream.

    Raises:
        InputError: (when read) it unpacks to far more than any text does.
    """

    def __init__(self, unpacked: BinaryIO, packed: _Begun, path: Path) -> None:
        self._unpacked, self._packed, self._path, self._size = unpacked, packed, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        some = self._unpacked.readinto(buffer)  # type: ignore[attr-defined]
        self._size += some
        if self._size > max(MOST_UNPACKED, MOST_TIMES * self._packed.taken):
            raise InputError(
                "unpacks to an implausible size",
                f"{self._size:,} bytes or more from {self._packed.taken:,}",
                f"at most {MOST_UNPACKED:,} bytes, or {MOST_TIMES} times the packed size",
                "if it is the right file, unpack it and give the unpacked file",
                file=self._path,
            )
        return int(some)
