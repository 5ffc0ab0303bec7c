"""The tuners by name, built from a configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import nn

from xlate.candidates.batch import RaggedBatch
from xlate.config.schema import TuneConfig
from xlate.errors import InputError
from xlate.losses.expected_bleu import ExpectedCorpusBleu
from xlate.losses.ramp import Ramp
from xlate.losses.softmax_margin import SoftmaxMargin
from xlate.scoring.weights import Weights
from xlate.train.tuning import Optimise
from xlate.updates.gradient import Gains, GradientSettings, descend, sentence_gains, whole_statistics
from xlate.updates.mert import MertSettings, mert
from xlate.updates.mira import MiraSettings, mira
from xlate.updates.pro import ProSettings, pro
from xlate.updates.tuned import Tuned

Tuner = Callable[[RaggedBatch, Weights, int], Tuned]


def optimiser(name: str, settings: TuneConfig, trained_D: NDArray[np.bool_]) -> Optimise:
    """New weights from pooled lists, by the tuner of this name.

    Raises:
        InputError: there is none of this name, or its settings cannot be.
    """
    if name not in TUNERS:
        raise InputError("no such tuner", seen=name, expected=", ".join(TUNERS))
    tuner = TUNERS[name](settings, trained_D)
    return lambda lists, weights, seed: scaled(tuner(lists, weights, seed).weights, trained_D)


def scaled(weights: Weights, trained_D: NDArray[np.bool_]) -> Weights:
    """The same weights with sizes that sum to 1 over the tuned floats, as Moses keeps them.

    Translations do not depend on the scale, but beam thresholds do, and how far a step of a tuner reaches.
    """
    size = float(np.abs(weights.dense_D[trained_D]).sum())
    if size == 0.0:
        return weights
    dense_D = np.where(trained_D, weights.dense_D / size, weights.dense_D)
    return replace(weights, dense_D=dense_D, sparse_F=weights.sparse_F / size)


def _mira(settings: TuneConfig, trained_D: NDArray[np.bool_]) -> Tuner:
    chosen = MiraSettings(
        epochs=settings.epochs,
        C=settings.C,
        decay=settings.decay,
        length_band=settings.length_band,
        trained_D=trained_D,
    )
    return lambda lists, weights, seed: mira(lists, weights, chosen, seed)


def _mert(settings: TuneConfig, trained_D: NDArray[np.bool_]) -> Tuner:
    chosen = MertSettings(restarts=settings.restarts, length_band=settings.length_band, trained_D=trained_D)
    return lambda lists, weights, seed: mert(lists, weights, chosen, seed)


def _pro(settings: TuneConfig, trained_D: NDArray[np.bool_]) -> Tuner:
    chosen = ProSettings(regression=GradientSettings(settings.epochs, settings.l2, trained_D))
    return lambda lists, weights, seed: pro(lists, weights, chosen, seed)


def _by_gradient(loss: Callable[[TuneConfig], nn.Module], gains: Gains) -> Callable[..., Tuner]:
    def made(settings: TuneConfig, trained_D: NDArray[np.bool_]) -> Tuner:
        chosen, module = GradientSettings(settings.epochs, settings.l2, trained_D), loss(settings)
        return lambda lists, weights, _: descend(lists, weights, module, chosen, gains)

    return made


TUNERS: dict[str, Callable[[TuneConfig, NDArray[np.bool_]], Tuner]] = {
    "mira": _mira,
    "mert": _mert,
    "pro": _pro,
    "expected_bleu": _by_gradient(lambda _: ExpectedCorpusBleu(), whole_statistics),
    "softmax_margin": _by_gradient(lambda settings: SoftmaxMargin(settings.gamma), sentence_gains),
    "ramp": _by_gradient(lambda settings: Ramp(settings.gamma), sentence_gains),
}
