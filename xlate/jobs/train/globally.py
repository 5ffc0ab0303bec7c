"""Training of the global model from the weights of a run of the local one (TZ07 Eq. 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xlate.jobs.train.global_training import base_of_global, learn_globally
from xlate.jobs.train.local import LocalTraining, check_split
from xlate.jobs.train.measuring import measured_splits
from xlate.scoring.weights import Weights, load_weights
from xlate.train.checkpoint import Checkpoint
from xlate.train.run import Run


class GlobalTraining(LocalTraining):
    """Rounds of decoding and steps over whole derivations, of any kind of model; see `train.global_model`."""

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Trains all rounds, translates the dev set, and the test set if asked."""
        held = learn_globally(self.config, self.work, run.directory, run.reporter, run.stop.__bool__)
        if held is None:
            return None
        figures = _summary(held, load_weights(run.weights).sets)
        measured = measured_splits(self.config, self.work, run, held.state.seen)
        return {"work": self.config.work, **figures, **measured, "history": held.state.history}

    def _check_places(self) -> None:
        base_of_global(self.config, self.work)
        check_split(self.work, "loss.globally.split", self.config.loss.globally.split)


def _summary(held: Checkpoint, sets: Mapping[str, Weights]) -> dict[str, Any]:
    """What a training on lattices says of itself, apart from the quality of its translations."""
    last = held.state.history[-1] if held.state.history else {}
    return {
        "valid_loss": last.get("valid_loss"),
        "features": sum(len(w.sparse_F) for w in sets.values()),
        "active_features": sum(w.active for w in sets.values()),
        "seen": held.state.seen,
        "weights": {
            name: dict(zip(w.dense_names, np.round(w.dense_D, 6).tolist(), strict=True)) for name, w in sets.items()
        },
    }
