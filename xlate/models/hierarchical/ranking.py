"""The best rules of source sides under one weight vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Bools, Floats, Ints
from xlate.arrays.ragged import places_of
from xlate.models.derivation import COPIED
from xlate.models.hierarchical.model import LM, HierarchicalModel
from xlate.models.ranking import RankedRows, Ranking, best_of_groups, logprobs_alone, phrases_alone
from xlate.models.unit_model import weighted_sum
from xlate.phrases.table import select_phrases


@dataclass(frozen=True)
class RankedTranslations(RankedRows):
    """R rules, those of each source side together and best first.

    Attributes:
        swapped_R: whether the gaps of a rule come in reverse in the target.
    """

    swapped_R: Bools


class RankedRules(Ranking[RankedTranslations]):
    """The best `options` rules of each source side asked for, under some weights."""

    def __init__(self, model: HierarchicalModel, weights_D: Floats, options: int) -> None:
        self.model = model
        self.weights_D = weights_D
        self.options = options
        super().__init__(len(model.table.source_sides), RankedTranslations)

    def ranked(self, rows: Ints) -> tuple[RankedTranslations, Ints]:
        """The rules of some source sides, and how many each of them keeps."""
        model, offsets_P1 = self.model, self.model.unit_offsets_P1
        rule_B, size_S = places_of(offsets_P1, rows), offsets_P1[rows + 1] - offsets_P1[rows]
        static_B = weighted_sum(model.rule_features(rule_B), self.weights_D)
        targets = model.target_phrases(rule_B)
        words_T = model.lm_number_V[targets.ids_T]
        alone_B = static_B + self.weights_D[LM] * logprobs_alone(model.lm, targets.offsets_S1, words_T)
        kept = best_of_groups(alone_B, size_S, self.options)
        chosen = select_phrases(targets, kept)
        phrases = phrases_alone(model.lm, chosen.offsets_S1, model.lm_number_V[chosen.ids_T])
        swapped_R = np.asarray(model.table.swapped_B[rule_B[kept]], dtype=np.bool_)
        found = RankedTranslations(rule_B[kept], static_B[kept], alone_B[kept], phrases, swapped_R)
        return found, np.minimum(size_S, self.options)

    def copies(self, words: Sequence[str]) -> RankedTranslations:
        """Words that stand for themselves."""
        model, size = self.model, len(words)
        unit_N = np.full(size, COPIED, dtype=np.int64)
        static_N = weighted_sum(model.rule_features(unit_N), self.weights_D)
        text = np.arange(size + 1), model.lm.vocabulary.ids(words)
        alone_N = static_N + self.weights_D[LM] * logprobs_alone(model.lm, *text)
        return RankedTranslations(
            unit_N, static_N, alone_N, phrases_alone(model.lm, *text), np.zeros(size, dtype=np.bool_)
        )
