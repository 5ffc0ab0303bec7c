"""Runs of sparse features trained from lists of the training text (Auli, Galley & Gao 2014, section 5).

One command: float weights θ are tuned, or are those of a base run; the training text is decoded in folds, sparse
weights φ are learned with θ fixed, and float weights are tuned again with the sums φ·u as new float features. With
`rounds` the text is decoded again with φ, and φ learned anew from the lists of all rounds. θ and the lists are kept in
the work directory under what they were made from, so that runs that differ in features or losses share them. With
predictions in context the classifiers of folds, which have not seen them, are trained first and kept there, too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from xlate.candidates.lists import UnitFeatures
from xlate.config.identity import identity_of_training
from xlate.config.loss_schema import TunedLossConfig
from xlate.config.model_schema import PhraseModelConfig
from xlate.config.schema import TrainConfig
from xlate.jobs.context.folded import TrainPart, fold_classifiers
from xlate.jobs.systems.listed import FoldSystems, ListedModel
from xlate.jobs.systems.registry import kind_of
from xlate.jobs.train.jackknife import Jackknife, pooled
from xlate.jobs.train.measuring import measured_splits
from xlate.jobs.train.sparse_learning import Learned, learn, learned_before
from xlate.jobs.train.tuned import made_from_text, tuning_summary
from xlate.jobs.train.tuning import tune, tuning_text
from xlate.scoring.weights import Weights, save_weights
from xlate.text.locks import awaited
from xlate.train.run import Run
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of

log = logging.getLogger(__name__)


class ListTraining:
    """Float weights tuned, sparse weights learned from lists of the training text, float weights tuned again.

    Args:
        config: of the run.
        train_part: trains the run of the float weights.

    Raises:
        InputError: no work directory, or nothing to tune on.
    """

    def __init__(self, config: TrainConfig, train_part: TrainPart) -> None:
        self.config, self.train_part = config, train_part
        self.kind = kind_of(config.model.kind)
        self.work = WorkDirectory(Path(config.work)).check()
        self.text = tuning_text(_tune_config(config), self.work, config.decoder.max_words)

    def made_from(self) -> Mapping[str, Any]:
        """The work directory, and the text that float weights are tuned on."""
        return made_from_text(self.work, self.text)

    def learn(self, run: Run) -> dict[str, Any] | None:
        """All three steps; with `machine`, only lists of some folds of the training text are made."""
        config, work = self.config, self.work
        assert config.loss.lists is not None
        base = Path(config.base) if config.base is not None else self._tuned_floats(run)
        if base is None or not fold_classifiers(config, config.model.context, self.train_part, run.stop):
            return None
        model = self.kind.listed(config, work, base)
        if config.loss.lists.machine is not None:
            return _lists(config, work, model.folds(config.loss.lists.folds), model.theta).part(run.stop.__bool__)
        learned = _learned(config, work, model, run)
        if learned is None:
            return None
        tuned = model.to_tune(learned.theta, learned.phi_F)
        found = tune(_as_tuning(config), tuned.system, tuned.start, self.text, run, again=True)
        if found is None:
            return None
        weights, rounds = found
        saved = tuned.saved(weights)
        save_weights(run.weights, saved.sets, features=saved.features, extra=saved.extra, metadata=tuned.metadata)
        summary = {**tuning_summary(config, weights, rounds, self.text), **learned.figures, "base": str(base)}
        return {**summary, **measured_splits(config, work, run, len(rounds))}

    def _tuned_floats(self, run: Run) -> Path | None:
        """The run of a phrase model's float weights, made when it is not there; None when stopped."""
        config = self.config
        assert isinstance(config.model, PhraseModelConfig)
        model = replace(config.model, sparse=None)
        plain = replace(_as_tuning(config), model=model, row=None, measure_test=False, run=None, base=None)
        key = identity_of({**identity_of_training(plain), "on": self.work.identity})
        folder = self.work.path / "theta" / key[:16]
        log.info("float weights: %s", folder)
        with awaited(folder, run.stop.__bool__):
            return None if self.train_part(plain, folder, run.stop).summary is None else folder


def _lists(
    config: TrainConfig,
    work: WorkDirectory,
    systems: FoldSystems,
    weights: Weights,
    sparse: UnitFeatures | None = None,
) -> Jackknife:
    assert config.loss.lists is not None
    return Jackknife(work, systems, weights, config.decoder, config.loss.lists, config.seed, sparse)


def _learned(config: TrainConfig, work: WorkDirectory, model: ListedModel, run: Run) -> Learned | None:
    """What the last round learned, None when stopped; each decodes with what is known and learns from all lists."""
    assert config.loss.lists is not None
    systems, theta = model.folds(config.loss.lists.folds), model.theta
    made: list[Jackknife] = []
    found: Learned | None = None
    step = 0
    for number in range(1, config.loss.lists.rounds + 1):
        if found is None:
            lists = _lists(config, work, systems, theta)
        else:
            lists = _lists(config, work, systems, model.weighted(found.theta, found.phi_F), model.features)
        made.append(lists)
        held = run.checkpoint(f"sparse-{number}.safetensors")
        found = learned_before(held, theta, model.features)
        if found is None:
            if not lists.decode(run.stop.__bool__):
                return None
            found = learn(config, model.features, pooled(made), theta, held, run, step)
        if found is None:
            return None
        step += found.figures["list_epochs"] + 1
    return found


def _tune_config(config: TrainConfig) -> Any:
    assert config.loss.tune is not None
    return config.loss.tune


def _as_tuning(config: TrainConfig) -> TrainConfig:
    """The tuning of float weights alone."""
    tune = _tune_config(config)
    return replace(config, loss=TunedLossConfig(tune.name, tune))
