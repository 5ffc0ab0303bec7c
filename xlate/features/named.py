"""Features that are nothing but names: an index that grows while they are met, and a frozen one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from xlate.array_types import Ints
from xlate.features.index import Numbers, Ranges, ids_by_name, ranges_of

_FAMILY = re.compile(r"[^=:_]*")


def family_of(name: str) -> str:
    """How a name begins: `ngram` of `ngram=a b`, `WT` of Moses's `WT_a~b`.

    Example:
        >>> family_of("ngram=a b"), family_of("WT_a~b"), family_of("Glue")
        ('ngram', 'WT', 'Glue')
    """
    found = _FAMILY.match(name)
    return found[0] if found else ""


@dataclass(frozen=True)
class NamedFeatures:
    """F features in a fixed order of their names, each once; build it with `of`, which keeps families together."""

    names_F: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> NamedFeatures:
        """An index of some names, sorted by family and name."""
        return cls(tuple(sorted(set(names), key=lambda name: (family_of(name), name))))

    def __len__(self) -> int:
        """The number of features F."""
        return len(self.names_F)

    @property
    def ranges(self) -> Ranges:
        """The families with their ids."""
        return _runs(self.names_F)

    def id(self, name: str) -> int:
        """The id of a feature, -1 when there is none of this name."""
        return self._id_of.get(name, -1)

    def names(self, ids: Numbers) -> Iterator[str]:
        """The names of some features."""
        return (self.names_F[feature] for feature in ids.tolist())

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return ids_by_name(self)


class GrowingFeatures:
    """An index that gives each new name the next id; families may take turns in it.

    Example:
        >>> growing = GrowingFeatures()
        >>> [growing.add(name) for name in ("WT_a", "TB_b", "WT_a")]
        [0, 1, 0]
        >>> frozen, new_id_F = growing.frozen([0, 1])
        >>> frozen.names_F, new_id_F.tolist()
        (('TB_b', 'WT_a'), [1, 0])
    """

    def __init__(self) -> None:
        self._id_of: dict[str, int] = {}

    def add(self, name: str) -> int:
        """The id of a feature, a new one when the name is new."""
        return self._id_of.setdefault(name, len(self._id_of))

    def __len__(self) -> int:
        """The number of features so far."""
        return len(self._id_of)

    @property
    def ranges(self) -> Ranges:
        """Families with runs of neighbouring ids; a family may have several."""
        return _runs(self._id_of)

    def id(self, name: str) -> int:
        """The id of a feature, -1 when it was not added."""
        return self._id_of.get(name, -1)

    def names(self, ids: Numbers) -> Iterator[str]:
        """The names of some features."""
        known = tuple(self._id_of)
        return (known[feature] for feature in ids.tolist())

    def frozen(self, used: Iterable[int]) -> tuple[NamedFeatures, Ints]:
        """A frozen index of some of the features, and the new id of each old one, -1 where it was left out, (F,)."""
        known = tuple(self._id_of)
        index = NamedFeatures.of(known[feature] for feature in used)
        return index, np.array([index.id(name) for name in known], dtype=np.int64)


def _runs(names: Iterable[str]) -> Ranges:
    return ranges_of((family, sum(1 for _ in group)) for family, group in groupby(names, family_of))
