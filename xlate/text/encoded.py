"""Sentences as flat arrays of word numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class EncodedText:
    """S sentences of T words in all; sentence s is `ids_T[offsets_S1[s]:offsets_S1[s + 1]]`.

    Example: sentences "a b", "" and "c" with a=3, b=4, c=5::

        ids_T       3 4 5
        offsets_S1  0 2 2 3
    """

    ids_T: Ints32
    offsets_S1: Ints

    @classmethod
    def encode(cls, sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> EncodedText:
        """Numbers the words of tokenised sentences; a word unknown to the vocabulary becomes 0."""
        return cls.from_ids(vocabulary.ids(sentence) for sentence in sentences)

    @classmethod
    def from_ids(cls, sentences: Iterable[Ints32]) -> EncodedText:
        """The text of some sentences, each an array of word numbers."""
        rows = list(sentences)
        offsets_S1 = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets_S1[1:])
        ids_T = np.concatenate(rows).astype(np.int32) if rows else np.zeros(0, dtype=np.int32)
        return cls(ids_T, offsets_S1)

    def __len__(self) -> int:
        return len(self.offsets_S1) - 1

    def __getitem__(self, sentence: int) -> Ints32:
        return self.ids_T[self.offsets_S1[sentence] : self.offsets_S1[sentence + 1]]
