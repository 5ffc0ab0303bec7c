"""Training of a classifier that predicts translations, or where they stand (Kolachina et al. 2010, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from xlate.candidates.context_instances import DENSE
from xlate.config.model_schema import DISTORTION
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.features.context import check_target
from xlate.jobs.context.context_stores import ContextParts, ContextStores, context_stores
from xlate.jobs.context.figures import heldout_quality, report_quality
from xlate.jobs.run_weights import made_with
from xlate.jobs.systems.predictions import KIND
from xlate.jobs.train.local import learner_of
from xlate.losses.loss import Needs, losses
from xlate.memory import check_memory
from xlate.scoring.weights import Weights, save_weights
from xlate.text.folders import remove_folder
from xlate.train.loop import Phase, Training
from xlate.train.run import Run
from xlate.train.state import PhaseSettings
from xlate.updates.rule import UpdateRule
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of

# Bytes of a hashed weight in training: itself, the best so far and what is saved; more with AdaGrad and with averages.
WEIGHT, SQUARES, SUMS = 24, 4, 16


class ContextTraining:
    """One phase over stored instances, float and sparse weights together.

    Raises:
        InputError: no prepared work directory.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.work = WorkDirectory(Path(config.work)).check()

    def made_from(self) -> Mapping[str, Any]:
        """The work directory."""
        return {"work_identity": self.work.identity}

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Trains the phase and writes the weights."""
        config = self.config
        stores = context_stores(self.work, config.model)
        settings = phase_settings(config)
        training = Training(
            phases=[Phase(settings, stores.train, stores.heldout)],
            checkpoint=run.checkpoint(),
            identity=identity_of({"phase": asdict(settings), "stores": stores.identity}),
            reporter=run.reporter,
            checkpoint_seconds=run.checkpoint_seconds,
            learner=learner_of(config),
        )
        # ln p(e|f) is what is known without a context; alone it is no probability of yes or no.
        start = Weights(
            np.array([0.0 if losses()[config.loss.name].judges_each else 1.0]), np.zeros(1 << config.model.bits), DENSE
        )
        held = training.run({KIND: start}, run.stop)
        if not training.finished(held):
            return None
        weights = held.weights[KIND]
        save_weights(
            run.weights,
            {KIND: weights.single()},
            extra={"count_B": np.array(stores.count_N)},
            metadata={"work": str(config.work), "work_identity": self.work.identity, **made_with(config.model)},
        )
        history, alone = held.state.history, losses()[config.loss.name].judges_each
        parts = ContextParts.of(self.work, config.model)
        quality = heldout_quality(stores.heldout, weights, parts.contexts, stores.times_P(parts), alone=alone)
        seen, what = int(history[-1]["seen"]) if history else 0, config.model.predicts
        if config.model.left_out is not None:
            # There is one for each fold, and each is made in less time than it is learned from.
            remove_folder(stores.folder)
        shown = report_quality(quality, weights, run.reporter, seen, "distance" if what == DISTORTION else what)
        return {"work": config.work, **_figures(stores, history, weights), **shown, "history": history}


def phase_settings(config: TrainConfig) -> PhaseSettings:
    """How a configuration trains."""
    loss = config.loss
    return PhaseSettings(
        name=KIND,
        weights=KIND,
        trained=(loss.dense_rate > 0,),
        train_sparse=True,
        use_sparse=True,
        epochs=loss.epochs,
        eta=loss.dense_rate,
        eta_sparse=loss.rate,
        decay=loss.decay,
        patience=loss.patience,
        seed=config.seed,
        block=loss.block,
        loss=loss.name,
        loss_settings=(
            ("sink", loss.sink),
            ("margin", loss.margin),
            *((("negatives", loss.negatives),) if loss.negatives else ()),
        ),
        rule=UpdateRule(adaptive=loss.adagrad, l1=loss.l1, l2=loss.l2, every=not loss.adagrad, average=loss.average),
    )


def check_context(config: TrainConfig) -> None:
    """Checks the settings of a classifier.

    Raises:
        InputError: a loss that events do not have, two penalties, no kind of targets, a fold that is not there,
            negatives drawn for a loss that compares candidates, or more weights than there is memory for.
    """
    loss = config.loss
    known = [name for name, kind in losses().items() if kind.needs in (Needs.TRUTH, Needs.GAINS)]
    if loss.name not in known:
        raise InputError("unknown value of loss.name", seen=loss.name, expected=", ".join(known))
    if loss.l1 and loss.l2:
        raise InputError("two penalties", seen=f"loss.l1={loss.l1} loss.l2={loss.l2}", expected="one of them")
    left_out, folds = config.model.left_out, config.model.left_out_of
    if left_out is not None and left_out >= folds:
        seen, expected = f"model.left_out={left_out} model.left_out_of={folds}", f"0 to {folds - 1}"
        raise InputError("no such fold", seen=seen, expected=expected)
    if loss.negatives and (not losses()[loss.name].judges_each or loss.batch):
        seen = f"loss.negatives={loss.negatives} loss.name={loss.name} loss.batch={loss.batch}"
        expected = "loss.negatives=0, or loss=one_vs_rest with loss.batch=0"
        raise InputError("candidates that are compared must all be there", seen=seen, expected=expected)
    if config.model.target or config.model.predicts != DISTORTION:
        check_target(config.model.target)
    rule, bits = phase_settings(config).rule, config.model.bits
    size = WEIGHT + SQUARES * rule.adaptive + SUMS * rule.settles
    check_memory("the weights of the classifier", size << bits, f"model.bits={bits}")


def _figures(stores: ContextStores, history: list[dict[str, Any]], weights: Weights) -> dict[str, Any]:
    last = history[-1] if history else {}
    return {
        "P": last.get("P"),
        "valid_loss": last.get("valid_loss"),
        "instances": len(stores.train),
        "heldout_instances": len(stores.heldout),
        "active_features": weights.active,
        "weights": {KIND: dict(zip(weights.dense_names, np.round(weights.dense_D, 6).tolist(), strict=True))},
    }
