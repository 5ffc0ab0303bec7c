"""A system of the training text whose sentences are decoded by systems that have not seen them."""

from __future__ import annotations

from xlate.config.schema import TrainConfig
from xlate.jobs.systems.kind import Kind
from xlate.models.tuned import TunedByFold, TunedSystem
from xlate.phrases.matching import TableRows
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Folds, WithoutFold


def by_fold(config: TrainConfig, kind: Kind, work: WorkDirectory, whole: TunedSystem) -> TunedByFold:
    """A system of the training text whose sentences are decoded without their folds; models are made if need be.

    Copies of a sentence are in one fold, so its words say which.

    Raises:
        InputError: the text cannot be cut into folds, or there are no such models of this kind.
    """
    folds, source, rows = Folds.of_events(work, config.source.folds), work.encoded[0], TableRows(work.blocks.table)
    fold_of = {
        tuple(work.source_vocabulary.word(w) for w in source[s].tolist()): fold
        for s, fold in enumerate(folds.fold_S.tolist())
    }
    parts = {fold: kind.without_fold(config, whole, WithoutFold(work, folds, fold, rows)) for fold in folds.numbers}
    return TunedByFold(whole, parts, fold_of)
