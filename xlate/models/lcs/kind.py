"""Lattice construction and scoring: what a classifier in context predicts, ordered by the language model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xlate.config.model_schema import LcsModelConfig
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.models.context.distortion import NAME as PLACES
from xlate.models.context.distortion import PredictedPlaces
from xlate.models.context.opening import context_model, distance_model
from xlate.models.context.runs import check_predicted_by, check_use, predicted_by
from xlate.models.kind import Kind, Saved, ToTune, made_of, needed
from xlate.models.lcs.decoder import LcsDecoder, LcsModel, TunedLcs, language_alone
from xlate.models.lcs.moves import NAMES
from xlate.models.run_weights import weights_of
from xlate.scoring.weights import WeightsFile
from xlate.work.directory import WorkDirectory

KIND = "lcs"


class Lcs(Kind):
    """Predicted blocks, permuted in a window (Kolachina et al. 2010, section 4.1)."""

    name = KIND
    untrained = True
    without_lists = ("the lattice decoder has no sparse features", "loss=mira or another tuner")

    def open(
        self,
        run: Path,
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,
    ) -> LcsDecoder:
        """The decoder of a run's weights over its classifier."""
        held = weights.sets.get(KIND)
        names = NAMES if config.model.context is None or config.model.context.distortion is None else (*NAMES, PLACES)
        if held is None or held.dense_names != names:
            seen = None if held is None else " ".join(held.dense_names)
            raise InputError("not the weights of a lattice decoder", file=run, seen=seen, expected=" ".join(names))
        check_predicted_by(config.model.context, weights)
        return LcsDecoder(lcs_model(config.model, work), held.dense_D, config.decoder)

    def check(self, model: Any) -> None:
        """The classifiers must be trained."""
        check_use(model.context)

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """The weights; without a tuner those of the language model alone."""
        model, tune = lcs_model(config.model, work), config.loss.tune
        alone = language_alone(model.names)
        decoder = LcsDecoder(model, alone.dense_D, config.decoder)
        tuned = TunedLcs(decoder, 1 if tune is None else tune.processes)
        start = alone if tune is None else tuned.uniform
        if tune is not None and tune.start == "base":
            start = weights_of(Path(str(config.base))).sets[KIND]
        metadata = {**made_of(config, work), **predicted_by(config.model.context)}
        return ToTune(tuned, start, lambda weights: Saved({KIND: weights}, {}, {}), metadata)


def lcs_model(settings: LcsModelConfig, work: WorkDirectory | None) -> LcsModel:
    """The classifiers that the settings name, and the language model of the work directory.

    Raises:
        InputError: there is no work directory, or as `context_model` and `distance_model`.
    """
    work = needed(work if settings.context is not None else None, settings)
    assert settings.context is not None
    classifier = context_model(Path(settings.context.run), work)
    placed = None
    if settings.context.distortion is not None:
        placed = PredictedPlaces(distance_model(Path(settings.context.distortion), work))
    return LcsModel(classifier, work.target_vocabulary, work.lm, placed)
