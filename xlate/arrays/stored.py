"""Folders of arrays: .npy files, and a header with the type, size and SHA-256 of each.

`header.json` contains `magic`, `version` (of this format), `kind`, `metadata`, `arrays` (by name: dtype, shape, size of
the file, SHA-256 of the values), `files` (other files that belong to the folder: size, SHA-256) and the SHA-256 of all
this. It is written last: a folder without a header is not complete.

The user's cache folder records which folders passed their check, so each is checked once per machine. A file counts as
unchanged as long as its path, device, inode, size and times are the same. If nothing can be recorded, everything is
checked each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from xlate.array_types import AnyArray
from xlate.errors import InputError
from xlate.text.folders import check_fields, read_json, write_json
from xlate.text.lines import atomic_write, unreadable, write_file
from xlate.text.vocabulary import EncodedText

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

STEP, LEAST = 64, 128
# The header needs room for two dimensions of 19 digits each.
WIDEST = (10**19 - 1, 10**19 - 1)


class ArrayStream:
    """Writes an array row by row to a stream, so that only a few rows are in memory at a time."""

    def __init__(self, stream: BinaryIO, dtype: np.dtype[Any], columns: Sequence[int] = ()) -> None:
        """Reserves space for the header.

        Args:
            stream: a seekable stream at its beginning.
            dtype: the type of the array. columns: its shape without the number of rows.
        """
        self.rows = 0
        self.stream = stream
        self._dtype = np.dtype(dtype)
        self.columns = tuple(columns)
        self._digest = hashlib.sha256()
        stream.write(b" " * header_bytes(self._dtype))

    def append(self, rows: AnyArray) -> None:
        """Appends rows."""
        values = np.ascontiguousarray(rows, self._dtype)
        self.rows += len(values)
        flat = values.reshape(-1).view(np.uint8).data
        self._digest.update(flat)
        self.stream.write(flat)

    def finish(self) -> dict[str, Any]:
        """Writes the header and flushes to disk; returns the array's entry for the header of its folder: dtype, shape,
        bytes and SHA-256.
        """
        shape = [self.rows, *self.columns]
        size = self.stream.tell()
        self.stream.seek(0)
        self.stream.write(npy_header(self._dtype, shape))
        self.stream.flush()
        os.fsync(self.stream.fileno())
        return {
            "dtype": np.lib.format.dtype_to_descr(self._dtype),
            "shape": shape,
            "bytes": size,
            "sha256": self._digest.hexdigest(),
        }


def npy_header(dtype: np.dtype[Any], shape: Sequence[int]) -> bytes:
    """The beginning of a .npy file of version 1; it has the same length for all shapes of up to two dimensions."""
    size = header_bytes(dtype)
    text = _dictionary(dtype, shape).ljust(size - 11)
    return b"\x93NUMPY\x01\x00" + (size - 10).to_bytes(2, "little") + text + b"\n"


def header_bytes(dtype: np.dtype[Any]) -> int:
    """The length of the .npy header for arrays of a type."""
    needed = 11 + len(_dictionary(dtype, WIDEST))
    return max(LEAST, -(-needed // STEP) * STEP)


def values_sha256(path: Path, offset: int) -> str:
    """The SHA-256 of a file's bytes from `offset` on."""
    with path.open("rb") as stream:
        stream.seek(offset)
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _dictionary(dtype: np.dtype[Any], shape: Sequence[int]) -> bytes:
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    sizes = ", ".join(map(str, shape))
    return f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': ({sizes},), }}".encode()


# A file changed again within this time may keep its time stamp.
RECENT_NS = 100_000_000
# The depth of a check: only checksums, or also the ranges of values.
SUMS, RANGES = DEPTHS = ("sums", "ranges")


def check_once(folder: Path, files: Sequence[str], seal: str, depth: str, check: Callable[[], None]) -> None:
    """Calls `check` unless it has already passed on these files of the folder, unchanged and with the same seal.

    `depth`, one of `DEPTHS`, is the depth of the check; files that passed a deeper check pass. Exceptions from `check`
    are passed on, and then nothing is recorded.
    """
    caches = os.environ.get("XDG_CACHE_HOME", ""), os.path.join(os.environ.get("HOME", ""), ".cache")
    cache = next(filter(os.path.isabs, caches), None)
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
    record = None if cache is None else Path(cache, "xlate", "verified", name[:2], name)
    stamp, known = _stamp(folder, files, seal), None
    if record is not None:
        with contextlib.suppress(OSError, ValueError):
            known = record.read_text(encoding="utf-8")
    if stamp is not None and known in [stamp + deep for deep in DEPTHS[DEPTHS.index(depth) :]]:
        return
    check()
    if stamp is None or record is None:
        return
    limit = time.time_ns() - RECENT_NS
    with contextlib.suppress(OSError, ValueError):
        recent = any(os.stat(folder / name).st_mtime_ns > limit for name in files)
        if not recent and _stamp(folder, files, seal) == stamp:
            write_file(record, stamp + depth)


