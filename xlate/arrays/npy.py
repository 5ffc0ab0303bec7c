"""Writes one array to a .npy file row by row; the header is written again when the shape is known."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from xlate.array_types import AnyArray

CHUNK = 1 << 22
STEP, LEAST = 64, 128
# A header must have room for two dimensions of 19 digits each.
WIDEST = (10**19 - 1, 10**19 - 1)


class ArrayStream:
    """Writes an array row by row into a stream, so that only a few rows are in memory at a time."""

    def __init__(self, stream: BinaryIO, dtype: np.dtype[Any], columns: Sequence[int] = ()) -> None:
        """Leaves room for the header.

        Args:
            stream: a stream at its beginning, in which positions can be set.
            dtype: the type of the array. columns: its shape without the number of rows.
        """
        self.rows = 0
        self._stream = stream
        self._dtype = np.dtype(dtype)
        self._columns = tuple(columns)
        self._digest = hashlib.sha256()
        stream.write(b" " * header_bytes(self._dtype))

    def append(self, rows: AnyArray) -> None:
        """Writes rows behind those that came before."""
        values = np.ascontiguousarray(rows, dtype=self._dtype)
        self.rows += len(values)
        flat = values.reshape(-1).view(np.uint8)
        for first in range(0, len(flat), CHUNK):
            piece = flat[first : first + CHUNK].data
            self._digest.update(piece)
            self._stream.write(piece)

    def finish(self) -> dict[str, Any]:
        """Writes the header and flushes to disk; returns the array's entry for the header of its folder: dtype, shape,
        bytes and SHA-256.
        """
        shape = [self.rows, *self._columns]
        size = self._stream.tell()
        self._stream.seek(0)
        self._stream.write(npy_header(self._dtype, shape))
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return {
            "dtype": np.lib.format.dtype_to_descr(self._dtype),
            "shape": shape,
            "bytes": size,
            "sha256": self._digest.hexdigest(),
        }


def npy_header(dtype: np.dtype[Any], shape: Sequence[int]) -> bytes:
    """The beginning of a .npy file of version 1; equally long for all shapes of up to two dimensions."""
    size = header_bytes(dtype)
    text = _dictionary(dtype, shape)
    return b"\x93NUMPY\x01\x00" + (size - 10).to_bytes(2, "little") + text.ljust(size - 11) + b"\n"


def header_bytes(dtype: np.dtype[Any]) -> int:
    """The length of the .npy header of arrays of a type."""
    needed = 11 + len(_dictionary(dtype, WIDEST))
    return max(LEAST, -(-needed // STEP) * STEP)


def values_sha256(path: Path, offset: int) -> str:
    """The SHA-256 of a file's bytes from `offset` on."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        stream.seek(offset)
        while block := stream.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def _dictionary(dtype: np.dtype[Any], shape: Sequence[int]) -> bytes:
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    sizes = ", ".join(map(str, shape))
    return f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': ({sizes},), }}".encode()
