"""Training of a classifier that predicts translations, or where they stand (Kolachina et al. 2010, section 3.1)."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from xlate.array_types import AnyInts
from xlate.candidates.context_instances import DENSE
from xlate.candidates.store import CandidateStore
from xlate.config.model_schema import DISTORTION
from xlate.config.schema import TrainConfig
from xlate.errors import refuse_if
from xlate.features.context import ContextFeatures, check_target
from xlate.jobs.train.recipe import (
    EventRecipe,
    losses_of_events,
    one_of,
    refuse_base,
    rounded,
    settings_of,
)
from xlate.kernels.learning.scores import plain_scores
from xlate.losses.loss import losses
from xlate.machine import check_memory
from xlate.models.context.classifiers import ContextParts, context_stores
from xlate.models.context.inspection import Quality
from xlate.models.context.model import log_probabilities
from xlate.models.context.runs import KIND
from xlate.models.kind import made_of
from xlate.report.pictures import reliability_picture
from xlate.report.run_directory import Reporter
from xlate.scoring.weights import Weights, save_weights
from xlate.text.folders import remove_folder
from xlate.train.learner import PhaseSettings
from xlate.train.loop import Phase
from xlate.train.run import Run
from xlate.updates.rule import UpdateRule

log = logging.getLogger(__name__)
# Bytes of a hashed weight in training: itself, the best so far and what is saved; more with AdaGrad and with averages.
WEIGHT, SQUARES, SUMS = 24, 4, 16


class ContextTraining(EventRecipe):
    """One phase over stored instances, float and sparse weights together."""

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        loss, model = config.loss, config.model
        refuse_base(config, "no base, or loss=xbleu, which trains the classifier of a run on")
        one_of("loss.name", [loss.name], losses_of_events())
        both = bool(loss.l1 and loss.l2)
        refuse_if(both, "two penalties", f"loss.l1={loss.l1} loss.l2={loss.l2}", "one of them")
        absent = model.left_out is not None and model.left_out >= model.left_out_of
        seen = f"model.left_out={model.left_out} model.left_out_of={model.left_out_of}"
        refuse_if(absent, "no such fold", seen, f"0 to {model.left_out_of - 1}")
        refuse_if(
            bool(loss.negatives) and (not losses()[loss.name].judges_each or bool(loss.batch)),
            "candidates that are compared must all be there",
            f"loss.negatives={loss.negatives} loss.name={loss.name} loss.batch={loss.batch}",
            "loss.negatives=0, or loss=one_vs_rest with loss.batch=0",
        )
        if model.target or model.predicts != DISTORTION:
            check_target(model.target)
        rule, bits = phase_settings(config).rule, model.bits
        size = WEIGHT + SQUARES * rule.adaptive + SUMS * rule.settles
        check_memory("the weights of the classifier", size << bits, f"model.bits={bits}")

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Trains the phase and writes the weights."""
        config = self.config
        stores, settings = context_stores(self.work, config.model), phase_settings(config)
        alone = losses()[config.loss.name].judges_each
        # ln p(e|f) is what is known without a context; alone it is no probability of yes or no.
        start = Weights(np.array([0.0 if alone else 1.0]), np.zeros(1 << config.model.bits), DENSE)
        todo = [Phase(settings, stores.train, stores.heldout)]
        held = self.trained(run, todo, stores.identity, {KIND: start})
        if held is None:
            return None
        weights, history = held.weights[KIND], held.state.history
        save_weights(
            run.weights,
            {KIND: weights.single()},
            extra={"count_B": np.array(stores.count_N)},
            metadata=made_of(config, self.work),
        )
        parts = ContextParts.of(self.work, config.model)
        quality = heldout_quality(stores.heldout, weights, parts.contexts, stores.times_P(parts), alone=alone)
        if config.model.left_out is not None:
            # There is one for each fold, and each is made in less time than it is learned from.
            remove_folder(stores.folder)
        last, what = history[-1] if history else {}, config.model.predicts
        seen = int(last.get("seen", 0))
        shown = _report_quality(quality, weights, run.reporter, seen, "distance" if what == DISTORTION else what)
        figures = {
            "P": last.get("P"),
            "valid_loss": last.get("valid_loss"),
            "instances": len(stores.train),
            "heldout_instances": len(stores.heldout),
            "active_features": weights.active,
            "weights": {KIND: rounded(weights)},
        }
        return {"work": config.work, **figures, **shown, "history": history}


