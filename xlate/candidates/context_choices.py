"""What a classifier in context chooses among: translations of a source phrase, or distances of its translation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.features.context import Bags, TargetFeatures
from xlate.features.distances import Distances
from xlate.phrases.listed_pairs import ListedPairs


class Chosen(NamedTuple):
    """The C candidates of I source phrases.

    `number_C` says which they are, `log_share_C` is ln p of each without a context, and `ids` are their features:
    offsets, (C + 1,), and ids.
    """

    offsets_I1: Ints
    number_C: Ints
    log_share_C: Floats
    ids: Bags


class Choices(Protocol):
    """What is chosen among for each source phrase."""

    def of(self, phrase_I: AnyInts) -> Chosen:
        """The candidates of I source phrases."""


@dataclass(frozen=True)
class Translations:
    """The listed pairs of a phrase table, by their numbers."""

    listed: ListedPairs
    targets: TargetFeatures

    def of(self, phrase_I: AnyInts) -> Chosen:
        """The pairs that are listed of each."""
        places, offsets_I1 = self.listed.of(phrase_I)
        pair_C = self.listed.pair_N[places]
        return Chosen(offsets_I1, pair_C, self.listed.log_share_N[places], self.targets.of(pair_C))


@dataclass(frozen=True)
class Places:
    """All R classes of distances; `log_share_PR` is ln p of each given the source phrase."""

    distances: Distances
    log_share_PR: Floats

    @classmethod
    def counted(cls, distances: Distances, count_N: AnyInts) -> Places:
        """Those of counts of phrase times class."""
        return cls(distances, distances.log_shares(np.asarray(count_N).reshape(-1, len(distances))))

    def of(self, phrase_I: AnyInts) -> Chosen:
        """Every class for each."""
        classes = len(self.distances)
        offsets_I1 = np.arange(len(phrase_I) + 1) * classes
        number_C = np.arange(len(phrase_I) * classes) % classes
        log_share_C = self.log_share_PR[np.asarray(phrase_I, np.int64)[row_numbers(offsets_I1)], number_C]
        return Chosen(offsets_I1, number_C, log_share_C, (np.arange(len(number_C) + 1), number_C.astype(np.int32)))
