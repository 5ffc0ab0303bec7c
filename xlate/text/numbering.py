"""Numbers of the words that translations of one sentence have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xlate.array_types import AnyInts, Ints32
from xlate.text.vocabulary import UNKNOWN, UNKNOWN_ID, Vocabulary


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
