"""What a classifier in context says of the source phrases of one sentence, in one call.

The steps are those of `models/context/model.py` (`Classifier.predict`), which is the reference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, Floats, Floats32, Ints, Ints32
from xlate.compiled import lent, loop
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.features.contexts import ContextPlaces, PhraseSpans, TargetArrays, context_bags, target_bags
from xlate.kernels.learning.candidates import CandidateArrays, score_crossed
from xlate.kernels.learning.slopes import log_chances
from xlate.kernels.search.spans import span_rows


class Predictor(NamedTuple):
    """A classifier of translations: `pair_N` and `log_share_N` are listed for phrase p from `offsets_P1[p]` on.

    `finder` finds phrases of at most `longest` words; with `alone` each candidate is judged by itself.
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
    """I phrases and their C candidates; see `models/context/model.py` (`Prediction`)."""

    spans: PhraseSpans
    offsets_I1: Ints
    pair_C: Ints
    log_C: Floats
    share_C: Floats


@loop
def predicted_sentence(predictor: Predictor, ids_n: Ints32, value_Ln: Ints32) -> Predicted:
    """The candidates of the phrases of a sentence of n words, whose values in L layers are given, with ln p of each."""
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


@loop
def _listed_spans(predictor: Predictor, ids_n: Ints32) -> PhraseSpans:
    """The phrases of a sentence for which anything is listed."""
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
    score_C = np.empty(len(dense_C1))
    score_crossed(lent(candidates), predictor.dense_D, predictor.sparse_F, score_C)
    # What was lent is held until here.
    score_C += 0.0 * (len(contexts[1]) + len(parts[1]) + len(no_floats) + len(no_places) + len(no_parts))
    return score_C
