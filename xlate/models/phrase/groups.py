"""What the group of phrases before a phrase scores: sparse weights by word, and the part of them a sentence needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xlate.array_types import Floats, Ints32
from xlate.features.phrase_sparse import SparseFeatures
from xlate.kernels.search.phrase_orientation import GroupScores
from xlate.text.vocabulary import BEGIN_ID


@dataclass(frozen=True)
class GroupWeights:
    """The scores of a group's words in K orientations, by position: V source and W target words.

    `first_VK`, `last_VK`, `between_VK` are of source words, `target_first_WK` and `target_last_WK` of target words.
    """

    sparse: SparseFeatures
    sparse_F: Floats
    plain: float
    first_VK: Floats
    last_VK: Floats
    between_VK: Floats
    target_first_WK: Floats
    target_last_WK: Floats

    @classmethod
    def of(cls, sparse: SparseFeatures, sparse_F: Floats, crossed_K: Floats, plain: float) -> GroupWeights:
        """Sparse weights, each orientation times its float weight, plain features times theirs."""
        positions = ("top_source_first", "top_source_last", "between", "top_target_first", "top_target_last")
        return cls(sparse, sparse_F, plain, *(sparse.word_scores(sparse_F, p) * crossed_K for p in positions))

    def of_sentence(self, source_n: Ints32, first_O: Ints32, last_O: Ints32) -> GroupScores:
        """The scores for a sentence's n source words and the first and last target words of its O options."""
        kind_O = self.sparse.kind_V[np.concatenate([first_O, last_O])]
        _, place, kind_O = np.unique(kind_O, return_index=True, return_inverse=True)
        words_R = np.concatenate([[BEGIN_ID], np.concatenate([first_O, last_O])[place]])
        kind_O = (kind_O.reshape(-1) + 1).astype(np.int32)
        source_n1 = np.concatenate([source_n, np.array([BEGIN_ID], np.int32)])
        between_nK = np.concatenate([np.zeros((1, self.between_VK.shape[1])), self.between_VK[source_n]]).cumsum(axis=0)
        bigrams_RR = np.zeros((0, 0))
        if self.sparse.has_bigrams:
            bigrams_RR = self.sparse.bigram_scores(self.sparse_F, words_R, words_R) * self.plain
        return GroupScores(
            self.first_VK[source_n1],
            self.last_VK[source_n1],
            between_nK,
            self.target_first_WK[words_R],
            self.target_last_WK[words_R],
            kind_O[: len(first_O)],
            kind_O[len(first_O) :],
            bigrams_RR,
        )


def no_groups(orientations: int) -> GroupScores:
    """Scores that are never looked at."""
    none_0K, kinds_0 = np.zeros((0, orientations)), np.zeros(0, np.int32)
    return GroupScores(none_0K, none_0K, none_0K, none_0K, none_0K, kinds_0, kinds_0, np.zeros((0, 0)))
