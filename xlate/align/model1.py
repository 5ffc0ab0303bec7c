"""IBM Model 1 (Brown et al. 1993): word translation probabilities p(s|t) from sentence pairs alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import Floats, Uints
from xlate.errors import InputError
from xlate.kernels.counting.lexical import NULL, cooccurrences, expectation_maximisation
from xlate.kernels.memory.hashing import HashTable, build_table, find, pack
from xlate.text.encoded import EncodedText, sides


@dataclass(frozen=True)
class Model1:
    """K word pairs: p(s|t) of the key t · 2^32 + s; t = 0 is NULL. For each t the p(s|t) sum to 1."""

    keys_K: Uints
    probability_K: Floats

    @classmethod
    def train(cls, source: EncodedText, target: EncodedText, target_words: int, iterations: int = 5) -> Model1:
        """Estimates from sentence pairs; words are numbered from 1 (0 is kept for NULL).

        Args:
            source, target: the two sides.
            target_words: the size of the target vocabulary.
            iterations: of expectation maximisation.

        Raises:
            InputError: the sides have different numbers of sentences.
        """
        if len(source) != len(target):
            raise InputError("sides of unequal length", f"{len(source)} and {len(target)} sentences")
        text = sides(source, target)
        keys_K = cooccurrences(text)
        probability_K = expectation_maximisation(build_table(keys_K), keys_K, text, target_words, iterations)
        return cls(keys_K, probability_K)

    @cached_property
    def table(self) -> HashTable:
        """Finds the row of a key."""
        return build_table(self.keys_K)

    def probability(self, source: int, target: int = NULL) -> float:
        """p(s|t), 0 for words that never stood in one sentence pair."""
        row = find(self.table, np.uint64(pack(target, source)))
        return float(self.probability_K[row]) if row >= 0 else 0.0