def _stamp(folder: Path, files: Sequence[str], seal: str) -> str | None:
    rows: list[list[object]] = [[str(folder.resolve()), seal]]
    try:
        for name in files:
            found = os.stat(folder / name)
            rows.append([name, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns])
    except OSError:
        return None
    return json.dumps(rows)


MAGIC = "xlate-arrays"
# Version 1 had no checksums.
VERSION = 2
HEADER = "header.json"
# The dtype and the number of dimensions of each array in a kind of folder, by name.
Layout = Mapping[str, tuple[Any, int]]


# How arrays of each short type are stored.
DTYPES = {
    "Ints": "<i8",
    "Ints32": "<i4",
    "Ints16": "<i2",
    "Uints": "<u8",
    "Floats": "<f8",
    "Floats32": "<f4",
    "Bools": "|b1",
}


def layout_of(kind: type[DataclassInstance]) -> tuple[Layout, Layout]:
    """The arrays in which a dataclass of arrays and texts is stored: the required ones, and the optional ones.

    A field's type gives the dtype, the end of its name the dimensions: a letter or a number of columns for each; a 1
    after a letter means one more. A text is stored as ids and offsets. Other fields are not arrays.
    """
    always: dict[str, tuple[Any, int]] = {}
    perhaps: dict[str, tuple[Any, int]] = {}
    for field in fields(kind):
        written, optional, _ = str(field.type).partition(" | ")
        if written == "EncodedText":
            always |= {f"{field.name}_ids": (DTYPES["Ints32"], 1), f"{field.name}_offsets": (DTYPES["Ints"], 1)}
        elif written in DTYPES:
            dimensions = len(field.name.rpartition("_")[2].replace("1", ""))
            (perhaps if optional else always)[field.name] = DTYPES[written], dimensions
    return always, perhaps


def arrays_of(whole: DataclassInstance) -> dict[str, AnyArray]:
    """The required arrays of a dataclass of arrays and texts, as they are stored."""
    arrays: dict[str, AnyArray] = {}
    for field in fields(whole):
        value = getattr(whole, field.name)
        if field.type == "EncodedText":
            arrays |= {f"{field.name}_ids": value.ids_T, f"{field.name}_offsets": value.offsets_S1}
        elif field.type in DTYPES:
            arrays[field.name] = value
    return arrays


@dataclass(frozen=True)
class StoredArrays:
    """The arrays of a folder. By default they are memory-mapped, so that they may be larger than memory."""

    folder: Path
    arrays: Mapping[str, AnyArray]
    metadata: Mapping[str, Any]

    def __getitem__(self, name: str) -> AnyArray:
        """The array with this name."""
        return self.arrays[name]

    def fields(self) -> dict[str, Any]:
        """The arrays and texts as the fields of the dataclass that was given to `arrays_of`."""
        values: dict[str, Any] = dict(self.arrays)
        for ids in [name for name in values if name.endswith("_ids")]:
            text = ids.removesuffix("_ids")
            values[text] = EncodedText(values.pop(ids), values.pop(f"{text}_offsets"))
        return values

    def number(self, name: str) -> int:
        """A whole number of 0 or more in the metadata.

        Raises:
            InputError: the metadata has no such number.
        """
        value = self.metadata.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise unusable(self.folder / HEADER, "damaged", f"{name}: {value!r}", "a whole number, 0 or more")
        return value


