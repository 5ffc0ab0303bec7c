"""Sentences as flat arrays of word numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from xlate.array_types import AnyInts, Ints, Ints32
from xlate.kernels.pairs import Sides
from xlate.text.vocabulary import UNKNOWN, UNKNOWN_ID, Vocabulary


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
        offsets_S1 = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets_S1[1:])
        ids_T = np.concatenate(rows).astype(np.int32) if rows else np.zeros(0, np.int32)
        return cls(ids_T, offsets_S1)

    def __len__(self) -> int:
        return len(self.offsets_S1) - 1

    def __getitem__(self, sentence: int) -> Ints32:
        return self.ids_T[self.offsets_S1[sentence] : self.offsets_S1[sentence + 1]]


@dataclass(frozen=True)
class Numbering:
    """Target words of a sentence: those of the vocabulary, and behind it the words of its source, equal ones alike.

    A word that is neither has one number more, which words of other spelling share.

    Example: with the three special words and `house`, `Haus` of the source `das Haus` is number 5, `Auto` number 6.
    """

    vocabulary: Vocabulary
    source: Sequence[str]

    def ids(self, words: Sequence[str]) -> Ints32:
        """The numbers of target words, shape (len(words),)."""
        ids = self.vocabulary.ids(words)
        first = len(self.vocabulary)
        for place in np.flatnonzero(ids == UNKNOWN_ID).tolist():
            word = words[place]
            if word != UNKNOWN or word in self.source:
                ids[place] = first + (self.source.index(word) if word in self.source else len(self.source))
        return ids

    def words(self, ids: AnyInts) -> list[str]:
        """The words of numbers; what is neither a word of the vocabulary nor of the source is `<unk>`."""
        known, own = self.vocabulary.words, [*self.source, UNKNOWN]
        return [known[i] if i < len(known) else own[i - len(known)] for i in ids.tolist()]


def sides(source: EncodedText, target: EncodedText) -> Sides:
    """Sentence pairs; the two texts must have the same number of sentences."""
    return Sides(
        np.ascontiguousarray(source.ids_T),
        np.ascontiguousarray(source.offsets_S1),
        np.ascontiguousarray(target.ids_T),
        np.ascontiguousarray(target.offsets_S1),
    )
