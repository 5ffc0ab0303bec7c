"""The hierarchical model whose float weights are tuned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xlate.candidates.decoded import DecodedList
from xlate.models.hierarchical.decoder import HierarchicalDecoder
from xlate.models.hierarchical.lists import label_words
from xlate.models.hierarchical.model import COLUMNS, SIZE, UNKNOWN
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class TunedRules:
    """The hierarchical decoder; its penalty of unknown words is not tuned."""

    decoder: HierarchicalDecoder
    processes: int = 1

    @property
    def trained_D(self) -> NDArray[np.bool_]:
        """All but the penalty of unknown words."""
        trained_D = np.ones(SIZE, dtype=np.bool_)
        trained_D[UNKNOWN] = False
        return trained_D

    @property
    def uniform(self) -> Weights:
        """The same for every feature: penalties count below 0, and rules and glue are neither good nor bad."""
        dense_D = np.where(self.trained_D, 1.0 / self.trained_D.sum(), 0.0)
        for name in ("RulePenalty0", "Glue0"):
            dense_D[COLUMNS.index(name)] = 0.0
        dense_D[COLUMNS.index("WordPenalty0")] *= -1.0
        dense_D[UNKNOWN] = 1.0
        return Weights(dense_D, np.zeros(0), COLUMNS)

    @property
    def vocabulary(self) -> Vocabulary:
        """The target words."""
        return self.decoder.target_vocabulary

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[DecodedList]:
        """Lists without two hypotheses of the same words."""
        decoder = self.weighted(weights).with_search(nbest=size)
        return each_sentence(decoder, with_floats, sentences, self.processes)

    def weighted(self, weights: Weights) -> HierarchicalDecoder:
        """The decoder under tuned weights."""
        return self.decoder.with_weights(weights)


def with_floats(decoder: HierarchicalDecoder, words: Sequence[str]) -> DecodedList:
    """The n-best list of a sentence with float features.

    Raises:
        InputError: a sentence of more words than the search can number.
    """
    if not words:
        return DecodedList.of_words([np.zeros(0, np.int32)], np.zeros((1, SIZE)))
    found = decoder.nbest_list(words)
    offsets_L1, words_W = label_words(found.moves, found.paths.labels_L)
    return DecodedList(found.features_ND.astype(np.float32), offsets_L1[found.paths.offsets_N1], words_W)
