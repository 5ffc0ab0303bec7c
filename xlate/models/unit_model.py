"""Models of units with scores: phrase pairs, or hierarchical rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.features.index import FeatureIndex
from xlate.kernels.counting.matching import PhraseFinder
from xlate.lm.model import NgramModel
from xlate.phrases.matching import phrase_finder
from xlate.phrases.table import LinkedPairs, select_phrases
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import Vocabulary

# The least natural log of a score, and what a source word that stands for itself counts, as in Moses.
LOWEST_LOG = -100.0
UNKNOWN_PENALTY = -100.0


Table = TypeVar("Table", bound=LinkedPairs)


@dataclass(frozen=True)
class UnitModel(ABC, Generic[Table]):
    """Units with scores, a language model, and float features by name; there are no weights in it."""

    table: Table
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    lm: NgramModel

    @property
    @abstractmethod
    def features(self) -> Mapping[str, int]:
        """The D float features by name, and how many numbers each has."""

    @property
    @abstractmethod
    def sparse_features(self) -> FeatureIndex | None:
        """What sparse weights are of, None for a model without any."""

    @property
    @abstractmethod
    def source_sides(self) -> EncodedText:
        """The P distinct source sides of the units."""

    @cached_property
    def slots(self) -> dict[str, slice]:
        """Where each float feature stands."""
        return slots_of(self.features)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """A name for each float feature: `LM0`, and `TranslationModel0_0` where there are several."""
        return columns_of(self.features)

    @cached_property
    def sums(self) -> slice:
        """Where the sums of sparse features stand, behind all other floats."""
        starts = [part.start for name, part in self.slots.items() if name.startswith("Sparse")]
        return slice(min(starts, default=self.size), self.size)

    @property
    def size(self) -> int:
        """The number of float features D."""
        return len(self.columns)

    @cached_property
    def source_finder(self) -> PhraseFinder:
        """Finds the source sides in a sentence."""
        return phrase_finder(self.source_sides)

    @cached_property
    def lm_number_V(self) -> Ints32:
        """The language model's numbers of the target words, shape (V,)."""
        number_V: Ints32 = self.lm.map_vocabulary(self.target_vocabulary.words)
        return number_V

    @cached_property
    def unit_offsets_P1(self) -> Ints:
        """Where the units of each source side begin, shape (P + 1,)."""
        return np.searchsorted(self.table.source_B, np.arange(len(self.source_sides) + 1)).astype(np.int64)

    def log_scores(self, unit_N: AnyInts) -> Floats:
        """Natural logs of the four scores of units, at least -100, shape (N, 4)."""
        return floored_log(self.table.scores_B4[unit_N])

    def target_phrases(self, unit_N: AnyInts) -> EncodedText:
        """The target phrases of units."""
        return select_phrases(self.table.target_phrases, self.table.target_B[unit_N])

    def target_words(self, unit: int) -> tuple[str, ...]:
        """The target phrase of a unit."""
        row = self.table.target_phrases[int(self.table.target_B[unit])]
        return tuple(self.target_vocabulary.words[word] for word in row.tolist())


AnyUnitModel = UnitModel[Any]


def slots_of(features: Mapping[str, int]) -> dict[str, slice]:
    """Where each of some features stands that have so many numbers each.

    >>> slots_of({"LM0": 1, "TranslationModel0": 4})
    {'LM0': slice(0, 1, None), 'TranslationModel0': slice(1, 5, None)}
    """
    starts = accumulate(features.values(), initial=0)
    return {name: slice(*ends) for name, ends in zip(features, pairwise(starts), strict=True)}


def columns_of(features: Mapping[str, int]) -> tuple[str, ...]:
    """A name for each number of some features.

    >>> columns_of({"LM0": 1, "Backtrack0": 2})
    ('LM0', 'Backtrack0_0', 'Backtrack0_1')
    """
    counts = features.items()
    return tuple(name if count == 1 else f"{name}_{place}" for name, count in counts for place in range(count))


def floored_log(probabilities: Floats) -> Floats:
    """Natural logs, at least -100."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.maximum(np.log(probabilities), LOWEST_LOG)
    return logs


def weighted_sum(features_ND: Floats, weights_D: Floats) -> Floats:
    """The weighted sums of rows, (N,); not a matrix product, whose last bits depend on which rows are together."""
    total_N = np.zeros(len(features_ND))
    for weight, column_N in zip(weights_D.tolist(), features_ND.T, strict=True):
        if weight:
            total_N += weight * column_N
    return total_N
