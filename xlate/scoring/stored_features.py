"""Sparse features in a weights file: families with their sizes, the ids that have a weight, and their names."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Bytes, Floats, Ints32
from xlate.errors import InputError
from xlate.features.index import Numbers, Ranges, ranges_of


class LearnedFeature(NamedTuple):
    """A sparse feature with its weight."""

    family: str
    name: str
    weight: float


@dataclass(frozen=True)
class StoredFeatures:
    """The F features of a weight set as its file tells them; names are known of the A features that have a weight.

    Attributes:
        sizes: the families and how many features each has, in the order of the ids.
        ids_A: the features that have a weight, ascending.
        packed: their names, as `packed_names` gives them.
    """

    sizes: Sequence[tuple[str, int]]
    ids_A: Ints32
    packed: bytes

    def __len__(self) -> int:
        """The number of features F."""
        return sum(size for _, size in self.sizes)

    @property
    def ranges(self) -> Ranges:
        """The families with the ids of their features."""
        return ranges_of(self.sizes)

    def id(self, name: str) -> int:
        """The id of the first feature with a weight and this name, -1 when there is none."""
        return self._id_of.get(name, -1)

    def names(self, ids: Numbers) -> Iterator[str]:
        """The names of some features that have a weight.

        Raises:
            KeyError: one of them has none.
        """
        known = dict(zip(self.ids_A.tolist(), self._names_A, strict=True))
        return (known[feature] for feature in ids.tolist())

    def learned(self, sparse_F: Floats) -> Iterator[LearnedFeature]:
        """The features whose weight is not 0, in the order of their ids."""
        ends = [ids.stop for _, ids in self.ranges]
        weights = sparse_F[self.ids_A].tolist()
        for feature, name, weight in zip(self.ids_A.tolist(), self._names_A, weights, strict=True):
            if weight:
                yield LearnedFeature(self.sizes[bisect_right(ends, feature)][0], name, weight)

    @cached_property
    def _names_A(self) -> list[str]:
        text = zlib.decompress(self.packed).decode("utf-8") if len(self.ids_A) else None
        return [] if text is None else text.split("\n")

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return dict(zip(reversed(self._names_A), self.ids_A[::-1].tolist(), strict=True))


def packed_names(names: Iterable[str], path: str | Path) -> Bytes:
    """Names as compressed lines of UTF-8.

    Raises:
        InputError: one holds a line end; `path` is the file they are for.
    """
    listed = list(names)
    if "\n" in "".join(listed):
        raise InputError("a line end in a feature name", file=path, seen=repr(next(n for n in listed if "\n" in n)))
    return np.frombuffer(zlib.compress("\n".join(listed).encode("utf-8"), 6), dtype=np.uint8)


def weights_of_ids(ids_A: AnyArray, values_A: AnyArray, size: int) -> AnyArray:
    """All weights of so many features, (size,), 0 where no id has one.

    Raises:
        ValueError: ids that do not rise or are too large, or another number of values.
    """
    ascending = len(ids_A) < 2 or bool((np.diff(ids_A) > 0).all())
    if len(ids_A) != len(values_A) or not ascending or (len(ids_A) and not 0 <= ids_A[0] <= ids_A[-1] < size):
        raise ValueError(f"{len(values_A)} weights of {len(ids_A)} features that are not among {size}")
    sparse_F = np.zeros(size, dtype=values_A.dtype)
    sparse_F[ids_A] = values_A
    return sparse_F
