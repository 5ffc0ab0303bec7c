"""Instances of a classifier in context: a source phrase in its sentence, and its candidates, one of them right.

The candidates are translations of the phrase, or distances of its translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, marked_in_rows, offsets_of, places_of_keys, row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.features.context import Bags, ContextFeatures, Distances, TargetFeatures, joined_bags
from xlate.kernels.search.predictions import PhraseSpans
from xlate.phrases.occurrences import ListedPairs
from xlate.text.vocabulary import EncodedText


class Chosen(NamedTuple):
    """The C candidates of I source phrases.

    `number_C` identifies them, `log_share_C` is ln p of each without a context, and `ids` are their features: offsets,
    (C + 1,), and ids.
    """

    offsets_I1: Ints
    number_C: Ints
    log_share_C: Floats
    ids: Bags


@dataclass(frozen=True)
class Translations:
    """The listed pairs of a phrase table, by their numbers."""

    listed: ListedPairs
    targets: TargetFeatures

    def of(self, phrase_I: AnyInts) -> Chosen:
        """The listed pairs of each phrase."""
        places, offsets_I1 = gathered(self.listed.offsets_P1, phrase_I)
        pair_C = self.listed.pair_N[places]
        return Chosen(offsets_I1, pair_C, self.listed.log_share_N[places], self.targets.of(pair_C))


@dataclass(frozen=True)
class Places:
    """All R classes of distances; `log_share_PR` is ln p of each given the source phrase."""

    distances: Distances
    log_share_PR: Floats

    def of(self, phrase_I: AnyInts) -> Chosen:
        """Every class for each phrase."""
        classes = len(self.distances)
        offsets_I1 = np.arange(len(phrase_I) + 1) * classes
        number_C = np.arange(len(phrase_I) * classes) % classes
        log_share_C = self.log_share_PR[np.asarray(phrase_I, np.int64)[row_numbers(offsets_I1)], number_C]
        return Chosen(offsets_I1, number_C, log_share_C, (np.arange(len(number_C) + 1), number_C.astype(np.int32)))


DENSE = ("forward",)
# The pair of a source phrase whose translation is not considered.
NO_PAIR = -1


# The candidates for each source phrase.
Choices = Translations | Places


@dataclass(frozen=True)
class Examples:
    """X facts that a classifier learns from, sorted by sentence and span: the right candidate for a source phrase.

    Attributes:
        spans: the phrases; one may occur several times.
        number_X: the number of the right candidate.
        pair_X: the pair considered along with the phrase, `NO_PAIR` for none. Facts of one span and pair are one
            instance.
    """

    spans: PhraseSpans
    number_X: Ints
    pair_X: Ints

    def __len__(self) -> int:
        """The number of facts X."""
        return len(self.number_X)

    def select(self, kept_X: Bools) -> Examples:
        """Some of them."""
        return Examples(self.spans.select(kept_X), self.number_X[kept_X], self.pair_X[kept_X])

    def once(self) -> Examples:
        """Only the first fact of each span and pair."""
        spans, pair_I, of_X = self.instances()
        return Examples(spans, self.number_X[np.flatnonzero(np.diff(of_X, prepend=-1))], pair_I)

    def instances(self) -> tuple[PhraseSpans, Ints, Ints]:
        """The I different spans with their pairs, (I,), and the instance of each fact, (X,)."""
        keys_4X = np.stack([self.spans.sentence_I, self.spans.start_I, self.spans.end_I, self.pair_X])
        new_X = np.ones(len(self), np.bool_)
        new_X[1:] = (keys_4X[:, 1:] != keys_4X[:, :-1]).any(axis=0)
        return self.spans.select(new_X), self.pair_X[new_X], np.cumsum(new_X) - 1


@dataclass(frozen=True)
class ContextInstances:
    """Makes instances from spans of a text.

    Attributes:
        contexts: the features of contexts.
        choices: the candidates for each source phrase.
        text: the sentences, by word number.
        factors: of each of its tokens; see `ContextFeatures.of`.
        beside: the features of a translation that counts as context too, numbered after those of contexts; None
            without it.
    """

    contexts: ContextFeatures
    choices: Choices
    text: EncodedText
    factors: Sequence[Ints32]
    beside: TargetFeatures | None = None

    def of(self, spans: PhraseSpans, pair_I: Ints | None = None) -> tuple[CandidateBatch, Ints]:
        """Instances of I spans, all gains 0, and the number of each of their C candidates.

        Args:
            spans: the source phrases.
            pair_I: the pair considered along with each; None for none at all.
        """
        chosen = self.choices.of(spans.phrase_I)
        id_offsets_C1, ids_N = chosen.ids
        found = self.contexts.of(self.text, self.factors, spans)
        if self.beside is not None and pair_I is not None:
            known_I = pair_I >= 0
            offsets_K1, ids = self.beside.of(pair_I[known_I])
            size_I = np.zeros(len(pair_I), np.int64)
            size_I[known_I] = np.diff(offsets_K1)
            found = joined_bags([found, (offsets_of(size_I), ids + np.int32(len(self.contexts)))])
        context_offsets_I1, contexts_X = found
        batch = CandidateBatch(
            candidate_offsets_I1=chosen.offsets_I1,
            dense_CD=chosen.log_share_C.astype(np.float32)[:, None],
            gain_CG=np.zeros((len(chosen.number_C), 1), np.float32),
            part_id_offsets_P1=id_offsets_C1,
            part_ids_N=ids_N,
            sentence_I=np.asarray(spans.sentence_I, np.int64),
            context_offsets_I1=context_offsets_I1,
            contexts_X=contexts_X,
        )
        return batch, chosen.number_C

    def events(self, seen: Examples) -> CandidateBatch:
        """Instances of facts: 1 for the candidates that were right, -1 for the others.

        Instances without a right candidate in the list, or with no other, are left out.
        """
        spans, pair_I, of_X = seen.instances()
        chosen = self.choices.of(spans.phrase_I)
        offsets_I1 = chosen.offsets_I1
        instance_C = row_numbers(offsets_I1)
        keys_X = np.sort((of_X << 32) | seen.number_X)
        true_C = places_of_keys(keys_X, (instance_C << 32) | chosen.number_C) >= 0
        right_I = marked_in_rows(true_C, offsets_I1)
        kept_I = (right_I > 0) & (right_I < np.diff(offsets_I1))
        batch, _ = self.of(spans.select(kept_I), pair_I[kept_I])
        gain_C = np.where(true_C, 1.0, -1.0)[kept_I[instance_C]]
        batch.gain_CG[:, 0] = gain_C
        return batch
