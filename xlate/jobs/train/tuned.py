"""Runs whose dense weights are tuned: of any system, an imported one too, or of another run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from xlate.config.schema import TrainConfig
from xlate.jobs.run_text import text_of_base
from xlate.jobs.systems.kind import ToTune
from xlate.jobs.systems.registry import kind_of
from xlate.jobs.train.measuring import measured_splits, rounded
from xlate.jobs.train.tuners import chosen_weights
from xlate.jobs.train.tuning import TuningText, tune, tuning_text
from xlate.metrics.objective import BLEU, Objective
from xlate.scoring.weights import Weights, save_weights
from xlate.train.run import Run
from xlate.train.tuning import RoundFigures
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of


class TunedTraining:
    """Rounds of decoding a text and finding better weights on its n-best lists; see `train.tuning`.

    Raises:
        InputError: no text to tune on, no base run where one is needed, or no weight of a name in `loss.tune.weights`.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.kind = kind_of(config.model.kind)
        if config.base is not None:
            self.kind.check_base(config, Path(config.base))
        self.config = config = self.kind.based(config)
        assert config.loss.tune is not None
        self.work = WorkDirectory(Path(config.work)).check() if config.work else None
        given = text_of_base(config)
        self.text = tuning_text(config.loss.tune, self.work, config.decoder.max_words, given=given)
        if config.loss.tune.weights:
            # Names of weights are known when the system is open; a wrong one is said before anything is written.
            chosen_weights(config.loss.tune, self.to_tune.start, self.to_tune.system.trained_D)

    @cached_property
    def to_tune(self) -> ToTune:
        """What is tuned."""
        return self.kind.to_tune(self.config, self.work)

    def made_from(self) -> Mapping[str, Any]:
        """What is tuned on makes the run as much as the work directory does."""
        return made_from_text(self.work, self.text)

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Tunes, writes the weights, and translates the dev set, and the test set if asked."""
        config, work = self.config, self.work
        tuned = self.to_tune
        found = tune(config, tuned.system, tuned.start, self.text, run)
        if found is None:
            return None
        weights, rounds = found
        saved = tuned.saved(weights)
        save_weights(run.weights, saved.sets, features=saved.features, extra=saved.extra, metadata=tuned.metadata)
        summary = tuning_summary(config, weights, rounds, self.text)
        return {**summary, **measured_splits(config, work, run, len(rounds))}


def made_from_text(work: WorkDirectory | None, text: TuningText) -> dict[str, Any]:
    """The work directory, if any, and the text that is tuned on."""
    return {"work_identity": identity_of({"work": work.identity if work else None, "text": asdict(text)})}


def tuning_summary(
    config: TrainConfig, weights: Weights, rounds: list[RoundFigures], text: TuningText
) -> dict[str, Any]:
    """What a tuned run says of itself."""
    best = max(rounds, key=lambda figures: figures.bleu)
    objective = BLEU if config.loss.tune is None else Objective.of(config.loss.tune.metric)
    return {
        "work": config.work,
        **({"active_features": weights.active} if len(weights.sparse_F) else {}),
        "rounds": rounds[-1].round,
        ("tune_BLEU" if objective.is_bleu else "tune_objective"): round(best.bleu, 4),
        "tune_sentences": len(text),
        "pool": rounds[-1].pool,
        "weights": {"dense": rounded(weights)},
        "history": [figures.to_json() for figures in rounds],
    }
