"""The translations of a source sentence's spans, best first, with what they score wherever they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.decode.phrase_model import (
    LM,
    PHRASE_PENALTY,
    SPARSE_PLAIN,
    SPARSE_REORDERING,
    UNKNOWN,
    UNKNOWN_PENALTY,
    WORD_PENALTY,
    PhraseModel,
)
from xlate.decode.phrase_parts import COPIED
from xlate.features.phrase_sparse import Applications
from xlate.kernels.ngram import step_all
from xlate.kernels.phrase_lm import PhrasesAlone, walk_alone
from xlate.kernels.spans import span_futures, span_rows
from xlate.lm.model import NgramModel
from xlate.phrases.table import offsets_of, ragged_rows

NO_FORWARD = 0


@dataclass(frozen=True)
class RankedPhrases:
    """The R pairs that one weight vector leaves to choose from: the best of each source phrase, best first.

    Attributes:
        offsets_P1: the pairs of source phrase p are rows `offsets_P1[p]` to `offsets_P1[p + 1]`.
        pair_R: their numbers in the phrase table.
        static_R: weighted table scores and penalties.
        alone_R: that and the weighted language model score without a history, by which they are ranked.
        backward_RK: weighted scores of the K orientations with respect to the phrase before, local sparse features
            added.
        forward_R, forward_FK: the same of the phrase after: which of F distinct rows; the first is all 0.
        phrases: target words in the language model's numbers.
    """

    offsets_P1: NDArray[np.int64]
    pair_R: NDArray[np.int64]
    static_R: NDArray[np.float64]
    alone_R: NDArray[np.float64]
    backward_RK: NDArray[np.float64]
    forward_R: NDArray[np.int32]
    forward_FK: NDArray[np.float64]
    phrases: PhrasesAlone


def rank_phrases(
    model: PhraseModel, weights_D: NDArray[np.float64], options: int, sparse_F: NDArray[np.float64] | None = None
) -> RankedPhrases:
    """The best `options` pairs of each source phrase under some weights (Moses's table limit)."""
    table = model.table
    static_B = model.static_scores(weights_D)
    crossed_BK = None
    if model.sparse is not None and sparse_F is not None and sparse_F.any():
        every = model.sparse.applications(np.arange(len(table)))
        crossed_BK, plain_B = _weighted(model, weights_D, sparse_F, every)
        static_B = static_B + plain_B
    alone_B = static_B + weights_D[LM] * model.lm_alone_Q[table.target_B]
    order = np.lexsort((-alone_B, table.source_B))
    rank_B = np.arange(len(order)) - model.pair_offsets_P1[table.source_B]
    pair_R = order[rank_B < options]
    kept_P = np.minimum(np.diff(model.pair_offsets_P1), options)
    logs_RK2, k = model.log_reordering_BK2[pair_R], model.orientations
    forward_FK, forward_R = _distinct(weights_D[model.forward] * logs_RK2[:, k:])
    backward_RK = weights_D[model.backward] * logs_RK2[:, :k]
    if crossed_BK is not None:
        backward_RK += crossed_BK[pair_R]
    row_R, phrases = table.target_B[pair_R], table.target_phrases
    return RankedPhrases(
        offsets_P1=offsets_of(kept_P),
        pair_R=pair_R,
        static_R=static_B[pair_R],
        alone_R=alone_B[pair_R],
        backward_RK=backward_RK,
        forward_R=forward_R,
        forward_FK=forward_FK,
        phrases=_alone(
            model.lm,
            offsets_of(np.diff(phrases.offsets_S1)[row_R]),
            model.lm_ids_T[ragged_rows(phrases.offsets_S1, row_R)],
        ),
    )


def _weighted(
    model: PhraseModel, weights_D: NDArray[np.float64], sparse_F: NDArray[np.float64], applications: Applications
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What local sparse features of applications score in each orientation, (N, K), and in all, (N,)."""
    assert model.sparse is not None
    crossed_NK, plain_N = model.sparse.local_scores(sparse_F, applications)
    return (
        crossed_NK * weights_D[model.slots[SPARSE_REORDERING]],
        plain_N * float(weights_D[model.slots[SPARSE_PLAIN].start]),
    )


def _alone(lm: NgramModel, offsets_O1: NDArray[np.int64], words_W: NDArray[np.int32]) -> PhrasesAlone:
    return PhrasesAlone(offsets_O1, words_W, *walk_alone(lm.arrays, lm.empty_state, offsets_O1, words_W))


def _distinct(rows_RK: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The distinct rows, a row of zeros in front, and which of them each row is."""
    with_zero = np.concatenate([np.zeros((1, rows_RK.shape[1])), rows_RK + 0.0])
    order = np.lexsort(with_zero.T)
    ordered = with_zero[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.cumsum(new) - 1
    distinct = ordered[new]
    # Zeros change places with whatever came first.
    zero = int(number[0])
    distinct[[0, zero]] = distinct[[zero, 0]]
    swapped = np.where(number == zero, 0, np.where(number == 0, zero, number)).astype(np.int32)
    return distinct, swapped[1:]


@dataclass(frozen=True)
class PhraseOptions:
    """O options of a sentence of n words, grouped by source span; see `RankedPhrases` for the numbers of each.

    `source_n` are the numbers of the words, `first_O` and `last_O` those of the first and last target word of options.

    A span from `start` of `length` words (1 to J) is cell c = start · J + length - 1; its options are numbers
    `cell_offsets_C1[c]` to `cell_offsets_C1[c + 1]`, best first. `pair_O` is `COPIED` where a word stands for itself.
    """

    words: tuple[str, ...]
    source_n: NDArray[np.int32]
    longest: int
    cell_offsets_C1: NDArray[np.int64]
    pair_O: NDArray[np.int64]
    start_O: NDArray[np.int32]
    end_O: NDArray[np.int32]
    static_O: NDArray[np.float64]
    alone_O: NDArray[np.float64]
    backward_OK: NDArray[np.float64]
    forward_O: NDArray[np.int32]
    first_O: NDArray[np.int32]
    last_O: NDArray[np.int32]
    phrases: PhrasesAlone

    def cell(self, start: int, end: int) -> range:
        """The numbers of the options of one source span of at most J words."""
        c = start * self.longest + end - start - 1
        return range(int(self.cell_offsets_C1[c]), int(self.cell_offsets_C1[c + 1]))

    def phrase(self, option: int) -> NDArray[np.int32]:
        """The target words of an option."""
        offsets_O1 = self.phrases.offsets_O1
        return self.phrases.words_W[offsets_O1[option] : offsets_O1[option + 1]]

    def future_nn(self) -> NDArray[np.float64]:
        """The best sum of options without history over each span, shape (n + 1, n + 1), 0 for empty spans."""
        scores: NDArray[np.float64] = span_futures(
            len(self.words), self.longest, self.cell_offsets_C1, self.alone_O, False
        )
        return scores

    def __len__(self) -> int:
        """The number of options O."""
        return len(self.pair_O)


def collect_phrase_options(
    model: PhraseModel,
    weights_D: NDArray[np.float64],
    ranked: RankedPhrases,
    longest: int,
    words: Sequence[str],
    sparse_F: NDArray[np.float64] | None = None,
) -> PhraseOptions:
    """The options of every span of at most `longest` words.

    A word that no pair translates by itself may stand for itself, at the penalty of unknown words (Moses's rule, which
    asks nothing about longer phrases that hold the word).
    """
    longest = max(1, min(longest, len(words)))
    source_n = model.source_vocabulary.ids(words)
    row_C = span_rows(model.source_finder, source_n, longest)
    copied_C = (row_C < 0) & (np.arange(len(row_C)) % longest == 0)
    size_C = np.where(row_C < 0, copied_C, ranked.offsets_P1[row_C + 1] - ranked.offsets_P1[row_C])
    offsets_C1 = offsets_of(size_C)
    cell_O = np.repeat(np.arange(len(row_C)), size_C)
    copied_O = copied_C[cell_O]
    rows_O = ranked.offsets_P1[row_C[cell_O]] + np.arange(len(cell_O)) - offsets_C1[cell_O]
    # Copied words have no row: they come behind the others, and are put in their places by `order_O`.
    known_O, unknown_O = np.flatnonzero(~copied_O), np.flatnonzero(copied_O)
    rows, order_O = rows_O, known_O
    if len(unknown_O):
        rows, order_O = rows_O[known_O], np.argsort(np.concatenate([known_O, unknown_O]), kind="stable")
    starts = cell_O[unknown_O] // longest
    copies = _copies(model, weights_D, [words[start] for start in starts.tolist()], sparse_F)
    targets, target_R = model.table.target_phrases, model.table.target_B[ranked.pair_R[rows]]

    def joined(known: NDArray[Any], copied: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([known, copied])[order_O] if len(copied) else known

    return PhraseOptions(
        words=tuple(words),
        source_n=source_n,
        longest=longest,
        cell_offsets_C1=offsets_C1,
        pair_O=joined(ranked.pair_R[rows], np.full(len(starts), COPIED)),
        start_O=(cell_O // longest).astype(np.int32),
        end_O=(cell_O // longest + cell_O % longest + 1).astype(np.int32),
        static_O=joined(ranked.static_R[rows], copies.static),
        alone_O=joined(ranked.alone_R[rows], copies.alone),
        backward_OK=joined(ranked.backward_RK[rows], copies.backward),
        forward_O=joined(ranked.forward_R[rows], np.zeros(len(starts), dtype=np.int32)),
        first_O=joined(targets.ids_T[targets.offsets_S1[target_R]], copies.target),
        last_O=joined(targets.ids_T[targets.offsets_S1[target_R + 1] - 1], copies.target),
        phrases=_joined_phrases(ranked.phrases, rows, copies.phrases, order_O),
    )


@dataclass(frozen=True)
class _Copies:
    """Words that stand for themselves."""

    phrases: PhrasesAlone
    static: NDArray[np.float64]
    alone: NDArray[np.float64]
    backward: NDArray[np.float64]
    target: NDArray[np.int32]


def _copies(
    model: PhraseModel, weights_D: NDArray[np.float64], words: list[str], sparse_F: NDArray[np.float64] | None
) -> _Copies:
    if not words:
        return _no_copies(model.orientations)
    ids = model.lm.vocabulary.ids(words)
    penalty = weights_D[UNKNOWN] * UNKNOWN_PENALTY - weights_D[WORD_PENALTY] + weights_D[PHRASE_PENALTY]
    static, backward = np.full(len(words), penalty), np.zeros((len(words), model.orientations))
    target = model.target_vocabulary.ids(words)
    if model.sparse is not None and sparse_F is not None:
        backward, plain = _weighted(model, weights_D, sparse_F, copied_words(model, words))
        static += plain
    phrases = _alone(model.lm, np.arange(len(words) + 1), ids)
    empty = np.full(len(words), model.lm.empty_state, dtype=np.int32)
    alone = static + weights_D[LM] * step_all(model.lm.arrays, empty, ids)[0]
    return _Copies(phrases, static, alone, backward, target)


@cache
def _no_copies(orientations: int) -> _Copies:
    nothing, numbers = np.zeros(0), np.zeros(0, dtype=np.int32)
    phrases = PhrasesAlone(np.zeros(1, dtype=np.int64), numbers, numbers, nothing)
    return _Copies(phrases, nothing, nothing, np.zeros((0, orientations)), numbers)


def copied_words(model: PhraseModel, words: Sequence[str]) -> Applications:
    """Words that stand for themselves as applications."""
    source, target = model.source_vocabulary.ids(words), model.target_vocabulary.ids(words)
    one = np.ones(len(words), dtype=np.int64)
    return Applications(np.full(len(words), COPIED), source, source, target, target, one, one)


def _joined_phrases(
    ranked: PhrasesAlone, rows: NDArray[np.int64], copies: PhrasesAlone, order_O: NDArray[np.int64]
) -> PhrasesAlone:
    """The phrases of some rows and the copied words, in the order of the options."""
    places = ragged_rows(ranked.offsets_O1, rows)
    known_O = ranked.offsets_O1[rows + 1] - ranked.offsets_O1[rows]
    words_W, states_W, rest_W = ranked.words_W[places], ranked.states_W[places], ranked.rest_W[places]
    if not len(copies.words_W):
        return PhrasesAlone(offsets_of(known_O), words_W, states_W, rest_W)
    lengths_O = np.concatenate([known_O, np.diff(copies.offsets_O1)])
    places = ragged_rows(offsets_of(lengths_O), order_O)
    return PhrasesAlone(
        offsets_of(lengths_O[order_O]),
        np.concatenate([words_W, copies.words_W])[places],
        np.concatenate([states_W, copies.states_W])[places],
        np.concatenate([rest_W, copies.rest_W])[places],
    )
