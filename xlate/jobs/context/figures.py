"""What a classifier in context is told to be worth at the end of its training."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from xlate.array_types import AnyInts
from xlate.candidates.store import CandidateStore
from xlate.features.context import ContextFeatures
from xlate.kernels.learning.scores import plain_scores
from xlate.models.context.model import log_probabilities
from xlate.models.context.quality import Quality
from xlate.report.pictures import reliability_picture
from xlate.scoring.weights import Weights
from xlate.train import tags
from xlate.train.reporter import Reporter

log = logging.getLogger(__name__)


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
    assert held.context_offsets_I1 is not None
    assert held.contexts_X is not None
    offsets_I1 = np.asarray(held.candidate_offsets_I1)
    score_C = plain_scores(held.arrays(), weights.dense_D, weights.sparse_F.astype(np.float32))
    phrase_I = contexts.phrases_of(held.context_offsets_I1, held.contexts_X)
    return Quality(
        offsets_I1=offsets_I1,
        log_C=log_probabilities(score_C, offsets_I1, alone=alone),
        share_C=np.asarray(held.dense_CD)[:, 0],
        right_C=np.asarray(held.gain_CG)[:, 0] > 0,
        times_I=times_P[phrase_I],
    )


def report_quality(quality: Quality, weights: Weights, reporter: Reporter, step: int, what: str) -> dict[str, Any]:
    """Reports held-out figures, a reliability picture and the spread of weights; returns the figures.

    `what` is predicted: a translation, a distance.
    """
    used_F = weights.sparse_F[weights.sparse_F != 0]
    reporter.histogram(f"{tags.WEIGHTS}context/sparse", used_F, step)
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
    bands = {
        times: {"instances": len(part), "accuracy": part.accuracy, "baseline_accuracy": part.baseline}
        for times, part in quality.by_times().items()
    }
    rows = [
        f"| {times} | {band['instances']} | {band['accuracy']:.3f} | {band['baseline_accuracy']:.3f} |"
        for times, band in bands.items()
    ]
    head = [f"| source phrase extracted | instances | accuracy | most frequent {what} |", "|---|---:|---:|---:|"]
    reporter.text("valid/accuracy_by_frequency", "\n".join([*head, *rows]), step)
    return {**figures, "accuracy_by_frequency": bands}
