"""The interface of every index of sparse features: how many there are, their names, ids and families.

There are three forms. A *frozen* one knows its features from a list that never changes: the keys of block
bigrams (`block.py`) or names (`NamedFeatures`). An *arithmetic* one computes ids from templates
(`phrase_sparse.py`). A *growing* one gives each new feature the next id (`structure.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from typing import Protocol

import numpy as np

from xlate.array_types import AnyInts

Numbers = AnyInts
# Families and how many features each has, in the order of their ids.
Sizes = list[tuple[str, int]]


class FeatureIndex(Protocol):
    """F sparse features, numbered from 0 to F - 1."""

    def __len__(self) -> int:
        """The number of features F."""

    @property
    def sizes(self) -> Sizes:
        """Its families, with the number of features of each; equal if the weights of one index fit another."""

    def names(self, ids: Numbers, members: int = 0) -> Iterator[str]:
        """The names of some features, in the order of `ids`, with `members` words after the name of each word class."""


def sizes_of(families: Iterable[str]) -> Sizes:
    """The families of an index and their sizes, given the family of each feature."""
    return [(family, sum(1 for _ in group)) for family, group in groupby(families)]


def families_at(sizes: Sizes, ids: Numbers) -> list[str]:
    """The family of each of some features."""
    ends = np.cumsum([size for _, size in sizes])
    return [sizes[place][0] for place in np.searchsorted(ends, ids, side="right").tolist()]


def slots_of(features: Mapping[str, int]) -> dict[str, slice]:
    """The slice of each feature, given how many values each has; or of each family.

    >>> slots_of({"LM0": 1, "TranslationModel0": 4})
    {'LM0': slice(0, 1, None), 'TranslationModel0': slice(1, 5, None)}
    """
    starts = accumulate(features.values(), initial=0)
    return {name: slice(*ends) for name, ends in zip(features, pairwise(starts), strict=True)}


_AFTER_FAMILY = re.compile(r"[=:_]")


def family_of(name: str) -> str:
    """The beginning of a name: `ngram` of `ngram=a b`, `WT` of Moses's `WT_a~b`.

    Example:
        >>> family_of("ngram=a b"), family_of("WT_a~b"), family_of("Glue")
        ('ngram', 'WT', 'Glue')
    """
    return _AFTER_FAMILY.split(name, 1)[0]


@dataclass(frozen=True)
class NamedFeatures:
    """F features in a fixed order of their unique names; build it with `of`, which keeps families together."""

    names_F: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> NamedFeatures:
        """An index of some names, sorted by family and name."""
        return cls(tuple(sorted(set(names), key=lambda name: (family_of(name), name))))

    def __len__(self) -> int:
        """The number of features F."""
        return len(self.names_F)

    @property
    def sizes(self) -> Sizes:
        """The families, each once."""
        return sizes_of(map(family_of, self.names_F))

    def id(self, name: str) -> int:
        """The id of a feature, -1 if none has this name."""
        return self._id_of.get(name, -1)

    def names(self, ids: Numbers, members: int = 0) -> Iterator[str]:  # noqa: ARG002
        return (self.names_F[feature] for feature in ids.tolist())

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return {name: feature for feature, name in enumerate(self.names_F)}
