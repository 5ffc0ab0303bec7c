"""The index from sparse features to ids, by family, with a readable name for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xlate.features.bigrams import FAMILIES, family_ranges, frequent_keys, split_key
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
class FeatureIndex:
    """F sparse features: the id of one is the place of its key among the sorted keys, so families follow each other.

    The index is made once, while candidates are written, and stays as it is.
    """

    keys_F: NDArray[np.uint64]

    @classmethod
    def frequent(cls, blocks: BlockSet, families: Sequence[str], threshold: int) -> FeatureIndex:
        """All features of some families that were seen more often than `threshold` (A5; TZ07 Eq. 3, 10, 11).

        Raises:
            InputError: no such family.
        """
        keys = [frequent_keys(blocks, family, threshold) for family in families]
        return cls(np.sort(np.concatenate([np.zeros(0, dtype=np.uint64), *keys])))

    @classmethod
    def empty(cls) -> FeatureIndex:
        """No features."""
        return cls(np.zeros(0, dtype=np.uint64))

    def __len__(self) -> int:
        """The number of features F."""
        return len(self.keys_F)

    @property
    def ranges(self) -> dict[str, slice]:
        """The ids of each family that has features."""
        ranges = family_ranges(self.keys_F)
        return {family: ranges[family] for family in FAMILIES if ranges[family].start < ranges[family].stop}

    def id(self, key: int) -> int:
        """The id of a feature, -1 when there is none with this key."""
        place = int(np.searchsorted(self.keys_F, np.uint64(key)))
        return place if place < len(self.keys_F) and int(self.keys_F[place]) == key else -1

    def names(self, words: BlockNames) -> Iterator[str]:
        """The names of all features in the order of their ids."""
        for key in self.keys_F.tolist():
            yield words.feature(key)

    def find(self, text: str, words: BlockNames, limit: int = 100) -> list[int]:
        """The ids of the first features whose name holds the text."""
        found: list[int] = []
        for number, name in enumerate(self.names(words)):
            if text in name:
                found.append(number)
                if len(found) == limit:
                    break
        return found
