"""Arrays that may be larger than memory, mapped from scratch files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import NO_INTS32, AnyArray
from xlate.arrays.ranges import pieces


def joined_rows(parts: Iterable[tuple[AnyArray, ...]], columns: int = 1) -> Iterator[tuple[AnyArray, ...]]:
    """Columns for `Scratch.stored`: rows of different lengths, whose offsets become those of all parts together.

    Args:
        parts: columns of 32-bit numbers, and the offsets of their rows, which begin with 0.
        columns: how many columns of numbers; the result has them even if there is no part.
    """
    end = np.zeros(1, np.int64)
    yield *[NO_INTS32] * columns, end
    for *numbers, offsets_S1 in parts:
        yield *numbers, offsets_S1[1:] + end
        end = end + offsets_S1[-1]


class Scratch(ExitStack):
    """Makes arrays that are mapped from files, unless any memory may be used; removes the files at the end."""

    def __init__(self, memory_mb: int | None = None, scratch: Path | None = None) -> None:
        """Files in their own folder below `scratch`, or where temporary files go; by default arrays in any memory."""
        super().__init__()
        self.memory = None if memory_mb is None else memory_mb << 20
        self._scratch = scratch
        self._folder: Path | None = None
        self._numbers = count()

    def holds(self, size: int) -> bool:
        """Whether so many bytes may be in memory."""
        return self.memory is None or size <= self.memory

    def filled(self, rows: int, value: Any) -> AnyArray:
        """A column with one value in all of its rows."""
        if self.memory is None or not rows:
            return np.full(rows, value)
        column: AnyArray
        (column,) = self.stored((np.full(piece.stop - piece.start, value),) for piece in pieces(rows))
        return column

    def stored(self, parts: Iterable[tuple[AnyArray, ...]]) -> list[Any]:
        """Columns that come in one or more parts; a part has some rows of each, whose types do not change."""
        if self.memory is None:
            whole = zip(*parts, strict=True)
            return [np.concatenate(column) if len(column) > 1 else column[0] for column in whole]
        if not self._folder:
            made = tempfile.TemporaryDirectory(prefix="scratch-", dir=self._scratch)
            self._folder = Path(self.enter_context(made))
        paths: list[Path] = []
        empty: list[AnyArray] = []
        with ExitStack() as opened:
            for part in parts:
                if not paths:
                    paths = [self._folder / str(next(self._numbers)) for _ in part]
                    files = [opened.enter_context(path.open("wb")) for path in paths]
                    empty = [np.zeros((0, *column.shape[1:]), column.dtype) for column in part]
                for file, column in zip(files, part, strict=True):
                    file.write(np.ascontiguousarray(column).reshape(-1).view(np.uint8).data)
        # Compiled loops see a column as writable, so that they are not compiled twice; an empty one cannot be mapped.
        return [
            np.asarray(np.memmap(path, none.dtype, "r+")).reshape(-1, *none.shape[1:]) if path.stat().st_size else none
            for path, none in zip(paths, empty, strict=True)
        ]
