"""What the parts of an n-best list are among the translations that a classifier chooses among in the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xlate.array_types import AnyInts, Ints
from xlate.arrays.ragged import row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.models.context.model import Classifier, Prediction

# Of a part that nothing is predicted of.
NO_CHOICE = -1


def chosen_in(
    model: Classifier, words: Sequence[str], start_P: AnyInts, end_P: AnyInts, pair_P: AnyInts
) -> tuple[CandidateBatch, Ints]:
    """The S spans of a sentence that P parts translate, and which of their C candidates each part is, (P,).

    `base_C` of the spans holds the scores of the classifier. A span of one candidate, which is certain whatever the
    weights are, is left out. Parts that nothing can be learned of are `NO_CHOICE`.

    Args:
        model: the classifier.
        words: the sentence.
        start_P, end_P: source spans, half-open.
        pair_P: pairs by their numbers in the classifier's table; below 0 for words that stand for themselves.
    """
    spans, batch, number_C = model.instances(words)
    offsets_S1, share_C = batch.candidate_offsets_I1, batch.dense_CD[:, 0].astype(np.float64)
    place_P = Prediction(spans, offsets_S1, number_C, share_C, share_C).places(start_P, end_P, pair_P)
    span_C = row_numbers(offsets_S1)
    used_S = np.zeros(len(spans), np.bool_)
    used_S[span_C[place_P[place_P >= 0]]] = True
    if not model.alone:
        used_S &= np.diff(offsets_S1) > 1
    used_C = used_S[span_C]
    new_C = np.where(used_C, np.cumsum(used_C) - 1, NO_CHOICE)
    choice_P = np.where(place_P >= 0, np.append(new_C, NO_CHOICE)[place_P], NO_CHOICE)
    kept = batch.select(np.flatnonzero(used_S))
    return replace(kept, base_C=model.scores(kept).astype(np.float32), dense_CD=kept.dense_CD[:, :0]), choice_P
