"""The best pairs of source phrases under one weight vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    """

    backward_RK: NDArray[np.float64]
    forward_RK: NDArray[np.float64]
    first_R: NDArray[np.int32]
    last_R: NDArray[np.int32]


class RankedPhrases(Ranking[RankedPairs]):
    """The best `options` pairs of each source phrase asked for (Moses's table limit), under some weights.

    All of them where phrases score in their sentence, too: what is best there is only known there.
    """

    def __init__(
        self, model: PhraseModel, weights_D: NDArray[np.float64], options: int, sparse_F: NDArray[np.float64] | None
    ) -> None:
        self.model = model
        self.weights_D = weights_D
        self.options = options
        self.sparse_F = sparse_F if sparse_F is not None and sparse_F.any() else None
        super().__init__(len(model.table.source_phrases), RankedPairs)

    def prepare(self, sentences: Sequence[NDArray[np.int32]], longest: int) -> None:
        """Ranks whatever the spans of at most `longest` words of these sentences ask for."""
        finder, seen_P = self.model.source_finder, np.zeros(self.sources, dtype=np.bool_)
        for source_n in sentences:
            if len(source_n):
                row_C = span_rows(finder, source_n, max(1, min(longest, len(source_n))))
                seen_P[row_C[row_C >= 0]] = True
        self.rank(np.flatnonzero(seen_P))

    def ranked(self, rows: NDArray[np.int64]) -> tuple[RankedPairs, NDArray[np.int64]]:
        """The pairs of some source phrases, and how many each of them keeps."""
        model, weights_D = self.model, self.weights_D
        pair_B = places_of(model.pair_offsets_P1, rows)
        size_S = model.pair_offsets_P1[rows + 1] - model.pair_offsets_P1[rows]
        static_B, crossed_BK = model.static_scores(weights_D, pair_B), None
        if model.sparse is not None and self.sparse_F is not None:
            crossed_BK, plain_B = weighted(model, weights_D, self.sparse_F, model.sparse.applications(pair_B))
            static_B = static_B + plain_B
        targets = model.target_phrases(pair_B)
        words_T = model.lm_number_V[targets.ids_T]
        alone_B = static_B + weights_D[LM] * logprobs_alone(model.lm, targets.offsets_S1, words_T)
        most = self.options if model.in_sentence is None else max(int(size_S.max(initial=1)), self.options)
        kept = best_of_groups(alone_B, size_S, most)
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
        return RankedPairs(pair_B[kept], *scores, first, last), np.minimum(size_S, most)


def weighted(
    model: PhraseModel, weights_D: NDArray[np.float64], sparse_F: NDArray[np.float64], applications: Applications
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What local sparse features of applications score in each orientation, (N, K), and in all, (N,)."""
    assert model.sparse is not None
    crossed_NK, plain_N = model.sparse.local_scores(sparse_F, applications)
    return (
        crossed_NK * weights_D[model.slots[SPARSE_REORDERING]],
        plain_N * float(weights_D[model.slots[SPARSE_PLAIN].start]),
    )
