"""xlate train loss=global base=RUN: the global model (TZ07 Eq. 4) from the weights of a run of the local one."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.jobs.run_weights import weights_of
from xlate.jobs.systems.kind import check_model_of_base
from xlate.jobs.train.global_model.texts import (
    TRAIN,
    FoldedText,
    GlobalText,
    Sentence,
    TextOfSplit,
    check_folded,
    lattices,
    parted,
)
from xlate.jobs.train.local import check_split
from xlate.jobs.train.measuring import measured_splits, rounded
from xlate.jobs.train.warnings import warn_if_unmoved
from xlate.scoring.weights import Weights, save_weights
from xlate.train.global_model import NAME, EpochFigures, GlobalSettings, GlobalTraining
from xlate.train.run import Run
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of

__all__ = ["NAME", "GlobalMethod"]
log = logging.getLogger(__name__)


class GlobalMethod:
    """Rounds of decoding a text and of steps over whole derivations, from the weights of the run `base`.

    Every `heldout_every`-th sentence is held out: each round keeps the weights that are best there.

    Raises:
        InputError: no base run, one of another model or work directory, or no such split.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.work = WorkDirectory(Path(config.work)).check()
        self.folded = config.loss.globally.split == TRAIN
        self.base = base_of_global(config, self.work)
        if not self.folded:
            check_split(self.work, "loss.globally.split", config.loss.globally.split)

    def made_from(self) -> Mapping[str, Any]:
        """The work directory."""
        return {"work_identity": self.work.identity}

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Trains, writes the weights, and translates the dev set, and the test set if asked."""
        config, g = self.config, self.config.loss.globally
        text: GlobalText = (FoldedText if self.folded else TextOfSplit)(config, self.work, self.base)
        kept, held = parted(text.sentences(), g.heldout_every)
        found = self._rounds(text, kept, held, run).run(text.start, run.stop.__bool__)
        if found is None:
            return None
        weights, epochs = found
        seen = f"loss.globally.rounds={g.rounds} epochs={g.epochs} loss.eta={config.loss.eta:g}"
        warn_if_unmoved({"weights": text.start}, {"weights": weights}, seen)
        saved, metadata = text.saved(weights)
        save_weights(run.weights, saved.sets, features=saved.features, extra=saved.extra, metadata=metadata)
        steps = len(kept) * g.rounds * g.epochs
        figures = {
            "work": config.work,
            "valid_loss": epochs[-1].heldout,
            "active_features": sum(one.active for one in saved.sets.values()),
            "seen": steps,
            "weights": {name: rounded(one) for name, one in saved.sets.items()},
        }
        measured = measured_splits(config, self.work, run, steps)
        return {**figures, **measured, "history": [_entry(epoch) for epoch in epochs]}

    def _rounds(self, text: GlobalText, kept: list[Sentence], held: list[Sentence], run: Run) -> GlobalTraining:
        loss, g = self.config.loss, self.config.loss.globally
        settings = GlobalSettings(
            rounds=g.rounds,
            epochs=g.epochs,
            rule=g.rule,
            eta=loss.eta,
            eta_sparse=loss.binary.eta,
            pull=g.pull,
            project=loss.project_sign,
            seed=self.config.seed,
        )
        return GlobalTraining(
            lambda weights: lattices(text, kept, weights, g),
            lambda weights: lattices(text, held, weights, g),
            settings,
            run.reporter,
            run.checkpoint(),
            _identity(self.config, self.work, text.start),
        )


def _entry(epoch: EpochFigures) -> dict[str, Any]:
    """A line of a run's history."""
    place = {"phase": NAME, "round": epoch.round, "epoch": epoch.epoch}
    return {**place, "loss": epoch.loss, "valid_loss": epoch.heldout}


def _identity(config: TrainConfig, work: WorkDirectory, start: Weights) -> str:
    """What a checkpoint belongs to."""
    weights = hashlib.sha256(start.dense_D.tobytes() + start.sparse_F.tobytes()).hexdigest()
    settings = {"loss": asdict(config.loss), "decoder": asdict(config.decoder), "seed": config.seed}
    return identity_of({**settings, "start": weights, "on": work.identity})


def base_of_global(config: TrainConfig, work: WorkDirectory) -> Path:
    """The run that the global model starts from.

    Raises:
        InputError: there is none, or one of another model or work directory.
    """
    if config.base is None:
        raise InputError("the global model starts from a run of the local one", seen="no base", expected="base=RUN")
    base = Path(config.base)
    if config.loss.globally.split == TRAIN:
        check_folded(config)
    else:
        check_model_of_base(config, base)
    if weights_of(base).metadata.get("work_identity") != work.identity:
        raise InputError("the base run is of another work directory", file=base, expected=str(work.path))
    return base
