"""The hierarchical model whose float weights are tuned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xlate.array_types import Bools, Floats
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import decoded, of_no_words, with_steps
from xlate.features.structure import StructureFeatures
from xlate.kernels.features.structure import FACT
from xlate.kernels.memory.rows import distinct_rows
from xlate.models.hierarchical.decoder import HierarchicalDecoder
from xlate.models.hierarchical.lists import RuleList, label_words
from xlate.models.hierarchical.model import COLUMNS, UNKNOWN
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.encoded import EncodedText
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

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[CandidateBatch]:
        """Lists without two hypotheses of the same words."""
        decoder = self.weighted(weights).with_search(nbest=size)
        return each_sentence(decoder, with_facts if self.tunes_sparse else with_floats, sentences, self.processes)

    def weighted(self, weights: Weights) -> HierarchicalDecoder:
        """The decoder under tuned weights, and the fixed ones of sparse features, if any."""
        if not self.tunes_sparse:
            weights = replace(weights, sparse_F=self.decoder.sparse_F)
        return self.decoder.with_weights(weights)


def with_floats(decoder: HierarchicalDecoder, words: Sequence[str]) -> CandidateBatch:
    """The n-best list of a sentence with float features.

    Raises:
        InputError: a sentence of more words than the search can number.
    """
    if not words:
        return of_no_words(decoder.model.size)
    found = decoder.nbest_list(words)
    return _numbered(found, found.features_ND)


def with_facts(decoder: HierarchicalDecoder, words: Sequence[str]) -> CandidateBatch:
    """The same with the facts of derivations as units, and the sum of sparse features left at 0."""
    if not words:
        nothing = np.zeros(2, np.int64), np.zeros(0, np.int32)
        return with_steps(of_no_words(decoder.model.size), *nothing, units=np.zeros((0, FACT), np.int32))
    found = decoder.nbest_list(words)
    listed, (fact_offsets_L1, facts_A5) = _numbered(found, found.floats_ND), found.facts
    # No row is all zeros, which would not be told apart from none.
    number_A, first_P = distinct_rows((facts_A5 + 1).astype(np.uint64))
    steps = fact_offsets_L1[found.paths.offsets_N1], number_A - 1
    return with_steps(listed, *steps, units=facts_A5[first_P])


def _numbered(found: RuleList, features_ND: Floats) -> CandidateBatch:
    offsets_L1, words_W = label_words(found.moves, found.paths.labels_L)
    return decoded(features_ND, EncodedText(words_W, offsets_L1[found.paths.offsets_N1]))
