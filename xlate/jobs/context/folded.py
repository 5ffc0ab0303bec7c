"""Classifiers in context that have not seen a fold of the training text, as lists of the text need them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from xlate.config.model_schema import ClassifierConfig
from xlate.config.schema import TrainConfig
from xlate.jobs.systems.predictions import classifier_runs, fold_classifier
from xlate.text.folders import awaited
from xlate.train.run import Outcome
from xlate.train.signals import StopFlag
from xlate.work.directory import WorkDirectory

log = logging.getLogger(__name__)
# Trains a run that another one needs, in its folder.
TrainPart = Callable[[TrainConfig, Path, StopFlag], Outcome]


def fold_classifiers(config: TrainConfig, use: ClassifierConfig | None, train_part: TrainPart, stop: StopFlag) -> bool:
    """Trains the classifiers that have not seen a fold, where they are not there; False when stopped.

    Args:
        config: says the work directory, and which folds there are.
        use: the classifiers of the whole text, as those without a fold are trained as they are.
        train_part: trains one.
        stop: of the training that they are a part of.
    """
    lists, work = config.loss.lists, WorkDirectory(Path(config.work))
    assert lists is not None
    for trained in classifier_runs(use):
        for fold in range(lists.folds):
            if lists.machine is not None and fold % lists.machines != lists.machine:
                continue
            part, folder = fold_classifier(trained, work, (fold, lists.folds))
            log.info("the classifier of %s without fold %d: %s", trained, fold, folder)
            with awaited(folder, stop.__bool__):
                if train_part(part, folder, stop).summary is None:
                    return False
    return True
