"""What every index of sparse features can be asked: how many there are, their names, ids and families.

Three forms stand behind it. A *frozen* one knows its features from a list that stays as it is: the keys of block
bigrams (`bigram_index.py`) or names (`named.py`). An *arithmetic* one computes ids from templates
(`phrase_sparse.py`). A *growing* one gives each new name the next id, and is frozen to the features that are wanted
(`named.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from xlate.array_types import AnyInts, Ints, Ints32

Numbers = AnyInts
Ranges = Sequence[tuple[str, slice]]


class FeatureIndex(Protocol):
    """F sparse features, numbered from 0 to F - 1."""

    def __len__(self) -> int:
        """The number of features F."""

    @property
    def ranges(self) -> Ranges:
        """Families with the ids of their features, in the order of the ids; together they are all ids, each once."""

    def id(self, name: str) -> int:
        """The id of the first feature of this name, -1 when there is none."""

    def names(self, ids: Numbers) -> Iterator[str]:
        """The names of some features, in the order of `ids`."""


@runtime_checkable
class ClassedIndex(Protocol):
    """An index whose features know words by their classes."""

    def spelled(self, ids: Numbers, members: int) -> Iterator[str]:
        """The names of some features, with so many words of a class behind its name."""


class GrowingIndex(FeatureIndex, Protocol):
    """Features that get an id when a unit of theirs is first met.

    Two indexes that began alike are alike again when one takes over what the other has met since.
    """

    @property
    def described(self) -> Ints32:
        """What each feature is, a row of numbers each, in the order of the ids."""

    def extended(self, described: Ints32) -> None:
        """Takes over the features of another index that began as this one: those that are newer than its own."""

    def of_units(self, units: Ints32) -> tuple[Ints, Ints32]:
        """The ids of the features of units, new ones among them: offsets and ids."""


def signature(index: FeatureIndex) -> list[tuple[str, int]]:
    """Families and how many features each has: what two indexes must share for weights of one to fit the other."""
    return [(family, ids.stop - ids.start) for family, ids in index.ranges]


def ranges_of(sizes: Iterable[tuple[str, int]]) -> Ranges:
    """The ranges of families of these sizes, one behind the other."""
    ranges: list[tuple[str, slice]] = []
    end = 0
    for family, size in sizes:
        ranges.append((family, slice(end, end + size)))
        end += size
    return ranges


def spelled_names(index: FeatureIndex, ids: Numbers, members: int) -> Iterator[str]:
    """The names of some features, with so many words behind the name of each word class."""
    return index.spelled(ids, members) if isinstance(index, ClassedIndex) else index.names(ids)


def all_names(index: FeatureIndex) -> Iterator[str]:
    """The names of all features in the order of their ids."""
    return index.names(np.arange(len(index)))


def ids_by_name(index: FeatureIndex) -> dict[str, int]:
    """The id of every name; where words that hold bars give two features one name, that of the first."""
    return {name: feature for feature, name in reversed(list(enumerate(all_names(index))))}
