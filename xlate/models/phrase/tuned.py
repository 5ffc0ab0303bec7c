"""The phrase model whose weights are tuned: dense ones, sums of sparse features among them, or sparse ones too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from xlate.array_types import Bools, Floats
from xlate.candidates.lists import DecodedList
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.list_arrays import with_floats, with_ids
from xlate.models.phrase.model import SPARSE_PLAIN, SPARSE_REORDERING, UNKNOWN, WORD_PENALTY, PhraseModel
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class TunedPhrases:
    """The phrase decoder; its penalty of unknown words is not tuned, nor is a reordering model it does not have.

    Sparse features have fixed weights `sparse_F`, and their sums are floats that are tuned; with `tunes_sparse` the
    weights themselves are tuned, and the sums weigh 1.
    """

    decoder: PhraseDecoder
    processes: int = 1
    sparse_F: Floats | None = None
    tunes_sparse: bool = False

    @property
    def model(self) -> PhraseModel:
        """The model without weights."""
        return self.decoder.model

    @property
    def trained_D(self) -> Bools:
        """All but the penalty of unknown words and what is always 0."""
        names = self.model.columns
        trained_D = np.ones(len(names), dtype=np.bool_)
        trained_D[UNKNOWN] = False
        if self.model.reordering is None:
            trained_D[[name.startswith("LexicalReordering") for name in names]] = False
        if self.model.sparse is not None:
            slots, held = self.model.slots, () if self.tunes_sparse else self.model.sparse.families
            trained_D[slots[SPARSE_REORDERING]] = any(family.crossed > 1 for family in held)
            trained_D[slots[SPARSE_PLAIN]] = any(family.crossed == 1 for family in held)
        return trained_D

    @property
    def uniform(self) -> Weights:
        """The same for every feature; negative for the word penalty, which counts words below 0."""
        trained_D = self.trained_D
        dense_D = np.where(trained_D, 1.0 / trained_D.sum(), 0.0)
        dense_D[WORD_PENALTY] *= -1.0
        dense_D[UNKNOWN] = 1.0
        if not self.tunes_sparse or self.model.sparse is None:
            return Weights(dense_D, np.zeros(0), self.model.columns)
        return with_sums(Weights(dense_D, np.zeros(len(self.model.sparse)), self.model.columns), self.model)

    @property
    def vocabulary(self) -> Vocabulary:
        """The target words."""
        return self.decoder.target_vocabulary

    @property
    def growing(self) -> None:
        """None: what features there are is known."""
        return

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[DecodedList]:
        """Lists without two hypotheses of the same words, with steps as parts when sparse weights are tuned."""
        decoder = self.weighted(weights).with_search(nbest=size)
        return each_sentence(decoder, with_ids if self.tunes_sparse else with_floats, sentences, self.processes)

    def weighted(self, weights: Weights) -> PhraseDecoder:
        """The decoder under tuned weights, and the fixed ones of sparse features, if any."""
        if not self.tunes_sparse and self.sparse_F is not None:
            weights = replace(weights, sparse_F=self.sparse_F)
        return self.decoder.with_weights(weights)


def with_sums(theta: Weights, model: PhraseModel) -> Weights:
    """Float weights of a model, perhaps of one without some features: 0 for floats, 1 for sparse sums (λ = 1)."""
    dense_D = np.zeros(model.size)
    held = dict(zip(theta.dense_names, theta.dense_D.tolist(), strict=True))
    for place, name in enumerate(model.columns):
        dense_D[place] = held.get(name, 0.0)
    if model.sparse is not None:
        dense_D[model.slots[SPARSE_REORDERING]] = 1.0
        dense_D[model.slots[SPARSE_PLAIN]] = 1.0
    return replace(theta, dense_D=dense_D, dense_names=model.columns)
