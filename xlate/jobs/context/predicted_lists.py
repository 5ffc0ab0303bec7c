"""Lists of the training text with what their parts are predicted among, by classifiers that have not seen the fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xlate.array_types import Ints
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import LENGTH, PAIR, START
from xlate.jobs.systems.context import context_model
from xlate.jobs.systems.predictions import fold_classifier
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.predicted import PredictedParts, span_logs
from xlate.models.context.listed import NO_CHOICE, chosen_in
from xlate.progress import track
from xlate.train.list_checkpoint import lists_identity
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of


@dataclass(frozen=True)
class Predicted:
    """The S spans of I lists, and which of their candidates each of P parts is; see `PredictedParts`."""

    spans: CandidateBatch
    span_offsets_I1: Ints
    choice_P: Ints
    alone: bool

    def parts(self, weight: float) -> PredictedParts:
        """As the compiled pass takes them; `weight` is that of ln p in the score of a part."""
        spans = self.spans.arrays()
        start_C = span_logs(spans, np.zeros(0), self.alone)
        start_P = np.append(start_C, 0.0)[self.choice_P]
        return PredictedParts(spans, self.span_offsets_I1, self.choice_P, start_P, weight, self.alone)


def predicted(
    lists: CandidateBatch, work: WorkDirectory, classifier: Path, fold_I: Ints, folds: int, stop: Callable[[], bool]
) -> Predicted | None:
    """What the parts of lists are predicted among; None when `stop` said so before the end.

    Args:
        lists: with units of the phrase model, pairs by their numbers in the table of the whole text.
        work: the work directory.
        classifier: the run of the classifier of the whole text.
        fold_I: the fold of each sentence of the text, in so many `folds`.

    Raises:
        InputError: a classifier without a fold is missing.
    """
    assert lists.sentence_I is not None
    assert lists.part_offsets_I1 is not None
    assert lists.unit_PU is not None
    found: list[tuple[CandidateBatch, Ints]] = []
    fold, model = -1, None
    for i in track(range(len(lists)), "contexts of lists"):
        if stop():
            return None
        sentence = int(lists.sentence_I[i])
        if model is None or fold != fold_I[sentence]:
            fold = int(fold_I[sentence])
            model = context_model(fold_classifier(classifier, work, (fold, folds))[1], work)
        units = lists.unit_PU[lists.part_offsets_I1[i] : lists.part_offsets_I1[i + 1]]
        start_P = units[:, START]
        words = work.training_sentence(sentence)
        found.append(chosen_in(model, words, start_P, start_P + units[:, LENGTH], units[:, PAIR]))
    assert model is not None
    first_I = offsets_of([spans.candidates for spans, _ in found])
    choices = [np.where(c >= 0, c + first, NO_CHOICE) for first, (_, c) in zip(first_I, found, strict=False)]
    spans = [spans for spans, _ in found]
    return Predicted(
        CandidateBatch.joined(spans), offsets_of([len(s) for s in spans]), np.concatenate(choices), model.alone
    )


def predicted_identity(lists: CandidateArrays, parts: PredictedParts, settings: object, size: int) -> str:
    """What learning from predicted lists depends on."""
    both = [lists_identity(one, settings, size) for one in (lists, parts.spans)]
    return identity_of({"lists": both[0], "spans": both[1], "weight": parts.weight})
