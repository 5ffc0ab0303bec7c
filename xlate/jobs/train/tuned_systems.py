"""Systems whose float weights are tuned: what they are called, where they start, and their n-best lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from xlate.candidates.hypotheses import Hypotheses
from xlate.config.schema import DecoderConfig
from xlate.features.block import FLOATS
from xlate.jobs.systems.phrase import phrase_decoder
from xlate.jobs.systems.registry import make_decoder
from xlate.models.block.model import BlockModel
from xlate.models.distortion.model import DistortionModel
from xlate.models.phrase.list_arrays import with_floats, with_ids
from xlate.models.phrase.model import SPARSE_PLAIN, SPARSE_REORDERING, UNKNOWN, WORD_PENALTY, PhraseModel
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.numbering import Numbering
from xlate.text.vocabulary import Vocabulary

BINARY = "binary"


class TunedSystem(Protocol):
    """A decoder with D float weights."""

    @property
    def uniform(self) -> Weights:
        """Equal weights for everything that is tuned."""

    @property
    def trained_D(self) -> NDArray[np.bool_]:
        """Which weights are tuned; the others keep their values."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The target words, by which translations are numbered."""

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[Hypotheses]:
        """At most `size` translations of each sentence with D features, best first."""


@dataclass(frozen=True)
class PhraseSystem:
    """The phrase decoder; its penalty of unknown words is not tuned, nor is a reordering model it does not have.

    Sparse features have fixed weights `sparse_F`, and their sums are floats that are tuned; with `tunes_sparse` the
    weights themselves are tuned, and the sums weigh 1.
    """

    model: PhraseModel
    decoder: DecoderConfig
    processes: int = 1
    sparse_F: NDArray[np.float64] | None = None
    tunes_sparse: bool = False

    @property
    def trained_D(self) -> NDArray[np.bool_]:
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
        return self.model.target_vocabulary

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[Hypotheses]:
        """Lists without two hypotheses of the same words, with steps as parts when sparse weights are tuned."""
        if not self.tunes_sparse and self.sparse_F is not None:
            weights = replace(weights, sparse_F=self.sparse_F)
        decoder = phrase_decoder(self.model, weights, self.decoder, nbest=size)
        return each_sentence(decoder, with_ids if self.tunes_sparse else with_floats, sentences, self.processes)


def with_sums(theta: Weights, model: PhraseModel) -> Weights:
    """Float weights of a model, perhaps of one without sparse features, and 1 for their sums (λ = 1)."""
    dense_D = np.zeros(model.size)
    held = dict(zip(theta.dense_names, theta.dense_D.tolist(), strict=True))
    for place, name in enumerate(model.columns):
        dense_D[place] = held.get(name, 0.0)
    dense_D[model.slots[SPARSE_REORDERING]] = 1.0
    dense_D[model.slots[SPARSE_PLAIN]] = 1.0
    return replace(theta, dense_D=dense_D, dense_names=model.columns)


@dataclass(frozen=True)
class BlockSystem:
    """A block decoder: its floats are costs, so weights start below 0; all binary features together are one float."""

    model: BlockModel | DistortionModel
    decoder: DecoderConfig

    @property
    def names(self) -> tuple[str, ...]:
        """Of the weights."""
        if isinstance(self.model, BlockModel):
            floats = tuple(f"{kind}_{name}" for kind in ("linked", "neutral") for name in FLOATS)
        else:
            floats = tuple(f"linked_{k}" for k in range(len(self.model.weights)))
        return (*floats, BINARY)

    @property
    def trained_D(self) -> NDArray[np.bool_]:
        """What the model has a weight for."""
        return np.append(self._floats != 0, bool(len(self.model.feature_weights)))

    @property
    def uniform(self) -> Weights:
        """Minus the same for every float that the model uses, and 1 for the binary features as they are."""
        used_D = self.trained_D
        dense_D = np.where(used_D, -1.0 / max(int(used_D[:-1].sum()), 1), 0.0)
        dense_D[-1] = 1.0
        return Weights(dense_D, np.zeros(0), self.names)

    @property
    def trained(self) -> Weights:
        """The weights the model has."""
        return Weights(np.append(self._floats, 1.0), np.zeros(0), self.names)

    @property
    def _floats(self) -> NDArray[np.float64]:
        if isinstance(self.model, BlockModel):
            return np.concatenate([self.model.linked, self.model.neutral])
        return np.asarray(self.model.weights, dtype=np.float64)

    def weighted(self, weights: Weights) -> BlockModel | DistortionModel:
        """The model with other weights."""
        floats_D, scale = weights.dense_D[:-1], float(weights.dense_D[-1])
        features = self.model.feature_weights * scale
        if isinstance(self.model, BlockModel):
            linked_D, neutral_D = np.split(floats_D, 2)
            return replace(self.model, linked=linked_D, neutral=neutral_D, feature_weights=features)
        return replace(self.model, weights=floats_D, feature_weights=features)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the blocks."""
        return self.model.target_vocabulary or self.model.lm.vocabulary

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[Hypotheses]:
        """Lists without two hypotheses of the same words; the binary feature is what it is at weight 1."""
        decoder = make_decoder(self.weighted(weights), self.decoder, nbest=size)
        scale = float(weights.dense_D[-1]) or 1.0
        for sentence in sentences:
            found, numbering = decoder.translate(sentence), Numbering(self.vocabulary, sentence)
            rows = [one.features_D[: decoder.feature_names.index(BINARY) + 1] for one in found]
            features_CD = np.array(rows).reshape(-1, len(self.names))
            features_CD[:, -1] /= scale
            yield Hypotheses.of_words([numbering.ids(one.words) for one in found], features_CD)
