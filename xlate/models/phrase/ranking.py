"""The best pairs of source phrases under one weight vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import places_of
from xlate.features.phrase_sparse import Applications
from xlate.kernels.search.spans import span_rows
from xlate.models.phrase.model import LM, SPARSE_PLAIN, SPARSE_REORDERING, PhraseModel
from xlate.models.ranking import RankedRows, Ranking, best_of_groups, logprobs_alone, phrases_alone
from xlate.phrases.table import select_phrases


@dataclass(frozen=True)
class RankedPairs(RankedRows):
    """R phrase pairs, those of each source phrase together and best first; static is table scores and penalties.

    Attributes:
        backward_RK: weighted scores of the K orientations with respect to the phrase before, local sparse features
            added.
        forward_RK: the same of the phrase after, without sparse features.
        first_R, last_R: the numbers of the first and the last target word.
        more_RE: the floats of pairs in their sentence, NaN where only the sentence says them.
    """

    backward_RK: Floats
    forward_RK: Floats
    first_R: Ints32
    last_R: Ints32
    more_RE: Floats


class RankedPhrases(Ranking[RankedPairs]):
    """The best `options` pairs of each source phrase asked for (Moses's table limit), under some weights.

    Where phrases score in their sentence, too, all that may be among the best in some sentence: what is best there is
    only known there, but of pairs that score alike everywhere.
    """

    def __init__(self, model: PhraseModel, weights_D: Floats, options: int, sparse_F: Floats | None) -> None:
        self.model = model
        self.weights_D = weights_D
        self.options = options
        self.sparse_F = sparse_F if sparse_F is not None and sparse_F.any() else None
        super().__init__(len(model.table.source_phrases), RankedPairs)

    def prepare(self, sentences: Sequence[Ints32], longest: int) -> None:
        """Ranks whatever the spans of at most `longest` words of these sentences ask for."""
        finder, seen_P = self.model.source_finder, np.zeros(self.sources, dtype=np.bool_)
        for source_n in sentences:
            if len(source_n):
                row_C = span_rows(finder, source_n, max(1, min(longest, len(source_n))))
                seen_P[row_C[row_C >= 0]] = True
        self.rank(np.flatnonzero(seen_P))

    def ranked(self, rows: Ints) -> tuple[RankedPairs, Ints]:
        """The pairs of some source phrases, and how many each of them keeps."""
        model, weights_D = self.model, self.weights_D
        pair_B = places_of(model.unit_offsets_P1, rows)
        size_S = model.unit_offsets_P1[rows + 1] - model.unit_offsets_P1[rows]
        static_B, crossed_BK = model.static_scores(weights_D, pair_B), None
        if model.sparse is not None and self.sparse_F is not None:
            crossed_BK, plain_B = weighted(model, weights_D, self.sparse_F, model.sparse.applications(pair_B))
            static_B = static_B + plain_B
        targets = model.target_phrases(pair_B)
        words_T = model.lm_number_V[targets.ids_T]
        alone_B = static_B + weights_D[LM] * logprobs_alone(model.lm, targets.offsets_S1, words_T)
        kept, size_S, more_RE = self._kept(pair_B, alone_B, size_S)
        logs_RK2, k = model.log_reordering(pair_B[kept]), model.orientations
        backward_RK = weights_D[model.backward] * logs_RK2[:, :k]
        if crossed_BK is not None:
            backward_RK += crossed_BK[kept]
        # No zero is negative: equal rows have equal bits.
        forward_RK = weights_D[model.forward] * logs_RK2[:, k:] + 0.0
        chosen = select_phrases(targets, kept)
        first, last = chosen.ids_T[chosen.offsets_S1[:-1]], chosen.ids_T[chosen.offsets_S1[1:] - 1]
        phrases = phrases_alone(model.lm, chosen.offsets_S1, model.lm_number_V[chosen.ids_T])
        scores = static_B[kept], alone_B[kept], phrases, backward_RK, forward_RK
        return RankedPairs(pair_B[kept], *scores, first, last, more_RE), size_S

    def _kept(self, pair_B: Ints, alone_B: Floats, size_S: Ints) -> tuple[Ints, Ints, Floats]:
        """The places of pairs that may be options, best first, how many each source phrase has, and `more_RE`."""
        if self.model.in_sentence is None:
            kept = best_of_groups(alone_B, size_S, self.options)
            return kept, np.minimum(size_S, self.options), np.zeros((len(kept), 0))
        order = best_of_groups(alone_B, size_S, max(len(alone_B), 1))
        more_RE = self.model.in_sentence.anywhere(pair_B[order])
        score_R = alone_B[order] + (more_RE * self.weights_D[self.model.sentence_slots]).sum(axis=1)
        source_R = np.repeat(np.arange(len(size_S)), size_S)
        settled = np.flatnonzero((more_RE > -np.inf).all(axis=1))
        size = np.bincount(source_R[settled], minlength=len(size_S))
        kept_R = np.asarray(np.isnan(more_RE).any(axis=1))
        kept_R[settled[best_of_groups(score_R[settled], size, self.options)]] = True
        size_S = np.bincount(source_R[kept_R], minlength=len(size_S))
        return order[kept_R], size_S, more_RE[kept_R]


def weighted(
    model: PhraseModel, weights_D: Floats, sparse_F: Floats, applications: Applications
) -> tuple[Floats, Floats]:
    """What local sparse features of applications score in each orientation, (N, K), and in all, (N,)."""
    assert model.sparse is not None
    crossed_NK, plain_N = model.sparse.local_scores(sparse_F, applications)
    return (
        crossed_NK * weights_D[model.slots[SPARSE_REORDERING]],
        plain_N * float(weights_D[model.slots[SPARSE_PLAIN].start]),
    )
