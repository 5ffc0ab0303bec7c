"""The hierarchical model whose float weights are tuned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xlate.array_types import Bools, Floats
from xlate.candidates.lists import DecodedList
from xlate.features.structure import StructureFeatures
from xlate.kernels.features.structure import FACT
from xlate.kernels.memory.rows import distinct_rows
from xlate.models.hierarchical.decoder import HierarchicalDecoder
from xlate.models.hierarchical.lists import RuleList, label_words
from xlate.models.hierarchical.model import COLUMNS, UNKNOWN
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class TunedRules:
    """The hierarchical decoder; its penalty of unknown words is not tuned.

    The sum of sparse features is a float that is tuned; with `tunes_sparse` the weights themselves are tuned, their sum
    weighs 1, and lists have the facts of derivations as units.
    """

    decoder: HierarchicalDecoder
    processes: int = 1
    tunes_sparse: bool = False

    @property
    def trained_D(self) -> Bools:
        """All but the penalty of unknown words, and the sum of sparse features whose weights are tuned."""
        trained_D = np.ones(self.decoder.model.size, dtype=np.bool_)
        trained_D[UNKNOWN] = False
        if self.tunes_sparse:
            trained_D[-1] = False
        return trained_D

    @property
    def uniform(self) -> Weights:
        """The same for every feature: penalties count below 0, and rules and glue are neither good nor bad."""
        trained_D = self.trained_D
        dense_D = np.where(trained_D, 1.0 / trained_D.sum(), 0.0)
        for name in ("RulePenalty0", "Glue0"):
            dense_D[COLUMNS.index(name)] = 0.0
        dense_D[COLUMNS.index("WordPenalty0")] *= -1.0
        dense_D[UNKNOWN] = 1.0
        if self.decoder.model.structure is not None:
            dense_D[-1] = 1.0
        return Weights(dense_D, np.zeros(0), self.decoder.model.columns)

    @property
    def vocabulary(self) -> Vocabulary:
        """The target words."""
        return self.decoder.target_vocabulary

    @property
    def growing(self) -> StructureFeatures | None:
        """The structure features whose weights are tuned."""
        return self.decoder.model.structure if self.tunes_sparse else None

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[DecodedList]:
        """Lists without two hypotheses of the same words."""
        decoder = self.weighted(weights).with_search(nbest=size)
        return each_sentence(decoder, with_facts if self.tunes_sparse else with_floats, sentences, self.processes)

    def weighted(self, weights: Weights) -> HierarchicalDecoder:
        """The decoder under tuned weights, and the fixed ones of sparse features, if any."""
        if not self.tunes_sparse:
            weights = replace(weights, sparse_F=self.decoder.sparse_F)
        return self.decoder.with_weights(weights)


def with_floats(decoder: HierarchicalDecoder, words: Sequence[str]) -> DecodedList:
    """The n-best list of a sentence with float features.

    Raises:
        InputError: a sentence of more words than the search can number.
    """
    if not words:
        return DecodedList.of_words([np.zeros(0, np.int32)], np.zeros((1, decoder.model.size)))
    found = decoder.nbest_list(words)
    return _numbered(found, found.features_ND)


def with_facts(decoder: HierarchicalDecoder, words: Sequence[str]) -> DecodedList:
    """The same with the facts of derivations as units, and the sum of sparse features left at 0."""
    empty = np.zeros(0, np.int32)
    if not words:
        nothing = with_floats(decoder, words)
        return nothing._replace(
            part_offsets_C1=np.zeros(2, np.int64),
            parts_K=empty,
            unit_PU=np.zeros((0, FACT), np.int32),
            between_offsets_P1=np.zeros(1, np.int64),
            between_T=empty,
        )
    found = decoder.nbest_list(words)
    listed, (fact_offsets_L1, facts_A5) = _numbered(found, found.floats_ND), found.facts
    # No row is all zeros, which would not be told apart from none.
    number_A, first_P = distinct_rows((facts_A5 + 1).astype(np.uint64))
    return listed._replace(
        part_offsets_C1=fact_offsets_L1[found.paths.offsets_N1],
        parts_K=number_A - 1,
        unit_PU=facts_A5[first_P],
        between_offsets_P1=np.zeros(len(first_P) + 1, np.int64),
        between_T=empty,
    )


def _numbered(found: RuleList, features_ND: Floats) -> DecodedList:
    offsets_L1, words_W = label_words(found.moves, found.paths.labels_L)
    return DecodedList(features_ND.astype(np.float32), offsets_L1[found.paths.offsets_N1], words_W)
