"""The best pairs of source phrases under one weight vector, ranked when a sentence first asks for them.

A text uses few of a table's phrases. What is ranked stays, so a phrase is ranked once; a whole text in one go is
faster than sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import offsets_of, places_of
from xlate.features.phrase_sparse import Applications
from xlate.kernels.lm.ngram import walk_sentences
from xlate.kernels.lm.phrase_lm import PhrasesAlone, walk_alone
from xlate.kernels.search.spans import span_rows
from xlate.lm.model import NgramModel
from xlate.models.phrase.model import LM, SPARSE_PLAIN, SPARSE_REORDERING, PhraseModel
from xlate.phrases.table import select_phrases

# So many source phrases are ranked at a time: what is worked out on the way grows with them.
AT_A_TIME = 1 << 14
# Pairs that are kept, some 150 bytes each, before a text of any length begins anew.
MOST = 1 << 20
UNRANKED = -1


@dataclass(frozen=True)
class RankedRows:
    """R pairs, those of each source phrase together and best first.

    Attributes:
        pair_R: their numbers in the phrase table.
        static_R: weighted table scores and penalties.
        alone_R: that and the weighted language model score without a history, by which they are ranked.
        backward_RK: weighted scores of the K orientations with respect to the phrase before, local sparse features
            added.
        forward_RK: the same of the phrase after, without sparse features.
        first_R, last_R: the numbers of the first and the last target word.
        phrases: target words in the language model's numbers.
    """

    pair_R: NDArray[np.int64]
    static_R: NDArray[np.float64]
    alone_R: NDArray[np.float64]
    backward_RK: NDArray[np.float64]
    forward_RK: NDArray[np.float64]
    first_R: NDArray[np.int32]
    last_R: NDArray[np.int32]
    phrases: PhrasesAlone


class RankedPhrases:
    """The best `options` pairs of each source phrase asked for (Moses's table limit), under some weights."""

    def __init__(
        self, model: PhraseModel, weights_D: NDArray[np.float64], options: int, sparse_F: NDArray[np.float64] | None
    ) -> None:
        self.model = model
        self.weights_D = weights_D
        self.options = options
        self.sparse_F = sparse_F if sparse_F is not None and sparse_F.any() else None
        self._forget()

    def _forget(self) -> None:
        self._place_P = np.full(len(self.model.table.source_phrases), UNRANKED, dtype=np.int32)
        empty, _ = self._ranked(np.zeros(0, dtype=np.int64))
        self._offsets_S1 = GrowingArray(np.zeros(1, dtype=np.int64))
        self._rows = [GrowingArray(array) for array in _row_arrays(empty)]
        self._word_offsets_R1 = GrowingArray(np.zeros(1, dtype=np.int64))
        self._words = [GrowingArray(array) for array in empty.phrases[1:]]

    def prepare(self, sentences: Sequence[NDArray[np.int32]], longest: int) -> None:
        """Ranks whatever the spans of at most `longest` words of these sentences ask for."""
        finder, seen_P = self.model.source_finder, np.zeros(len(self._place_P), dtype=np.bool_)
        for source_n in sentences:
            if len(source_n):
                row_C = span_rows(finder, source_n, max(1, min(longest, len(source_n))))
                seen_P[row_C[row_C >= 0]] = True
        self.rank(np.flatnonzero(seen_P))

    def rank(self, rows: NDArray[np.integer]) -> None:
        """Ranks those of these source phrases that were not ranked yet; others are forgotten when they are too many."""
        if len(self._rows[0]) > MOST and (self._place_P[rows] == UNRANKED).any():
            self._forget()
        new = np.unique(rows[self._place_P[rows] == UNRANKED]).astype(np.int64)
        for start in range(0, len(new), AT_A_TIME):
            self._append(new[start : start + AT_A_TIME])

    def sizes(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """How many pairs each of S source phrases has, all of them ranked; shape (S,)."""
        offsets_S1, place_S = self._offsets_S1.array, self._place_P[rows]
        size_S: NDArray[np.int64] = offsets_S1[place_S + 1] - offsets_S1[place_S]
        return size_S

    def pairs(self, rows: NDArray[np.integer]) -> RankedRows:
        """The pairs of source phrases, all of them ranked, one source phrase after the other."""
        places = places_of(self._offsets_S1.array, self._place_P[rows])
        offsets_R1 = self._word_offsets_R1.array
        at = places_of(offsets_R1, places)
        offsets = offsets_of(offsets_R1[places + 1] - offsets_R1[places])
        phrases = PhrasesAlone(offsets, *(column.array[at] for column in self._words))
        pair, static, alone, backward, forward, first, last = (column.array[places] for column in self._rows)
        return RankedRows(pair, static, alone, backward, forward, first, last, phrases)

    def _append(self, rows: NDArray[np.int64]) -> None:
        found, size_S = self._ranked(rows)
        self._place_P[rows] = len(self._offsets_S1) - 1 + np.arange(len(rows), dtype=np.int32)
        self._offsets_S1.append(len(self._rows[0]) + offsets_of(size_S)[1:])
        self._word_offsets_R1.append(len(self._words[0]) + found.phrases.offsets_O1[1:])
        for column, array in zip(self._rows, _row_arrays(found), strict=True):
            column.append(array)
        for column, values in zip(self._words, found.phrases[1:], strict=True):
            column.append(np.asarray(values))

    def _ranked(self, rows: NDArray[np.int64]) -> tuple[RankedRows, NDArray[np.int64]]:
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
        kept = _best(alone_B, size_S, self.options)
        logs_RK2, k = model.log_reordering(pair_B[kept]), model.orientations
        backward_RK = weights_D[model.backward] * logs_RK2[:, :k]
        if crossed_BK is not None:
            backward_RK += crossed_BK[kept]
        # No zero is negative: equal rows have equal bits.
        forward_RK = weights_D[model.forward] * logs_RK2[:, k:] + 0.0
        chosen = select_phrases(targets, kept)
        first, last = chosen.ids_T[chosen.offsets_S1[:-1]], chosen.ids_T[chosen.offsets_S1[1:] - 1]
        phrases = phrases_alone(model.lm, chosen.offsets_S1, model.lm_number_V[chosen.ids_T])
        scores = static_B[kept], alone_B[kept], backward_RK, forward_RK
        return RankedRows(pair_B[kept], *scores, first, last, phrases), np.minimum(size_S, self.options)


def _best(score_B: NDArray[np.float64], size_S: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The places of the `most` highest scores of each of S groups, best first, of equals the first."""
    order = np.lexsort((-score_B, np.repeat(np.arange(len(size_S)), size_S)))
    rank_B = np.arange(len(order)) - np.repeat(offsets_of(size_S)[:-1], size_S)
    return order[rank_B < most]


class GrowingArray:
    """An array that grows at its end."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array, self._size = array, len(array)

    @property
    def array(self) -> NDArray[Any]:
        """What it holds now."""
        return self._array[: self._size]

    def append(self, more: NDArray[Any]) -> None:
        """Puts more rows behind the last."""
        size = self._size + len(more)
        if size > len(self._array):
            grown = np.empty((max(size, 2 * len(self._array)), *self._array.shape[1:]), dtype=self._array.dtype)
            grown[: self._size] = self.array
            self._array = grown
        self._array[self._size : size] = more
        self._size = size

    def __len__(self) -> int:
        return self._size


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


def phrases_alone(lm: NgramModel, offsets_O1: NDArray[np.int64], words_W: NDArray[np.int32]) -> PhrasesAlone:
    """O phrases of W words, in the model's numbers, with what they are without a history (natural logs)."""
    return PhrasesAlone(offsets_O1, words_W, *walk_alone(lm.arrays, lm.empty_state, offsets_O1, words_W))


def logprobs_alone(lm: NgramModel, offsets_O1: NDArray[np.int64], words_W: NDArray[np.int32]) -> NDArray[np.float64]:
    """The natural log probability of each of O phrases of W words without a history, shape (O,)."""
    logprob_O: NDArray[np.float64] = walk_sentences(lm.arrays, lm.empty_state, -1, words_W, offsets_O1)
    return logprob_O


def _row_arrays(rows: RankedRows) -> tuple[NDArray[Any], ...]:
    return rows.pair_R, rows.static_R, rows.alone_R, rows.backward_RK, rows.forward_RK, rows.first_R, rows.last_R
