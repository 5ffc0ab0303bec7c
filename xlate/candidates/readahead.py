"""Tells the system which rows of a memory-mapped array will be read next, so that they come in large pieces."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from xlate.array_types import AnyArray


def will_need(array: AnyArray, first: int, last: int) -> None:
    """Asks for rows `first` to `last` (end excluded) of a contiguous array; nothing happens if it is not mapped."""
    mapped: Any = array
    while mapped is not None and not isinstance(mapped, np.memmap):
        mapped = mapped.base
    file = getattr(mapped, "_mmap", None)
    if file is None or last <= first or not hasattr(mmap, "MADV_WILLNEED"):
        return
    begin = array[first:last].ctypes.data - np.frombuffer(file, dtype=np.uint8).ctypes.data
    start = begin - begin % mmap.PAGESIZE
    length = min(begin + array[first:last].nbytes, len(file)) - start
    file.madvise(mmap.MADV_WILLNEED, start, length)
