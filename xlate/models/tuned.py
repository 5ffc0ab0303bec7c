"""Systems whose dense weights are tuned: where they start, and their n-best lists under any weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, Generic, TypeVar

import numpy as np

from xlate.array_types import Bools, Floats, Ints32
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import Draw, decoded, of_no_steps, of_no_words
from xlate.errors import refuse_if
from xlate.features.structure import StructureFeatures
from xlate.kernels.search.best_paths import Paths
from xlate.models.system import AnySystem
from xlate.models.unit_model import AnyUnitModel
from xlate.models.unit_system import UnitList, UnitSystem
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.vocabulary import EncodedText, Numbering

# All sparse features together, as one float.
BINARY = "binary"


@dataclass(frozen=True)
class TunedSystem(ABC):
    """A system with D weights to be tuned, and perhaps F sparse ones.

    Attributes:
        system: with the weights it was trained with.
        processes: how many processes decode.
    """

    system: AnySystem
    processes: int = 1

    @property
    @abstractmethod
    def uniform(self) -> Weights:
        """Equal weights for everything that is tuned."""

    @property
    @abstractmethod
    def trained_D(self) -> Bools:
        """Which weights are tuned; the others keep their values."""

    @property
    def unit_D(self) -> Floats | None:
        """The unit of each feature in tuning, None if all are 1; a step of MIRA is proportional to the values in it."""
        return None

    @property
    def growing(self) -> StructureFeatures | None:
        """The index that numbers sparse features, if lists have units instead of ids; None otherwise."""
        return None

    def weighted(self, weights: Weights) -> AnySystem:
        """The system under tuned weights."""
        return self.system.with_weights(weights)

    def listing(self, weights: Weights, decoder: Any, words: Sequence[str]) -> CandidateBatch:  # noqa: ARG002
        """The list of a sentence by the system under tuned weights."""
        return listed(decoder, words)

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[CandidateBatch]:
        """At most `size` translations of each sentence with D features, best first, no two with the same words."""
        decoder = self.weighted(weights).with_search(nbest=size)
        return each_sentence(decoder, partial(self.listing, weights), sentences, self.processes)


@dataclass(frozen=True)
class TunedCosts(TunedSystem):
    """A system whose dense features are costs, so that weights start below 0; all sparse features are one float.

    Attributes:
        from_zero_D: the dense features that are tuned even though their weight is 0.
    """

    from_zero_D: Bools | bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the weights."""
        return (*self.system.weights.dense_names, BINARY)

    @property
    def trained_D(self) -> Bools:
        """What the system has a weight for, and what may begin at 0."""
        weights = self.system.weights
        return np.append((weights.dense_D != 0) | self.from_zero_D, bool(len(weights.sparse_F)))

    @property
    def uniform(self) -> Weights:
        """The same negative weight for every float that the system uses, and 1 for the sparse features as they are."""
        used_D = self.trained_D
        dense_D = np.where(used_D, -1.0 / max(int(used_D[:-1].sum()), 1), 0.0)
        dense_D[-1] = 1.0
        return Weights(dense_D, np.zeros(0), self.names)

    @property
    def trained(self) -> Weights:
        """The weights the system has."""
        return Weights(np.append(self.system.weights.dense_D, 1.0), np.zeros(0), self.names)

    def weighted(self, weights: Weights) -> AnySystem:
        """The system with other weights; its sparse ones are multiplied by the last of them."""
        held = self.system.weights
        sparse_F = held.sparse_F * float(weights.dense_D[-1])
        return self.system.with_weights(replace(held, dense_D=weights.dense_D[:-1], sparse_F=sparse_F))

    def listing(self, weights: Weights, decoder: Any, words: Sequence[str]) -> CandidateBatch:
        """The values of the last feature are divided by its weight."""
        return listed(decoder, words, len(self.names), float(weights.dense_D[-1]) or 1.0)


@dataclass(frozen=True)
class TunedByFold:
    """Decodes a system's own training text: each sentence without its fold.

    Attributes:
        parts: the system made without each fold, by the fold's number.
        fold_of: the fold of each sentence.
    """

    parts: Mapping[int, TunedSystem]
    fold_of: Mapping[tuple[str, ...], int]

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[CandidateBatch]:
        """The lists of the systems that have not seen the sentences."""
        for fold, some in groupby(sentences, lambda words: self.fold_of[tuple(words)]):
            yield from self.parts[fold].hypotheses(weights, list(some), size)


