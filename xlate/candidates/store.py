"""The candidate store: batches appended to plain .npy files, read back memory-mapped."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from xlate.candidates.batch import RaggedBatch
from xlate.errors import InputError
from xlate.text.folders import WholeFolder, without_mark
from xlate.text.lines import atomic_write, naming_file

MAGIC = "xlate-candidates"
VERSION = 1
STRANGERS = without_mark("header.json", f'"{MAGIC}"', r"header\.json|\w+\.npy|sparse_names\.gz")
REMEDY = "name another folder"
HEADER_BYTES = 128
DTYPES = {
    "candidate_offsets_I1": "<i8",
    "dense_CD": "<f4",
    "gain_CG": "<f4",
    "part_id_offsets_P1": "<i8",
    "part_ids_N": "<i4",
    "part_offsets_I1": "<i8",
    "candidate_part_offsets_C1": "<i8",
    "candidate_parts_K": "<i4",
    "part_values_N": "<f4",
    "base_C": "<f4",
}


class StoreWriter:
    """Writes a store batch by batch into a folder aside, which takes its final name when closed.

    Only the batch at hand is in memory. Used as a context manager it closes when all went well and leaves nothing
    behind otherwise. Files of the caller's own that belong to the store go into the folder `aside`.

    Raises:
        InputError: a folder stands under that name that is neither empty nor a candidate store.
    """

    def __init__(
        self,
        directory: str | Path,
        dense_names: Sequence[str],
        sparse_size: int,
        gain_names: Sequence[str] = ("gain",),
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.directory = Path(directory)
        self._whole = WholeFolder(self.directory, "a candidate store", STRANGERS, REMEDY)
        self.aside = self._whole.path
        self._described: dict[str, Any] = {
            "dense_names": list(dense_names),
            "gain_names": list(gain_names),
            "sparse_size": int(sparse_size),
            "metadata": metadata or {},
        }
        self._files: dict[str, BinaryIO] = {}
        self._rows: dict[str, int] = {}
        self._ends: dict[str, int] = {}

    def append(self, batch: RaggedBatch) -> None:
        """Adds a batch's instances behind those already written.

        Raises:
            ValueError: the batch does not fit itself, the names given, or the batches before it.
        """
        batch.validate()
        for name, names in (("dense_CD", "dense_names"), ("gain_CG", "gain_names")):
            if getattr(batch, name).shape[1] != len(self._described[names]):
                raise ValueError(f"{name}: {getattr(batch, name).shape[1]} columns, named {self._described[names]}")
        if len(batch.part_ids_N) and batch.part_ids_N.max() >= self._described["sparse_size"]:
            raise ValueError(
                f"part_ids_N: id {batch.part_ids_N.max()}, expected below {self._described['sparse_size']}"
            )
        present = {name for name in DTYPES if getattr(batch, name) is not None}
        if self._files and present != set(self._files):
            raise ValueError(f"arrays {sorted(present)}, the batches before had {sorted(self._files)}")
        for name in DTYPES:
            if name in present:
                self._append(name, getattr(batch, name))

    def close(self) -> None:
        """Completes the files and gives the folder its final name; an older store of that name is replaced."""
        if not self._files:
            self.append(_no_instances(len(self._described["dense_names"]), len(self._described["gain_names"])))
        arrays = {}
        for name, stream in self._files.items():
            shape = [self._rows[name], *self._columns(name)]
            with naming_file(self.directory / f"{name}.npy"):
                stream.seek(0)
                stream.write(_npy_header(DTYPES[name], shape))
                stream.flush()
                os.fsync(stream.fileno())
                stream.close()
            arrays[name] = {
                "dtype": DTYPES[name],
                "shape": shape,
                "bytes": (self.aside / f"{name}.npy").stat().st_size,
            }
        body = {"magic": MAGIC, "version": VERSION, **self._described, "arrays": arrays}
        with atomic_write(self.aside / "header.json") as header:
            header.write(json.dumps({**body, "checksum": _checksum(body)}, indent=1).encode())
        self._whole.keep()

    def discard(self) -> None:
        """Removes what was written so far."""
        for stream in self._files.values():
            with contextlib.suppress(OSError):
                stream.close()
        self._whole.discard()

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            try:
                self.close()
            except BaseException:
                self.discard()
                raise
        else:
            self.discard()

    def _columns(self, name: str) -> list[int]:
        named = {"dense_CD": "dense_names", "gain_CG": "gain_names"}.get(name)
        return [len(self._described[named])] if named else []

    def _append(self, name: str, array: NDArray[Any]) -> None:
        if name not in self._files:
            stream = (self.aside / f"{name}.npy").open("w+b")
            stream.write(b" " * HEADER_BYTES)
            self._files[name] = stream
            self._rows[name] = 0
            self._ends[name] = 0
            if "offsets" in name:
                self._write(name, np.zeros(1, dtype=np.int64))
        if "offsets" in name:
            moved = array[1:] + self._ends[name]
            self._ends[name] += int(array[-1])
            array = moved
        self._write(name, array)

    def _write(self, name: str, array: NDArray[Any]) -> None:
        with naming_file(self.directory / f"{name}.npy"):
            self._files[name].write(np.ascontiguousarray(array, dtype=DTYPES[name]).tobytes())
        self._rows[name] += len(array)


class CandidateStore:
    """A store opened for reading: its arrays are mapped, so it may be larger than memory."""

    def __init__(self, directory: Path, header: dict[str, Any], arrays: RaggedBatch) -> None:
        self.directory = directory
        self.arrays = arrays
        self.dense_names: list[str] = header["dense_names"]
        self.gain_names: list[str] = header["gain_names"]
        self.sparse_size: int = header["sparse_size"]
        self.metadata: dict[str, Any] = header["metadata"]

    @classmethod
    def open(cls, directory: str | Path) -> CandidateStore:
        """Opens and checks what `StoreWriter` wrote.

        Raises:
            InputError: no store, another version, a damaged header, a file missing or of another size, offsets that
                do not lead through the arrays. The values themselves are not read.
        """
        directory = Path(directory)
        header = _read_header(directory / "header.json")
        arrays = {name: _map(directory / f"{name}.npy", entry) for name, entry in header["arrays"].items()}
        batch = RaggedBatch(**arrays)
        _check_offsets(directory, batch)
        return cls(directory, header, batch)

    def __len__(self) -> int:
        """The number of instances."""
        return len(self.arrays)

    def batch(self, instances: Sequence[int] | NDArray[np.integer]) -> RaggedBatch:
        """The given instances in that order, copied out of the mapped files."""
        return self.arrays.select(instances)


def _no_instances(dense: int, gains: int) -> RaggedBatch:
    start = np.zeros(1, dtype=np.int64)
    rows = np.zeros((0, dense), dtype=np.float32), np.zeros((0, gains), dtype=np.float32)
    return RaggedBatch(start, *rows, start, np.zeros(0, dtype=np.int32))


def _npy_header(dtype: str, shape: list[int]) -> bytes:
    """A .npy version 1 header of fixed length, so that it can be rewritten when the shape is known."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}".encode()
    return b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little") + text.ljust(HEADER_BYTES - 11) + b"\n"


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _read_header(path: Path) -> dict[str, Any]:
    def refuse(message: str, seen: object, expected: str) -> InputError:
        return InputError(message, file=path, seen=seen, expected=expected, remedy="make the store again")

    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise refuse("not a candidate store", error.strerror, "a header") from error
    except ValueError as error:
        raise refuse("a damaged store header", error, "JSON") from error
    if not isinstance(header, dict) or header.get("magic") != MAGIC:
        raise refuse("not a candidate store", str(header)[:80], MAGIC)
    if header.get("version") != VERSION:
        raise refuse("a candidate store of another version", header.get("version"), f"version {VERSION}")
    body = {key: value for key, value in header.items() if key != "checksum"}
    if header.get("checksum") != _checksum(body):
        raise refuse("a damaged store header", "its checksum differs", "the header as it was written")
    return dict(header)