def begin_folder(folder: str | Path) -> Path:
    """Makes a folder for arrays and what belongs to them, or removes its header: from now on it is not complete."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / HEADER).unlink(missing_ok=True)
    return folder


def save_arrays(
    folder: str | Path,
    kind: str,
    arrays: Mapping[str, AnyArray],
    metadata: Mapping[str, Any] | None = None,
    files: Sequence[str] = (),
) -> None:
    """Writes arrays into a folder; `files` name other files in it that belong to them and get checksums too."""
    folder, entries = begin_folder(folder), {}
    for name, array in arrays.items():
        # Written under another name first: a reader keeps the file that it has mapped.
        with atomic_write(folder / f"{name}.npy") as stream:
            written = ArrayStream(stream, array.dtype, array.shape[1:])
            written.append(array)
            entries[name] = written.finish()
    write_header(folder, kind, entries, metadata, files)


def write_header(
    folder: Path,
    kind: str,
    entries: Mapping[str, Mapping[str, Any]],
    metadata: Mapping[str, Any] | None,
    files: Sequence[str] = (),
) -> None:
    """Writes the header, which completes a folder; `entries` are what `ArrayStream.finish` returned for its arrays."""
    described = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": values_sha256(folder / name, 0)} for name in files
    }
    body = {
        "magic": MAGIC,
        "version": VERSION,
        "kind": kind,
        "metadata": dict(metadata or {}),
        "arrays": dict(entries),
        "files": described,
    }
    write_json(folder / HEADER, {**body, "sha256": seal(body)})


def open_arrays(
    folder: str | Path,
    kind: str,
    layout: Layout,
    check: Callable[[StoredArrays], None] | None = None,
    *,
    optional: Sequence[str] = (),
    mapped: bool = True,
) -> StoredArrays:
    """Opens a folder of arrays. The first time on a machine, checksums are compared and `check` is called.

    Args:
        folder: the folder.
        kind: the kind of arrays that it must hold.
        layout: the arrays that this kind has; those named in `optional` may be missing.
        check: checks that the values are in range, and raises InputError if not.
        mapped: whether they are mapped from their files, read-only, or read into memory.

    Raises:
        InputError: there is no such folder, it has another kind or version, or a file is missing, damaged or of another
            size.
    """
    folder = Path(folder)
    header = read_header(folder, kind)
    # Names, types and dimensions, since kernels are compiled for one type only.
    for name in layout.keys() - header["arrays"].keys() - set(optional):
        raise unusable(folder / HEADER, "an array is missing", f"no {name}", ", ".join(layout))
    for name, entry in header["arrays"].items():
        if name not in layout:
            raise unusable(folder / HEADER, "an array that does not belong here", name, ", ".join(layout))
        (wanted, dimensions), dtype, shape = layout[name], _dtype(entry["dtype"]), entry["shape"]
        if (dtype, len(shape)) != (_dtype(wanted), dimensions):
            expected = f"{_dtype(wanted)} of {dimensions} dimensions"
            raise unusable(folder / f"{name}.npy", "a different kind of array", f"{dtype} of {len(shape)}", expected)
    # The files, and where in each the bytes begin whose checksum is recorded.
    places = [(f"{name}.npy", header_bytes(_dtype(entry["dtype"])), entry) for name, entry in header["arrays"].items()]
    places += [(name, 0, entry) for name, entry in header["files"].items()]
    for name, _, entry in places:
        _check_size(folder / name, entry["bytes"])
    arrays = {name: _open(folder / f"{name}.npy", entry, mapped) for name, entry in header["arrays"].items()}
    stored = StoredArrays(folder, arrays, header["metadata"])

    def look_through() -> None:
        for name, offset, entry in places:
            try:
                seen = values_sha256(folder / name, offset)
            except OSError as error:
                raise unreadable(folder / name, error, "an intact file", remedy_for(folder)) from error
            if seen != entry["sha256"]:
                raise unusable(folder / name, "damaged: its checksum differs", seen, entry["sha256"])
        if check is not None:
            check(stored)

    files = [HEADER, *(name for name, *_ in places)]
    check_once(folder, files, header["sha256"], SUMS if check is None else RANGES, look_through)
    return stored


def is_whole(folder: Path) -> bool:
    """Whether a folder contains all its arrays as they were written; the ranges of values are not checked.

    Files that have passed before are not read again.
    """
    try:
        kind = read_json(folder / HEADER, "a header", "").get("kind")
        entries = read_header(folder, str(kind))["arrays"]
        open_arrays(folder, str(kind), {name: (entry["dtype"], len(entry["shape"])) for name, entry in entries.items()})
    except (InputError, KeyError, TypeError):
        return False
    return True


def read_header(folder: Path, kind: str) -> dict[str, Any]:
    """The header of a folder of arrays.

    Raises:
        InputError: there is none, or it is damaged or of another kind or version.
    """
    path, form = folder / HEADER, f"a {kind} of version {VERSION}"
    if not path.exists() and any(folder.glob("*.npy")):
        message = f"not a complete {kind}, or one of an earlier version, without checksums"
        raise unusable(path, message, "arrays without a header", form)
    header = read_json(path, form, remedy_for(folder))
    if header.get("magic") != MAGIC:
        of_old = any(str(header.get(key, "")).startswith("xlate") for key in ("magic", "format"))
        message = f"a {kind} of an earlier version, without checksums" if of_old else f"not a {kind}"
        raise unusable(path, message, header.get("format", header.get("magic")), form)
    if header.get("version") != VERSION:
        raise unusable(path, f"a {kind} of a different version", header.get("version"), f"version {VERSION}")
    if header.get("sha256") != seal({key: value for key, value in header.items() if key != "sha256"}):
        raise unusable(path, "damaged", "its checksum differs", "an intact header")
    if header.get("kind") != kind:
        raise unusable(path, f"not a {kind}", header.get("kind"), kind)
    check_fields(header, {"metadata": dict, "arrays": dict, "files": dict}, path, remedy_for(folder))
    for name, entry in [*header["arrays"].items(), *header["files"].items()]:
        _check_entry(path, name, entry, name in header["arrays"])
    return header


def _check_entry(path: Path, name: str, entry: Any, is_array: bool) -> None:
    fits = isinstance(entry, dict) and "/" not in name and isinstance(entry.get("sha256"), str)
    sizes = [entry.get("bytes")] if fits else []
    if fits and is_array:
        shape = entry.get("shape")
        fits = isinstance(shape, list) and len(shape) > 0
        sizes += shape if fits else []
        try:
            _dtype(entry.get("dtype"))
        except (TypeError, ValueError, SyntaxError):
            fits = False
    if not fits or not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise unusable(path, "damaged", f"{name}: {entry}", "its dtype, shape, size and checksum")


def seal_of(folder: str | Path, kind: str) -> str:
    """The SHA-256 of everything in a folder of arrays, from its header.

    Raises:
        InputError: there is no usable header.
    """
    return str(read_header(Path(folder), kind)["sha256"])


def check_seals(stored: StoredArrays, **kinds: str) -> None:
    """Checks that the folders inside this one are those whose SHA-256 is in its metadata.

    Raises:
        InputError: one of them is another folder.
    """
    for name, kind in kinds.items():
        seen, expected = seal_of(stored.folder / name, kind), stored.metadata.get(name)
        if seen != expected:
            path = stored.folder / name / HEADER
            raise unusable(path, "does not belong to the folder above", seen, str(expected))


def seal(body: Mapping[str, Any]) -> str:
    """The SHA-256 of a header that does not contain it yet."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def save_part(path: Path, arrays: Sequence[AnyArray]) -> None:
    """Writes arrays into one file, with checksums, which holds a part of what a command makes."""
    with atomic_write(path) as stream:
        np.savez(stream, *arrays)


