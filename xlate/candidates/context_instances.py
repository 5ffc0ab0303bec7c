"""Instances of a classifier in context: a source phrase in its sentence, and its translations, one of them right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import marked_in_rows, row_numbers
from xlate.arrays.sorted_keys import places_of_keys
from xlate.candidates.batch import CandidateBatch
from xlate.features.context import ContextFeatures, Spans, TargetFeatures
from xlate.phrases.listed_pairs import ListedPairs
from xlate.phrases.occurrences import Occurrences
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText

DENSE = ("forward",)


@dataclass(frozen=True)
class ContextInstances:
    """Makes instances of spans of a text.

    Attributes:
        contexts, targets: the features of both.
        listed: what may translate each source phrase.
        text: the sentences, by word number.
        factors: of each of its tokens; see `ContextFeatures.of`.
    """

    contexts: ContextFeatures
    targets: TargetFeatures
    listed: ListedPairs
    text: EncodedText
    factors: Sequence[NDArray[np.int32]]

    def of(self, spans: Spans) -> tuple[CandidateBatch, NDArray[np.int64]]:
        """Instances of I spans, all gains 0, and the pair of each of their C candidates."""
        places, offsets_I1 = self.listed.of(spans.phrase_I)
        pair_C = self.listed.pair_N[places]
        id_offsets_C1, ids_N = self.targets.of(pair_C)
        context_offsets_I1, contexts_X = self.contexts.of(self.text, self.factors, spans)
        batch = CandidateBatch(
            candidate_offsets_I1=offsets_I1,
            dense_CD=self.listed.log_share_N[places].astype(np.float32)[:, None],
            gain_CG=np.zeros((len(pair_C), 1), np.float32),
            part_id_offsets_P1=id_offsets_C1,
            part_ids_N=ids_N,
            sentence_I=np.asarray(spans.sentence_I, np.int64),
            context_offsets_I1=context_offsets_I1,
            contexts_X=contexts_X,
        )
        return batch, pair_C

    def events(self, seen: Occurrences) -> CandidateBatch:
        """Instances of the places where phrases were extracted: 1 for the pairs that were, -1 for the others.

        Left out are places where nothing that was extracted is listed, and those where nothing else is.
        """
        spans, of_X = _spans_of(seen, self.targets.table)
        places, offsets_I1 = self.listed.of(spans.phrase_I)
        true_C = _are_seen(row_numbers(offsets_I1), self.listed.pair_N[places], of_X, seen.pair_X)
        right_I = marked_in_rows(true_C, offsets_I1)
        kept_I = (right_I > 0) & (right_I < np.diff(offsets_I1))
        batch, _ = self.of(spans.select(kept_I))
        gain_C = np.where(true_C, 1.0, -1.0)[kept_I[row_numbers(offsets_I1)]]
        batch.gain_CG[:, 0] = gain_C
        return batch


def _spans_of(seen: Occurrences, table: PhraseTable) -> tuple[Spans, NDArray[np.int64]]:
    """The different source spans of places in their order, and the span of each place."""
    keys_3X = np.stack([seen.sentence_X, seen.start_X, seen.end_X])
    new_X = np.ones(len(seen), dtype=np.bool_)
    new_X[1:] = (keys_3X[:, 1:] != keys_3X[:, :-1]).any(axis=0)
    first = np.flatnonzero(new_X)
    phrase_I = table.source_B[seen.pair_X[first]]
    sentence_I, start_I, end_I = keys_3X[:, first]
    return Spans(sentence_I, start_I, end_I, phrase_I), np.cumsum(new_X) - 1


def _are_seen(
    instance_C: NDArray[np.int64],
    pair_C: NDArray[np.int64],
    instance_X: NDArray[np.int64],
    pair_X: NDArray[np.integer],
) -> NDArray[np.bool_]:
    """Whether each candidate is a pair that was extracted where its instance is; places are sorted."""
    seen = places_of_keys((instance_X << 32) | pair_X.astype(np.int64), (instance_C << 32) | pair_C)
    return np.asarray(seen >= 0)