def listed(
    system: AnySystem, sentence: Sequence[str], columns: int | None = None, scale: float = 1.0
) -> CandidateBatch:
    """The translations of a sentence with their first `columns` features, the last of these divided by `scale`.

    Raises:
        InputError: a sentence of more words than the search can number.
    """
    found, numbering = system.translate(sentence), Numbering(system.target_vocabulary, sentence)
    rows_CD = np.array([one.features_D for one in found]).reshape(-1, len(system.feature_names))[:, :columns]
    rows_CD[:, -1] /= scale
    return decoded(rows_CD, EncodedText.from_ids([numbering.ids(one.words) for one in found]))


def found_paths(system: AnySystem, words: Sequence[str], draw: Draw | None) -> tuple[Any, Paths, Ints32]:
    """The space of a sentence, its `nbest` best paths or drawn ones, and how often each was drawn: 0 for the best ones.

    Raises:
        InputError: a sentence without words, or of more than the search can number.
    """
    refuse_if(not words, "an empty sentence has no list", None, "one word or more")
    space = system.space(words)
    if draw is not None:
        return space, *draw.paths(system.search_space(space, every_arc=True).arcs, words)
    paths = system.nbest_paths(space)
    return space, paths, np.zeros(len(paths.offsets_N1) - 1, np.int32)


Decoder = TypeVar("Decoder", bound=UnitSystem[Any, Any, Any, Any])
Listed = TypeVar("Listed", bound=UnitList)


@dataclass(frozen=True)
class TunedUnits(TunedSystem, Generic[Decoder, Listed]):
    """A system of units; its penalty for unknown words is not tuned.

    Sparse features have the weights of the system, and their sums are floats that are tuned; with `tunes_sparse` the
    weights themselves are tuned, and the sums weigh 1.

    Attributes:
        UNIT: the size of the units in lists, 0 for lists with ids.
    """

    UNIT = 0
    system: Decoder
    tunes_sparse: bool = False

    @property
    def trained_D(self) -> Bools:
        """All except the penalty for unknown words, and sums of sparse features whose weights are tuned."""
        model = self.system.model
        trained_D = np.ones(model.size, np.bool_)
        trained_D[model.slots["UnknownWordPenalty0"]] = False
        if self.tunes_sparse:
            trained_D[model.sums] = False
        return trained_D

    @property
    def unit_D(self) -> Floats | None:
        if self.tunes_sparse or self.system.model.sparse is None:
            return None
        # The sizes of float weights sum to 1, while a sum of sparse features weighs about 1 on its own.
        unit_D, sums = np.ones(self.system.model.size), self.system.model.sums
        unit_D[sums] = 1.0 / sums.start
        return unit_D

    @property
    def uniform(self) -> Weights:
        """The same weight for every feature that is tuned, negated for the word penalty, whose values are negative."""
        model, trained_D = self.system.model, self.trained_D
        dense_D = np.where(trained_D, 1.0 / trained_D.sum(), 0.0)
        dense_D[model.slots["WordPenalty0"]] *= -1.0
        dense_D[model.slots["UnknownWordPenalty0"]] = 1.0
        # Learned sparse weights already have the right size.
        dense_D[model.sums] = 1.0
        return Weights(dense_D, np.zeros(0), model.columns)

    def listing(self, weights: Weights, decoder: Decoder, words: Sequence[str]) -> CandidateBatch:  # noqa: ARG002
        """With steps as parts when sparse weights are tuned."""
        size = decoder.model.size
        if not words:
            return of_no_steps(size, self.UNIT) if self.tunes_sparse else of_no_words(size)
        found = decoder.space_list(decoder.space(words))
        return self.with_parts(found) if self.tunes_sparse else decoded(found.features_ND, found.words)

    @abstractmethod
    def with_parts(self, found: Listed) -> CandidateBatch:
        """A list with steps as parts, sums of sparse features left at 0."""

    def weighted(self, weights: Weights) -> Decoder:
        """The system under tuned weights, and the fixed ones of sparse features, if any."""
        if not self.tunes_sparse:
            weights = replace(weights, sparse_F=self.system.sparse_F)
        return self.system.with_weights(weights)


def with_sums(theta: Weights, model: AnyUnitModel) -> Weights:
    """Float weights of a model, perhaps of one without some features: 0 for floats, 1 for sparse sums (λ = 1)."""
    held = theta.floats
    dense_D = np.array([held.get(name, 0.0) for name in model.columns])
    dense_D[model.sums] = 1.0
    return replace(theta, dense_D=dense_D, dense_names=model.columns)
