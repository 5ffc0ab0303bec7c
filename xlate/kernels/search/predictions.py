"""Predictions of a classifier in context for the source phrases of one sentence, in one call.

The steps are those of `models/context/model.py` (`Classifier.predict`), which is the reference; the features are
those of `features/context.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, AnyInts, Bools, Floats, Floats32, Ints, Ints32
from xlate.compiled import inner, lent, loop
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.learning.candidates import CandidateArrays, crossed_scores
from xlate.kernels.learning.slopes import log_chances
from xlate.kernels.search.spans import span_rows


class Predictor(NamedTuple):
    """A classifier of translations: `pair_N` and `log_share_N` for phrase p start at `offsets_P1[p]`.

    `finder` finds phrases of at most `longest` words; with `alone` each candidate is judged on its own.
    """

    finder: PhraseFinder
    places: ContextPlaces
    targets: TargetArrays
    offsets_P1: Ints
    pair_N: Ints
    log_share_N: Floats
    dense_D: Floats
    sparse_F: AnyFloats
    longest: int
    alone: bool


class Predicted(NamedTuple):
    """The output of a classifier for I source phrases of a sentence, with C candidates in all.

    `log_C` is ln p of each, in the sentence; `share_C` is ln p without it. `pair_C` are their numbers: pairs of the
    table, or classes of distances.
    """

    spans: PhraseSpans
    offsets_I1: Ints
    pair_C: Ints
    log_C: Floats
    share_C: Floats


@loop
def predicted_sentence(predictor: Predictor, ids_n: Ints32, value_Ln: Ints32) -> Predicted:
    """The candidates, with ln p of each, of the phrases of a sentence of n words with the given values in L layers."""
    predictor = lent(predictor)
    spans = _listed_spans(predictor, ids_n)
    offsets_I1 = np.zeros(len(spans.phrase_I) + 1, np.int64)
    offsets_I1[1:] = np.cumsum(predictor.offsets_P1[spans.phrase_I + 1] - predictor.offsets_P1[spans.phrase_I])
    size = offsets_I1[-1]
    pair_C, dense_C1 = np.empty(size, np.int64), np.empty((size, 1), np.float32)
    for i in range(len(spans.phrase_I)):
        first = predictor.offsets_P1[spans.phrase_I[i]]
        for c in range(offsets_I1[i], offsets_I1[i + 1]):
            pair_C[c] = predictor.pair_N[first + c - offsets_I1[i]]
            dense_C1[c, 0] = predictor.log_share_N[first + c - offsets_I1[i]]
    contexts = context_bags(value_Ln, np.array([0, len(ids_n)]), predictor.places, spans)
    parts = target_bags(predictor.targets, pair_C)
    log_C = _scores(predictor, offsets_I1, dense_C1, contexts, parts)
    for i in range(len(spans.phrase_I)):
        log_chances(log_C, offsets_I1[i], offsets_I1[i + 1], predictor.alone)
    return Predicted(spans, offsets_I1, pair_C, log_C, dense_C1[:, 0].astype(np.float64))


@inner
def _listed_spans(predictor: Predictor, ids_n: Ints32) -> PhraseSpans:
    """The phrases of a sentence that have listed translations."""
    longest, offsets_P1 = max(1, min(predictor.longest, len(ids_n))), predictor.offsets_P1
    row_C = span_rows(predictor.finder, ids_n, longest)
    cells = np.flatnonzero(row_C >= 0)
    cell_I = cells[offsets_P1[row_C[cells] + 1] > offsets_P1[row_C[cells]]]
    start_I = cell_I // longest
    end_I = start_I + cell_I % longest + 1
    return PhraseSpans(np.zeros(len(cell_I), np.int64), start_I, end_I, row_C[cell_I].astype(np.int64))


@loop
def _scores(
    predictor: Predictor,
    offsets_I1: Ints,
    dense_C1: Floats32,
    contexts: tuple[Ints, Ints32],
    parts: tuple[Ints, Ints32],
) -> Floats:
    no_floats, no_places, no_parts = np.zeros(0, np.float32), np.zeros(0, np.int64), np.zeros(0, np.int32)
    candidates = CandidateArrays(
        offsets_I1, dense_C1, no_floats, no_floats, no_places, no_places, no_parts,
        parts[0], parts[1], no_floats, contexts[0], contexts[1],
    )  # fmt: skip
    return crossed_scores(candidates, predictor.dense_D, predictor.sparse_F)


Bags = tuple[Ints, Ints32]


class ContextPlaces(NamedTuple):
    """L layers of values at P places around a source phrase.

    Attributes:
        first_LP: the id of the first value of a layer at a place.
        distance_P: how far the place is from its end of the phrase.
        behind_P: whether that end is the last word instead of the first.
        labels_L: how many values a layer has, without the two outside of a sentence.
    """

    first_LP: Ints
    distance_P: Ints
    behind_P: Bools
    labels_L: Ints


class PhraseSpans(NamedTuple):
    """I source phrases in their sentences: half-open spans, and the row of each phrase in the table."""

    sentence_I: AnyInts
    start_I: AnyInts
    end_I: AnyInts
    phrase_I: AnyInts

    def select(self, kept_I: Bools) -> PhraseSpans:
        """Some of them."""
        return PhraseSpans._make(column[kept_I] for column in self)


class TargetArrays(NamedTuple):
    """The target phrases of B pairs, and the first ids of pairs, phrases and words; -1 for any that are not used."""

    target_B: Ints32
    offsets_Q1: Ints
    ids_T: Ints32
    firsts_3: Ints


@loop
def context_bags(value_LT: Ints32, offsets_S1: Ints, places: ContextPlaces, spans: PhraseSpans) -> Bags:
    """The features of each phrase: a constant one, the phrase, then layer by layer the values at the places.

    `value_LT` are the values of the T tokens of the text, below 0 for none.
    """
    layers, wide = places.first_LP.shape
    offsets_I1 = np.zeros(len(spans.start_I) + 1, np.int64)
    ids = np.empty(len(spans.start_I) * (2 + layers * wide), np.int32)
    size = 0
    for i in range(len(spans.start_I)):
        begin, stop = offsets_S1[spans.sentence_I[i]], offsets_S1[spans.sentence_I[i] + 1]
        ids[size], ids[size + 1] = 0, 1 + spans.phrase_I[i]
        size += 2
        for layer in range(layers):
            for p in range(wide):
                at = begin + places.distance_P[p] + (spans.end_I[i] - 1 if places.behind_P[p] else spans.start_I[i])
                # Outside of a sentence only the nearest place counts: further ones would repeat the same.
                value = -1
                if begin <= at < stop:
                    value = value_LT[layer, at]
                elif at == begin - 1:
                    value = places.labels_L[layer]
                elif at == stop:
                    value = places.labels_L[layer] + 1
                if value >= 0:
                    ids[size] = places.first_LP[layer, p] + value
                    size += 1
        offsets_I1[i + 1] = size
    return offsets_I1, ids[:size].copy()


@loop
def target_bags(targets: TargetArrays, pair_C: Ints) -> Bags:
    """The features of each pair, as far as they are used: itself, its target phrase, and the phrase's words."""
    own, phrase, word = targets.firsts_3[0], targets.firsts_3[1], targets.firsts_3[2]
    offsets_C1 = np.zeros(len(pair_C) + 1, np.int64)
    for c in range(len(pair_C)):
        row, size = targets.target_B[pair_C[c]], (own >= 0) + (phrase >= 0)
        if word >= 0:
            size += targets.offsets_Q1[row + 1] - targets.offsets_Q1[row]
        offsets_C1[c + 1] = offsets_C1[c] + size
    ids, at = np.empty(offsets_C1[-1], np.int32), 0
    for c in range(len(pair_C)):
        row = targets.target_B[pair_C[c]]
        if own >= 0:
            ids[at] = own + pair_C[c]
            at += 1
        if phrase >= 0:
            ids[at] = phrase + row
            at += 1
        if word >= 0:
            for place in range(targets.offsets_Q1[row], targets.offsets_Q1[row + 1]):
                ids[at] = word + targets.ids_T[place]
                at += 1
    return offsets_C1, ids
