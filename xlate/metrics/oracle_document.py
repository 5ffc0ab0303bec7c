"""Gains of a sentence's translations by what they do to a document of oracles (Watanabe et al. 2007, section 4.2).

The document has the best translation known of every sentence. A translation gains what BLEU of the document is when it
takes the place of its sentence's own: the *approximated BLEU*, which knows of the n-grams and of the length that a
single sentence is measured without.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from xlate.array_types import AnyArray, Floats
from xlate.metrics.objective import BLEU, Objective

DOCUMENT = "document"


@dataclass
class OracleDocument:
    """The statistics of the best translations of I sentences, 0 for those without one yet.

    Attributes:
        statistics_IK: of each sentence's best translation.
        objective: what is measured, of the document or, with `by_sentence`, of single sentences.
        by_sentence: gains are the objective of a translation by itself.
    """

    statistics_IK: Floats
    objective: Objective = BLEU
    by_sentence: bool = False
    _sums_K: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Sums up."""
        self._sums_K = self.statistics_IK.sum(axis=0)

    @property
    def sums_K(self) -> Floats:
        """The statistics of the document, (K,)."""
        return self._sums_K

    @property
    def score(self) -> float:
        """The objective of the document, 0 to 100."""
        return float(self.objective.corpus(self._sums_K[None])[0])

    def gains(self, sentence: int, statistics_CK: AnyArray) -> Floats:
        """The gains of C translations of a sentence, (C,).

        Of the document they are differences to what it is worth without the sentence, times the number of its
        sentences, so that a unit is as much as in BLEU of single sentences, 0 to 1. One of everything is added to the
        document, since the first sentences would gain nothing without.
        """
        if self.by_sentence:
            return self.objective.sentences(statistics_CK)
        others_K = self._sums_K - self.statistics_IK[sentence] + 1.0
        rows_BK = np.concatenate([others_K[None], others_K + statistics_CK])
        sentences = int(np.count_nonzero(self.statistics_IK[:, 1])) + (self.statistics_IK[sentence, 1] == 0)
        values_B: Floats = self.objective.corpus(rows_BK) * (sentences / 100.0)
        gain_C: Floats = values_B[1:] - values_B[0]
        return gain_C

    def replace(self, sentence: int, statistics_K: AnyArray) -> None:
        """Puts another best translation of a sentence into the document."""
        self._sums_K += statistics_K - self.statistics_IK[sentence]
        self.statistics_IK[sentence] = statistics_K
