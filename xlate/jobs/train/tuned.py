"""Runs whose float weights are tuned: of the phrase model, of an imported system, or of a block model's run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.config.schema import TrainConfig
from xlate.config.stored import read_config
from xlate.errors import InputError
from xlate.jobs.prepare.stages import identity_of
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.run_weights import made_with, weights_of, weights_path
from xlate.jobs.systems import phrase as phrase_models
from xlate.jobs.systems.registry import event_kind
from xlate.jobs.train.measuring import measured_splits
from xlate.jobs.train.tuned_systems import BlockSystem, PhraseSystem, TunedSystem, with_sums
from xlate.jobs.train.tuning import TuningText, tune, tuning_text
from xlate.models.block.model import BlockModel
from xlate.models.distortion.model import DistortionModel
from xlate.scoring.weights import Weights, save_weights
from xlate.train.run import Run
from xlate.train.tuning import RoundFigures


class TunedTraining:
    """Rounds of decoding a text and finding better weights on its n-best lists; see `train.tuning`.

    Raises:
        InputError: no text to tune on, or no base run where one is needed.
    """

    def __init__(self, config: TrainConfig) -> None:
        _check_base(config)
        self.config = config = _without_work_of_base(config)
        assert config.loss.tune is not None
        self.work = WorkDirectory(Path(config.work)).check() if config.work else None
        self.text = tuning_text(config.loss.tune, self.work, config.decoder.max_words)

    def made_from(self) -> Mapping[str, Any]:
        """What is tuned on makes the run as much as the work directory does."""
        return made_from_text(self.config, self.work, self.text)

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Tunes, writes the weights, and translates the dev set, and the test set if asked."""
        config, work = self.config, self.work
        tuned = _phrase_run(config, work) if config.model.kind == phrase_models.KIND else _block_run(config, work)
        found = tune(config, tuned.system, tuned.start, self.text, run)
        if found is None:
            return None
        weights, rounds = found
        tuned.save(run, weights)
        summary = tuning_summary(config, weights, rounds, self.text)
        return {**summary, **measured_splits(config, work, run, len(rounds))}


def made_from_text(config: TrainConfig, work: WorkDirectory | None, text: TuningText) -> dict[str, Any]:
    """The work directory, if any, and the text that is tuned on, with the run that tuning starts from."""
    made_from = {"work": work.identity if work else None, "text": asdict(text)}
    return {"work_identity": identity_of(made_from), "base": config.base}


def phrase_base(base: Path, *, weighted: bool = True) -> None:
    """Checks that a run is of the phrase model and, with `weighted`, that it has weights.

    Raises:
        InputError: it is not, or has none.
    """
    trained = read_config(_stored(str(base)), TrainConfig)
    if trained.model.kind != phrase_models.KIND:
        raise InputError("the base run has another model", file=base, seen=trained.model.name, expected="model=phrase")
    if weighted:
        weights_path(base)


def _check_base(config: TrainConfig) -> None:
    """Before anything is written.

    Raises:
        InputError: a base run that is missing, unfinished or another model's.
    """
    if config.base is None:
        return
    base = Path(config.base)
    if config.model.kind == phrase_models.KIND:
        assert config.loss.tune is not None
        phrase_base(base, weighted=config.loss.tune.start == "base")
        if config.model.sparse is not None:
            phrase_models.check_words_of_base(config, config.model.sparse)
        return
    trained = read_config(_stored(config.base), TrainConfig)
    if asdict(trained.model) != asdict(config.model):
        raise InputError(
            "the base run has another model",
            file=base,
            seen=f"model={trained.model.name}, or other settings of it",
            remedy="give both the same model settings",
        )
    weights_path(base)


def _without_work_of_base(config: TrainConfig) -> TrainConfig:
    """An imported system has no work directory, so runs based on it have none."""
    if config.base is None or config.model.kind != phrase_models.KIND:
        return config
    base = read_config(Path(config.base) / "config.yaml", TrainConfig)
    model = replace(config.model, reordering=base.model.reordering)
    return replace(config, work=base.work, model=model)


@dataclass(frozen=True)
class _Tuned:
    """What is tuned, where it starts, and how its weights are written."""

    system: TunedSystem
    start: Weights
    metadata: dict[str, Any]

    def save(self, run: Run, weights: Weights) -> None:
        path, name, system = run.weights, phrase_models.SET, self.system
        if isinstance(system, PhraseSystem) and system.model.sparse is not None:
            features = {name: system.model.sparse}
            save_weights(path, {name: weights.single()}, features=features, metadata=self.metadata)
        else:
            save_weights(path, {name: weights}, metadata=self.metadata)


@dataclass(frozen=True)
class _TunedBlocks(_Tuned):
    """A block model: its weights are written as those of a run of the local model."""

    base: Path

    def save(self, run: Run, weights: Weights) -> None:
        file = weights_of(self.base)
        assert isinstance(self.system, BlockSystem)
        model = self.system.weighted(weights)
        linked, features = file.sets["linked"], model.feature_weights
        if isinstance(model, BlockModel):
            sets = {
                "linked": replace(linked, dense_D=model.linked, sparse_F=features),
                "neutral": replace(file.sets["neutral"], dense_D=model.neutral),
            }
        else:
            sets = {"linked": replace(linked, dense_D=np.asarray(model.weights), sparse_F=features)}
        save_weights(
            run.weights,
            sets,
            features=file.features,
            extra=file.extra,
            metadata={**file.metadata, **self.metadata},
        )


def _phrase_run(config: TrainConfig, work: WorkDirectory | None) -> _Tuned:
    assert config.loss.tune is not None
    if config.base is not None and config.model.sparse is None:
        model = phrase_models.open_phrase_model(Path(config.base), read_config(_stored(config.base), TrainConfig))
    else:
        model = phrase_models.open_phrase_model(Path("."), config)
    system = PhraseSystem(model, config.decoder, config.loss.tune.processes, tunes_sparse=model.sparse is not None)
    start = system.uniform
    if config.loss.tune.start == "base":
        start = weights_of(Path(str(config.base))).sets[phrase_models.SET]
        if model.sparse is not None:
            start = replace(with_sums(start, model), sparse_F=np.zeros(len(model.sparse)))
    return _Tuned(
        system,
        start,
        {"work": config.work, "work_identity": work.identity if work else None, **made_with(config.model)},
    )


def _block_run(config: TrainConfig, work: WorkDirectory | None) -> _Tuned:
    assert work is not None
    assert config.loss.tune is not None
    base = Path(str(config.base))
    model = event_kind(config.model.kind).model(work, weights_of(base), config.model)
    assert isinstance(model, BlockModel | DistortionModel)
    system = BlockSystem(model, config.decoder)
    start = system.trained if config.loss.tune.start == "base" else system.uniform
    return _TunedBlocks(system, start, made_with(config.model), base)


def _stored(base: str) -> Path:
    return Path(base) / "config.yaml"


def tuning_summary(
    config: TrainConfig, weights: Weights, rounds: list[RoundFigures], text: TuningText
) -> dict[str, Any]:
    """What a tuned run says of itself."""
    best = max(rounds, key=lambda figures: figures.bleu)
    return {
        "work": config.work,
        **({"active_features": weights.active} if len(weights.sparse_F) else {}),
        "rounds": len(rounds),
        "tune_BLEU": round(best.bleu, 4),
        "tune_sentences": len(text),
        "pool": rounds[-1].pool,
        "weights": {"dense": dict(zip(weights.dense_names, np.round(weights.dense_D, 6).tolist(), strict=True))},
        "history": [figures.to_json() for figures in rounds],
    }