def load_part(path: Path, count: int) -> list[AnyArray]:
    """Reads so many arrays that `save_part` wrote.

    Raises:
        InputError: the file is missing or damaged.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            damaged = packed.testzip()
        if damaged is None:
            with np.load(path, allow_pickle=False) as held:
                return [held[f"arr_{number}"] for number in range(count)]
    except (OSError, ValueError, EOFError, KeyError, RuntimeError, struct.error, zipfile.BadZipFile) as error:
        damaged = str(error)
    raise InputError("a damaged part", damaged, "what was written", f"remove {path.parent}, and rerun", file=path)


def remedy_for(folder: Path) -> str:
    """What the user can do about a folder that cannot be used."""
    return f"make {folder} again with the command that wrote it, such as xlate prepare or xlate import"


def unusable(path: Path, message: str, seen: object, expected: str) -> InputError:
    """The error for a file of a folder of arrays that cannot be used."""
    return InputError(message, seen, expected, remedy_for(path.parent), file=path)


def _dtype(descr: Any) -> np.dtype[Any]:
    return np.dtype([tuple(field) for field in descr]) if isinstance(descr, list) else np.dtype(descr)


def _open(path: Path, entry: Mapping[str, Any], mapped: bool) -> AnyArray:
    dtype, shape = _dtype(entry["dtype"]), tuple(entry["shape"])
    wanted = npy_header(dtype, shape)
    try:
        with path.open("rb") as stream:
            seen = stream.read(len(wanted))
            if seen != wanted or len(wanted) + int(np.prod(shape)) * dtype.itemsize != entry["bytes"]:
                raise unusable(path, "damaged", repr(seen), repr(wanted))
            if 0 in shape or not mapped:
                array: AnyArray = np.fromfile(stream, dtype).reshape(shape)
                array.flags.writeable = not mapped
                return array
        # A plain array over the mapped file: numba would compile another version for the type np.memmap.
        return np.asarray(np.memmap(path, dtype, "r", len(wanted), shape))
    except OSError as error:
        raise unreadable(path, error, "an intact array", remedy_for(path.parent)) from error
    except InputError:
        raise
    except ValueError as error:
        raise unusable(path, "cannot be read", error, "an intact array") from error


def _check_size(path: Path, size: int) -> None:
    seen = path.stat().st_size if path.is_file() else None
    if seen != size:
        there = "no such file" if seen is None else f"{seen} bytes"
        raise unusable(path, "missing or of the wrong size", there, f"{size} bytes")
