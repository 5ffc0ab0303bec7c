"""Features of source phrases in their sentences and of what may translate them, as `features/context.py` has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import Bools, Ints, Ints32
from xlate.compiled import loop

Bags = tuple[Ints, Ints32]


class ContextPlaces(NamedTuple):
    """L layers of values at P places around a source phrase.

    Attributes:
        first_LP: the id of the first value of a layer at a place.
        distance_P: how far the place is from its end of the phrase.
        behind_P: that end is the last word, not the first.
        labels_L: how many values a layer has, without the two outside of a sentence.
    """

    first_LP: Ints
    distance_P: Ints
    behind_P: Bools
    labels_L: Ints


class PhraseSpans(NamedTuple):
    """I source phrases in their sentences; see `features/context.py` (`Spans`)."""

    sentence_I: Ints
    start_I: Ints
    end_I: Ints
    phrase_I: Ints


class TargetArrays(NamedTuple):
    """The target phrases of B pairs, and the first ids of pairs, phrases and words; -1 for what is not asked for."""

    target_B: Ints32
    offsets_Q1: Ints
    ids_T: Ints32
    firsts_3: Ints


@loop
def context_bags(value_LT: Ints32, offsets_S1: Ints, places: ContextPlaces, spans: PhraseSpans) -> Bags:
    """The features of each phrase: one that is always there, the phrase, then layer by layer the values at the places.

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
                # Outside of a sentence only the place beside it counts: further ones would say the same again.
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
    """The features of each pair: itself, its target phrase, the words of that, as far as they are asked for."""
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
