"""Systems of phrase pairs or of rules whose weights are tuned, and their lists as batches of candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import decoded, of_no_words
from xlate.models.unit_system import UnitSystem
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.vocabulary import Vocabulary

AnyUnitSystem = UnitSystem[Any, Any, Any, Any]
Decoder = TypeVar("Decoder", bound=AnyUnitSystem)


@dataclass(frozen=True)
class TunedUnits(ABC, Generic[Decoder]):
    """A system of units; its penalty of unknown words is not tuned.

    Sparse features have the weights of the decoder, and their sums are floats that are tuned; with `tunes_sparse` the
    weights themselves are tuned, and the sums weigh 1.
    """

    decoder: Decoder
    processes: int = 1
    tunes_sparse: bool = False

    @property
    def trained_D(self) -> Bools:
        """All but the penalty of unknown words, and sums of sparse features whose weights are tuned."""
        model = self.decoder.model
        trained_D = np.ones(model.size, dtype=np.bool_)
        trained_D[model.slots["UnknownWordPenalty0"]] = False
        if self.tunes_sparse:
            trained_D[model.sums] = False
        return trained_D

    @property
    def uniform(self) -> Weights:
        """The same weight for every feature that is tuned, with the sign turned for the word penalty, whose values are
        negative.
        """
        model, trained_D = self.decoder.model, self.trained_D
        dense_D = np.where(trained_D, 1.0 / trained_D.sum(), 0.0)
        dense_D[model.slots["WordPenalty0"]] *= -1.0
        dense_D[model.slots["UnknownWordPenalty0"]] = 1.0
        if self.tunes_sparse:
            dense_D[model.sums] = 1.0
        return Weights(dense_D, np.zeros(0), model.columns)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the target side."""
        return self.decoder.target_vocabulary

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[CandidateBatch]:
        """Lists without two hypotheses of the same words, with steps as parts when sparse weights are tuned."""
        decoder = self.weighted(weights).with_search(nbest=size)
        return each_sentence(decoder, self.with_parts if self.tunes_sparse else with_floats, sentences, self.processes)

    @staticmethod
    @abstractmethod
    def with_parts(decoder: Decoder, words: Sequence[str]) -> CandidateBatch:
        """The n-best list of a sentence with steps as parts, sums of sparse features left at 0."""

    def weighted(self, weights: Weights) -> Decoder:
        """The decoder under tuned weights, and the fixed ones of sparse features, if any."""
        if not self.tunes_sparse:
            weights = replace(weights, sparse_F=self.decoder.sparse_F)
        return self.decoder.with_weights(weights)


def with_floats(decoder: AnyUnitSystem, words: Sequence[str]) -> CandidateBatch:
    """The n-best list of a sentence with float features, sums of sparse ones among them.

    Raises:
        InputError: a sentence of more words than the search can number.
    """
    if not words:
        return of_no_words(decoder.model.size)
    found = decoder.nbest_list(words)
    return decoded(found.features_ND, found.words)
