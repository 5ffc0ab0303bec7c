"""The lattice decoder whose weights are tuned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.lists import DecodedList
from xlate.models.context.lcs import LcsDecoder
from xlate.models.context.lcs_options import DELETION, LM, NAMES
from xlate.models.tuned import listed_words
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.vocabulary import Vocabulary


def language_alone(names: tuple[str, ...] = NAMES) -> Weights:
    """The weights of the paper: the language model's score and the costs of deletions as they are."""
    dense_D = np.zeros(len(names))
    dense_D[LM], dense_D[DELETION] = 1.0, -1.0
    return Weights(dense_D, np.zeros(0), names)


@dataclass(frozen=True)
class TunedLcs:
    """The lattice decoder; the weight of deletions is tuned where there are any."""

    decoder: LcsDecoder
    processes: int = 1

    @property
    def trained_D(self) -> Bools:
        """All, but that of deletions which the search does not know."""
        trained_D = np.ones(len(self.decoder.feature_names), dtype=np.bool_)
        trained_D[DELETION] = self.decoder.search.deletions
        return trained_D

    @property
    def uniform(self) -> Weights:
        """The same for everything that is tuned; deletions cost."""
        dense_D = np.where(self.trained_D, 1.0 / self.trained_D.sum(), 0.0)
        dense_D[DELETION] *= -1.0
        return Weights(dense_D, np.zeros(0), self.decoder.feature_names)

    @property
    def vocabulary(self) -> Vocabulary:
        """The target words."""
        return self.decoder.target_vocabulary

    @property
    def growing(self) -> None:
        """None: what features there are is known."""
        return

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[DecodedList]:
        """Lists without two hypotheses of the same words."""
        decoder = self.weighted(weights).with_search(nbest=size)
        for features_CD, words in each_sentence(decoder, listed_words, sentences, self.processes):
            yield DecodedList.of_words(words, features_CD)

    def weighted(self, weights: Weights) -> LcsDecoder:
        """The decoder under tuned weights."""
        return self.decoder.with_weights(weights)