def _map(path: Path, entry: dict[str, Any]) -> NDArray[Any]:
    def refuse(message: str, seen: str, expected: str) -> InputError:
        return InputError(message, file=path, seen=seen, expected=expected, remedy="make the store again")

    size = path.stat().st_size if path.exists() else None
    if size != entry["bytes"]:
        raise refuse("a file of the store is missing or of the wrong size", f"{size} bytes", f"{entry['bytes']} bytes")
    expected = _npy_header(entry["dtype"], entry["shape"])
    with path.open("rb") as stream:
        seen = stream.read(HEADER_BYTES)
    if seen != expected:
        raise refuse("a damaged file of the store", repr(seen), repr(expected))
    if entry["shape"][0] == 0:
        return np.zeros(entry["shape"], dtype=entry["dtype"])
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _check_offsets(directory: Path, batch: RaggedBatch) -> None:
    ends = {
        "candidate_offsets_I1": len(batch.dense_CD),
        "part_id_offsets_P1": len(batch.part_ids_N),
        "part_offsets_I1": len(batch.part_id_offsets_P1) - 1,
        "candidate_part_offsets_C1": 0 if batch.candidate_parts_K is None else len(batch.candidate_parts_K),
    }
    for name, end in ends.items():
        offsets = getattr(batch, name)
        if offsets is not None and (offsets[0] != 0 or offsets[-1] != end or _falls(offsets)):
            raise InputError(
                "the store's arrays do not fit each other",
                file=directory / f"{name}.npy",
                seen=f"{offsets[0]} to {offsets[-1]}" + (", falling in between" if _falls(offsets) else ""),
                expected=f"offsets rising from 0 to {end}",
                remedy="make the store again",
            )


def _falls(offsets: NDArray[np.int64], chunk: int = 1 << 20) -> bool:
    """Whether offsets fall anywhere, looked at in chunks because the store may be larger than memory."""
    return any(bool((np.diff(offsets[i : i + chunk + 1]) < 0).any()) for i in range(0, len(offsets) - 1, chunk))
