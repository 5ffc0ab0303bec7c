"""The index from sparse features to ids, by family, with a readable name for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xlate.phrases.blocks import BlockSet
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class BlockNames:
    """Puts blocks into words: `das haus|the house`."""

    blocks: BlockSet
    source: Vocabulary
    target: Vocabulary

    def block(self, b: int) -> str:
        """Source and target words of a block, joined with a bar."""
        table = self.blocks.table
        source = " ".join(self.source.word(int(w)) for w in table.source_phrases[int(table.source_B[b])])
        target = " ".join(self.target.word(int(w)) for w in table.target_phrases[int(table.target_B[b])])
        return f"{source}|{target}"

    def bigram(self, key: int) -> str:
        """A block bigram: `BB:PREDECESSOR>SUCCESSOR`."""
        return f"BB:{self.block(key >> 32)}>{self.block(key & 0xFFFFFFFF)}"


@dataclass(frozen=True)
class FeatureIndex:
    """The block bigram family BB: F features by sorted key b' · 2^32 + b; the id of a feature is its place.

    Frozen once made: training, checkpoints and decoding all speak of the same ids.
    """

    keys_F: NDArray[np.uint64]

    @classmethod
    def block_bigrams(cls, blocks: BlockSet, threshold: int) -> FeatureIndex:
        """All block bigrams seen more often than `threshold` (A5; TZ07 Eq. 3)."""
        return cls(np.ascontiguousarray(blocks.frequent_bigrams(threshold)))

    @classmethod
    def empty(cls) -> FeatureIndex:
        """No features."""
        return cls(np.zeros(0, dtype=np.uint64))

    def __len__(self) -> int:
        """The number of features F."""
        return len(self.keys_F)

    def id(self, predecessor: int, block: int) -> int:
        """The id of a block bigram, -1 when it is no feature."""
        key = np.uint64((predecessor << 32) | block)
        place = int(np.searchsorted(self.keys_F, key))
        return place if place < len(self.keys_F) and self.keys_F[place] == key else -1

    def names(self, words: BlockNames) -> Iterator[str]:
        """The names of all features in the order of their ids."""
        for key in self.keys_F.tolist():
            yield words.bigram(key)

    def find(self, text: str, words: BlockNames, limit: int = 100) -> list[int]:
        """The ids of the first features whose name holds the text."""
        found: list[int] = []
        for number, name in enumerate(self.names(words)):
            if text in name:
                found.append(number)
                if len(found) == limit:
                    break
        return found
