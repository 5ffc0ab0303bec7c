"""Training of the global model from the weights of a run of the local one (TZ07 Eq. 4)."""

from __future__ import annotations

from xlate.jobs.prepare.block_stores import BlockStores
from xlate.jobs.train.global_training import base_of_global, learn_globally
from xlate.jobs.train.local import LocalTraining, check_split
from xlate.train.checkpoint import Checkpoint
from xlate.train.run import Run


class GlobalTraining(LocalTraining):
    """Rounds of decoding and steps over whole derivations; see `train.global_model`."""

    def _check_places(self) -> None:
        base_of_global(self.config, self.work)
        check_split(self.work, "loss.globally.split", self.config.loss.globally.split)

    def _held(self, stores: BlockStores, run: Run) -> Checkpoint | None:  # noqa: ARG002
        return learn_globally(self.config, self.work, run.directory, run.reporter, run.stop.__bool__)
