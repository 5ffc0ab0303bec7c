"""The sparse features of block bigrams: ids by sorted keys, and a readable name for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import Ints, Ints32, Uints
from xlate.features.bigrams import FAMILIES, bigram_families, family_ranges, frequent_keys, split_key
from xlate.features.index import Numbers, Ranges, ids_by_name
from xlate.kernels.features.bigram_features import BigramFamilies
from xlate.kernels.search.lattice_passes import arc_bigrams
from xlate.phrases.blocks import BlockSet
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class BlockNames:
    """Puts blocks and features into words: `das haus|the house`, `TP:the house>is small`."""

    blocks: BlockSet
    source: Vocabulary
    target: Vocabulary

    def block(self, b: int) -> str:
        """Source and target words of a block."""
        table = self.blocks.table
        source = " ".join(self.source.word(int(w)) for w in table.source_phrases[int(table.source_B[b])])
        return f"{source}|{self.phrase(int(table.target_B[b]))}"

    def phrase(self, row: int) -> str:
        """The words of a target phrase."""
        return " ".join(self.target.word(int(w)) for w in self.blocks.table.target_phrases[row])

    def feature(self, key: int) -> str:
        """The name of a feature, its family in front."""
        family, left, right = split_key(key)
        return f"{family}:{FAMILIES[family].name(self, left, right)}"


@dataclass(frozen=True)
class BigramIndex:
    """F sparse features: the id of one is the place of its key among the sorted keys, so families follow each other.

    It is made before candidates are written, and stays as it is.
    """

    keys_F: Uints
    words: BlockNames

    @classmethod
    def frequent(cls, words: BlockNames, families: Sequence[str], threshold: int) -> BigramIndex:
        """All features of some families that were seen more often than `threshold` (A5; TZ07 Eq. 3, 10, 11).

        Raises:
            InputError: no such family.
        """
        keys = [frequent_keys(words.blocks, family, threshold) for family in families]
        return cls(np.sort(np.concatenate([np.zeros(0, dtype=np.uint64), *keys])), words)

    def __len__(self) -> int:
        """The number of features F."""
        return len(self.keys_F)

    @property
    def ranges(self) -> Ranges:
        """The ids of each family that has features."""
        ranges = family_ranges(self.keys_F)
        return [(family, ranges[family]) for family in FAMILIES if ranges[family].start < ranges[family].stop]

    def id(self, name: str) -> int:
        """The id of a feature, -1 when there is none of this name."""
        return self._id_of.get(name, -1)

    def names(self, ids: Numbers) -> Iterator[str]:
        """The names of some features."""
        return map(self.words.feature, self.keys_F[ids].tolist())

    def of_units(self, pairs_P2: Ints32) -> tuple[Ints, Ints32]:
        """The ids of all features of pairs (b', b), none where either is negative: offsets (P+1) and ids."""
        before_P, block_P = np.ascontiguousarray(pairs_P2.T, dtype=np.int32)
        return arc_bigrams(self.families, before_P, block_P)

    @cached_property
    def families(self) -> BigramFamilies:
        """What every family sees of blocks, and the ids by key, ready to be looked up."""
        return bigram_families(self.words.blocks, self.keys_F)

    @cached_property
    def _id_of(self) -> dict[str, int]:
        return ids_by_name(self)
