"""Runs of a system whose weights are not trained: they are written, and the run is measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xlate.config.schema import TrainConfig
from xlate.jobs.systems.registry import kind_of
from xlate.jobs.train.measuring import measured_splits, rounded
from xlate.scoring.weights import save_weights
from xlate.train.run import Run
from xlate.work.directory import WorkDirectory


class Untrained:
    """The weights that the kind of model begins with.

    Raises:
        InputError: no prepared work directory.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.work = WorkDirectory(Path(config.work)).check()

    def made_from(self) -> Mapping[str, Any]:
        """The work directory."""
        return {"work_identity": self.work.identity}

    def learn(self, run: Run) -> dict[str, Any]:
        """Writes the weights, and translates the dev set, and the test set if asked."""
        given = kind_of(self.config.model.kind).to_tune(self.config, self.work)
        saved = given.saved(given.start)
        save_weights(run.weights, saved.sets, features=saved.features, extra=saved.extra, metadata=given.metadata)
        measured = measured_splits(self.config, self.work, run, 0)
        return {"work": self.config.work, "weights": {"dense": rounded(given.start)}, **measured}
