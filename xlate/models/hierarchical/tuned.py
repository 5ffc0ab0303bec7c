"""The hierarchical model whose weights are tuned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import decoded, of_no_words, with_steps
from xlate.features.structure import StructureFeatures
from xlate.kernels.features.structure import FACT
from xlate.kernels.memory import distinct_rows
from xlate.models.hierarchical.decoder import HierarchicalDecoder
from xlate.models.hierarchical.model import GLUE, RULE_PENALTY
from xlate.models.tuned import TunedUnits
from xlate.scoring.weights import Weights


class TunedRules(TunedUnits[HierarchicalDecoder]):
    """The hierarchical decoder; with `tunes_sparse` lists have the facts of derivations as units."""

    @property
    def uniform(self) -> Weights:
        """Rules and glue are neither good nor bad, and structure features weigh what they do."""
        start = super().uniform
        dense_D = start.dense_D
        dense_D[[RULE_PENALTY, GLUE]] = 0.0
        dense_D[self.decoder.model.sums] = 1.0
        return replace(start, dense_D=dense_D)

    @property
    def growing(self) -> StructureFeatures | None:
        """The structure features whose weights are tuned."""
        return self.decoder.model.structure if self.tunes_sparse else None

    @staticmethod
    def with_parts(decoder: HierarchicalDecoder, words: Sequence[str]) -> CandidateBatch:
        """With the facts of derivations as units."""
        if not words:
            nothing = np.zeros(2, np.int64), np.zeros(0, np.int32)
            return with_steps(of_no_words(decoder.model.size), *nothing, units=np.zeros((0, FACT), np.int32))
        found = decoder.nbest_list(words)
        fact_offsets_L1, facts_A5 = found.facts
        # No row is all zeros, which would not be told apart from none.
        number_A, first_P = distinct_rows((facts_A5 + 1).astype(np.uint64))
        steps = fact_offsets_L1[found.paths.offsets_N1], number_A - 1
        return with_steps(decoded(found.floats_ND, found.words), *steps, units=facts_A5[first_P])
