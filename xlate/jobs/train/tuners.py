"""The tuners by name, built from a configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.batch import CandidateBatch
from xlate.config.loss_schema import TuneConfig
from xlate.errors import InputError
from xlate.kernels.learning.envelope import corpus_bleu
from xlate.losses.expected_bleu import ExpectedBleu, ExpectedCorpusBleu
from xlate.losses.loss import loss_of, losses
from xlate.metrics.objective import BLEU, Objective
from xlate.scoring.weights import Weights
from xlate.train.tuning import Optimise
from xlate.tuners.gradient import GradientSettings, descend
from xlate.tuners.mert import MertSettings, mert
from xlate.tuners.mira import MiraSettings, mira
from xlate.tuners.pro import ProSettings, pro
from xlate.tuners.tuned import Tuned

Tuner = Callable[[CandidateBatch, Weights, int], Tuned]
# What tells a loss over lists from that of single decisions, where both are chosen by a name.
OF_LISTS = "list_"
LOSS_KEYS = ("margin", "gamma", "kind")
TunerOf = Callable[[TuneConfig, Bools, Objective], Tuner]


def optimiser(settings: TuneConfig, trained_D: Bools, objective: Objective = BLEU) -> Optimise:
    """New weights from pooled lists, by the tuner that the settings name.

    Raises:
        InputError: there is none of this name, or its settings cannot be.
    """
    if settings.name not in TUNERS:
        raise InputError("no such tuner", seen=f"loss.tune.name={settings.name}", expected=", ".join(TUNERS))
    tuner = TUNERS[settings.name](settings, trained_D, objective)
    if settings.weights:
        return lambda lists, weights, seed: tuner(lists, weights, seed).weights
    return lambda lists, weights, seed: scaled(tuner(lists, weights, seed).weights, trained_D)


def chosen_weights(settings: TuneConfig, start: Weights, trained_D: Bools) -> Bools:
    """Which float weights move, (D,): those that the settings name, or all that the system trains.

    Raises:
        InputError: there is none of a name.
    """
    if not settings.weights:
        return trained_D
    strange = [name for name in settings.weights if name not in start.dense_names]
    if strange:
        seen, expected = f"loss.tune.weights: {strange[0]}", ", ".join(start.dense_names)
        raise InputError("no float weight of this name", seen=seen, expected=f"some of {expected}")
    return np.array([name in settings.weights for name in start.dense_names], dtype=np.bool_)


def scaled(weights: Weights, trained_D: Bools) -> Weights:
    """The same weights with sizes that sum to 1 over the tuned floats, as Moses keeps them.

    Translations do not depend on the scale, but beam thresholds do, and how far a step of a tuner reaches.
    """
    size = float(np.abs(weights.dense_D[trained_D]).sum())
    if size == 0.0:
        return weights
    dense_D = np.where(trained_D, weights.dense_D / size, weights.dense_D)
    return replace(weights, dense_D=dense_D, sparse_F=weights.sparse_F / size)


def _mira(settings: TuneConfig, trained_D: Bools, objective: Objective) -> Tuner:
    chosen = MiraSettings(
        epochs=settings.epochs,
        C=settings.C,
        decay=settings.decay,
        sparse_rate=settings.sparse_rate,
        length_band=settings.length_band,
        trained_D=trained_D,
    )
    return lambda lists, weights, seed: mira(lists, weights, chosen, seed, objective)


def _mert(settings: TuneConfig, trained_D: Bools, objective: Objective) -> Tuner:
    chosen = MertSettings(
        restarts=settings.restarts,
        directions=settings.directions,
        rounds=settings.coordinate_rounds,
        tolerance=settings.least_gain,
        window=settings.window,
        length_band=settings.length_band,
        trained_D=trained_D,
        scaled=not settings.weights,
    )
    # The compiled BLEU leaves out smoothing, which other objectives have.
    scores = corpus_bleu if objective.is_bleu else objective.corpus
    return lambda lists, weights, seed: mert(lists, weights, chosen, seed, scores)


def _pro(settings: TuneConfig, trained_D: Bools, objective: Objective) -> Tuner:
    regression = _gradient_settings(settings, trained_D)
    chosen = ProSettings(
        settings.samples, settings.kept, settings.least, settings.share, not settings.weights, regression
    )
    return lambda lists, weights, seed: pro(lists, weights, chosen, seed, objective)


def _gradient_settings(settings: TuneConfig, trained_D: Bools) -> GradientSettings:
    return GradientSettings(settings.epochs, settings.penalty, settings.step_penalty, trained_D)


def _by_gradient(settings: TuneConfig, trained_D: Bools, objective: Objective) -> Tuner:
    """Descent on a loss of the registry, which takes those of the settings that it knows."""
    name = settings.name.removeprefix(OF_LISTS)
    known = inspect.signature(losses()[name].__init__).parameters
    module = loss_of(
        name, **{key: getattr(settings, key) for key in LOSS_KEYS if key in known and hasattr(settings, key)}
    )
    chosen = _gradient_settings(settings, trained_D)
    return lambda lists, weights, _: descend(lists, weights, module, chosen, objective)


def _expected(settings: TuneConfig, trained_D: Bools, objective: Objective) -> Tuner:
    """Expected BLEU of the whole text; of another objective, the sum over sentences."""
    chosen = _gradient_settings(settings, trained_D)
    if objective.is_bleu:
        return lambda lists, weights, _: descend(lists, weights, ExpectedCorpusBleu(settings.gamma), chosen)
    return lambda lists, weights, _: descend(lists, weights, ExpectedBleu(settings.gamma), chosen, objective)


TUNERS: dict[str, TunerOf] = {
    "mira": _mira,
    "mert": _mert,
    "pro": _pro,
    "expected_bleu": _expected,
    "softmax_margin": _by_gradient,
    "ramp": _by_gradient,
    "cll": _by_gradient,
    "list_hinge": _by_gradient,
    "list_perceptron": _by_gradient,
}