def phase_settings(config: TrainConfig) -> PhaseSettings:
    """How a configuration trains."""
    loss = config.loss
    negatives = (("negatives", loss.negatives),) if loss.negatives else ()
    return settings_of(
        PhaseSettings,
        loss,
        name=KIND,
        weights=KIND,
        trained=(loss.dense_rate > 0,),
        train_sparse=True,
        use_sparse=True,
        eta=loss.dense_rate,
        eta_sparse=loss.rate,
        seed=config.seed,
        loss=loss.name,
        loss_settings=(("sink", loss.sink), ("margin", loss.margin), *negatives),
        rule=UpdateRule(adaptive=loss.adagrad, l1=loss.l1, l2=loss.l2, every=not loss.adagrad, average=loss.average),
    )


def heldout_quality(
    store: CandidateStore, weights: Weights, contexts: ContextFeatures, times_P: AnyInts, *, alone: bool
) -> Quality:
    """The predictions of held-out instances.

    Args:
        store: the instances.
        weights: the classifier's.
        contexts: what their contexts are made of.
        times_P: how often each source phrase was extracted.
        alone: each candidate is judged by itself.
    """
    held = store.arrays
    offsets_I1 = np.asarray(held.candidate_offsets_I1)
    score_C = plain_scores(held.arrays(), weights.dense_D, weights.sparse_F.astype(np.float32))
    phrase_I = contexts.phrases_of(*held.contexts)
    return Quality(
        offsets_I1=offsets_I1,
        log_C=log_probabilities(score_C, offsets_I1, alone=alone),
        share_C=np.asarray(held.dense_CD)[:, 0],
        right_C=np.asarray(held.gain_CG)[:, 0] > 0,
        times_I=times_P[phrase_I],
    )


def _report_quality(quality: Quality, weights: Weights, reporter: Reporter, step: int, what: str) -> dict[str, Any]:
    """Reports held-out figures, a reliability picture and the spread of weights; returns the figures.

    `what` is predicted: a translation, a distance.
    """
    used_F = weights.sparse_F[weights.sparse_F != 0]
    reporter.histogram("weights/context/sparse", used_F, step)
    if not len(quality):
        return {"accuracy": None, "baseline_accuracy": None, "calibration_error": None}
    figures = {
        "accuracy": quality.accuracy,
        "baseline_accuracy": quality.baseline,
        "calibration_error": quality.best.error,
    }
    log.info(
        "%s held-out instances: the right %s first in %.1f %%, by frequency alone %.1f %%; calibration error %.4f",
        f"{len(quality):,}",
        what,
        100 * quality.accuracy,
        100 * quality.baseline,
        quality.best.error,
    )
    for name, value in figures.items():
        reporter.scalar(f"valid/{name}", value, step)
    curves = {f"the most probable {what}": quality.best, f"every {what}": quality.every}
    reporter.image("valid/reliability", reliability_picture(curves), step)
    bands = quality.by_times()
    rows = [
        f"| {times} | {band['instances']} | {band['accuracy']:.3f} | {band['baseline_accuracy']:.3f} |"
        for times, band in bands.items()
    ]
    head = [f"| source phrase extracted | instances | accuracy | most frequent {what} |", "|---|---:|---:|---:|"]
    reporter.text("valid/accuracy_by_frequency", "\n".join([*head, *rows]), step)
    return {**figures, "accuracy_by_frequency": bands}
