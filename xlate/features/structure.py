"""Sparse features of the structure of derivations (Watanabe et al. 2007, section 3.2), numbered as they are first seen.

Families, all about words that the rules align:

    word_pair       a source word and a target word it is linked to
    pair_bigram     two such pairs that follow each other in the target, across rules too
    insertion       a target word without link, with each word of the source sentence
    target_bigram   two target words in a row, across rules too
    parent_child    a linked source word of a rule, and one of a rule in a gap of it

Every word has values of several kinds (`word_values.py`), and every two kinds make a feature; a side may have kinds
that the other lacks, such as parts of speech.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.errors import InputError, refuse_if
from xlate.features.index import Numbers, Sizes, sizes_of
from xlate.features.word_values import WordValues
from xlate.kernels.features.structure import (
    DESCRIBED,
    Growing,
    Kinds,
    StructureWeights,
    appended,
    description_keys,
    new_memory,
    numbered,
)
from xlate.kernels.memory import EMPTY, HashTable, build_table

FAMILIES = ("word_pair", "pair_bigram", "insertion", "target_bigram", "parent_child")
# The sides of the first and the second value of a family.
SIDES = {"target_bigram": ("target", "target"), "parent_child": ("source", "source")}


@dataclass(frozen=True)
class StructureTemplates:
    """The families, and the kinds of word values of each side.

    Raises:
        InputError: a family that is unknown or given twice; a side without kinds of words.
    """

    families: tuple[str, ...]
    source: tuple[WordValues, ...]
    target: tuple[WordValues, ...]

    def __post_init__(self) -> None:
        """Checks the families."""
        for family in self.families:
            refuse_if(
                family not in FAMILIES or self.families.count(family) > 1,
                "an unknown or repeated family",
                family,
                ", ".join(FAMILIES),
            )
        if not self.source or not self.target:
            seen = f"{len(self.source)} of the source and {len(self.target)} of the target"
            raise InputError("structure features need kinds of words", seen, "one or more for each side")

    def kinds(self) -> Kinds:
        """The kinds in the form that compiled loops take."""
        pairs = [
            list(np.ndindex(*map(len, self.sides(family)))) if family in self.families else [] for family in FAMILIES
        ]
        return Kinds(
            np.stack([values.value_V for values in self.source]),
            np.stack([values.value_V for values in self.target]),
            np.array([pair for of_family in pairs for pair in of_family], np.int32).reshape(-1, 2),
            offsets_of([len(of_family) for of_family in pairs]),
        )

    def sides(self, family: str) -> tuple[tuple[WordValues, ...], tuple[WordValues, ...]]:
        """The kinds of the first and of the second value of a family."""
        kinds = {"source": self.source, "target": self.target}
        first, second = SIDES.get(family, ("source", "target"))
        return kinds[first], kinds[second]


class StructureFeatures:
    """F features in the order in which they were first seen; known ids never change.

    Args:
        templates: the possible features.
        described_F7: features that are known from the start: family, kind and kind, and up to four values of each.

    Raises:
        InputError: a feature that the templates do not make, or one that occurs twice.
    """

    def __init__(self, templates: StructureTemplates, described_F7: Ints32 | None = None) -> None:
        self.templates = templates
        self.kinds = templates.kinds()
        given_F7 = np.zeros((0, DESCRIBED), np.int32) if described_F7 is None else described_F7
        keys_F = description_keys(self.kinds, np.ascontiguousarray(given_F7, np.int32))
        if (keys_F == EMPTY).any() or len(np.unique(keys_F)) != len(keys_F):
            raise InputError(
                "features that do not come from the templates",
                f"{len(keys_F)} features, {len(np.unique(keys_F[keys_F != EMPTY]))} of them distinct",
                "those of the model's families and kinds of words, each once",
            )
        table = build_table(keys_F)
        # One extra row, so that the array is never empty.
        room_F7 = np.zeros((len(given_F7) + 1, DESCRIBED), np.int32)
        room_F7[: len(given_F7)] = given_F7
        self._growing = Growing(table.keys_H, table.rows_H, room_F7, np.array([len(given_F7)]))

    def __len__(self) -> int:
        """The number of features F so far."""
        return int(self._growing.size_1[0])

    @property
    def described(self) -> Ints32:
        """What each feature is, shape (F, 7)."""
        return self._growing.described_F7[: len(self)]

    @property
    def sizes(self) -> Sizes:
        """Families with runs of neighbouring ids; an index that is still growing has many."""
        return sizes_of(FAMILIES[family] for family in self.described[:, 0].tolist())

    def of_units(self, facts_A5: Ints32, *, add: bool = True) -> tuple[Ints, Ints32]:
        """The ids of the features of A facts: offsets (A + 1) and ids; new features get ids if `add`, else none."""
        facts_A5 = np.ascontiguousarray(facts_A5, np.int32)
        self._growing, offsets_A1, ids_N = numbered(self.kinds, self._growing, facts_A5, add)
        return offsets_A1, ids_N

    def padded(self, sparse_F: Floats) -> Floats:
        """Weights of all features, shape (F,), 0 for those newer than the given weights."""
        weights_F = np.zeros(len(self))
        weights_F[: len(sparse_F)] = sparse_F
        return weights_F

    def weighted(self, sparse_F: Floats) -> StructureWeights:
        """The features under weights; those newer than the weights weigh 0."""
        weights_F = np.ascontiguousarray(sparse_F, np.float64)
        table = HashTable(self._growing.keys_H, self._growing.rows_H)
        keys_C = np.empty(len(self.kinds.pairs_C2), np.uint64)
        return StructureWeights(self.kinds, table, weights_F, new_memory(), keys_C)

    def extended(self, described: Ints32) -> None:
        """Takes over the newer features of another index that began as this one."""
        newer_N7 = np.ascontiguousarray(described[len(self) :], np.int32)
        if len(newer_N7):
            self._growing = appended(self._growing, newer_N7, description_keys(self.kinds, newer_N7))

    def kept(self, ids: AnyInts) -> StructureFeatures:
        """An index of some of the features, in that order."""
        return StructureFeatures(self.templates, self.described[ids].copy())

    def names(self, ids: Numbers, members: int = 0) -> Iterator[str]:
        """Such as `word_pair:all,class50(haus,17)`: family, kinds, values.

        With `members` words of a class: `word_pair:all,class50(haus,17{house man dog …})`.
        """
        for family_number, *kinds, a, b, c, d in self.described[ids].tolist():
            family = FAMILIES[family_number]
            first, second = (side[kind] for side, kind in zip(self.templates.sides(family), kinds, strict=True))
            pairs = (first, second, first, second) if family == "pair_bigram" else (first, second)
            values = [kind.spelled(value, members) for kind, value in zip(pairs, (a, b, c, d), strict=False)]
            yield f"{family}:{first.name},{second.name}({','.join(values)})"
