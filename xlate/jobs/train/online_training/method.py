"""xlate train source=online: weights learned while a dev set is decoded with them (Watanabe et al. 2007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xlate.config.identity import settings_of_source
from xlate.config.loss_schema import TunedLossConfig
from xlate.config.schema import TrainConfig
from xlate.config.source_schema import ONLINE, SourceConfig
from xlate.config.tune_schema import TuneConfig
from xlate.errors import InputError
from xlate.jobs.run_text import text_of_base
from xlate.jobs.systems.kind import ToTune
from xlate.jobs.systems.phrase_lists import by_fold
from xlate.jobs.systems.registry import kind_of
from xlate.jobs.train.measuring import measured_splits, rounded
from xlate.jobs.train.online_training.scale import scale_of_learning, times
from xlate.jobs.train.online_training.sentence_lists import ListsOfSentences
from xlate.jobs.train.online_training.texts import training_sentences
from xlate.jobs.train.tuned import made_from_text
from xlate.jobs.train.tuning import NbestLists, tuning_text
from xlate.jobs.train.warnings import warn_if_unmoved
from xlate.losses.loss import loss_of, losses
from xlate.metrics.objective import DOCUMENT, Objective, OracleDocument
from xlate.scoring.weights import Weights, save_weights
from xlate.train.online import IterationFigures, Online, OnlineSettings, online_identity
from xlate.train.online_checkpoint import OnlineCheckpoint
from xlate.train.online_learner import OnlineLearner, StepSettings
from xlate.train.run import Run
from xlate.updates.loss_steps import LossSteps
from xlate.updates.mira import Mira
from xlate.updates.online import OnlineUpdate
from xlate.updates.perceptron import AveragedPerceptron
from xlate.updates.tillmann_zhang import TillmannZhang
from xlate.work.directory import WorkDirectory


class OnlineTraining:
    """A dev set decoded sentence by sentence, its weights moved by each; see `train.online`.

    Raises:
        InputError: no text to learn from, or no base run where one is needed.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.kind = kind_of(config.model.kind)
        asked = as_tuning(config)
        if config.base is not None:
            self.kind.check_base(asked, Path(config.base))
        self.asked = self.kind.based(asked)
        self.config = replace(self.asked, loss=config.loss)
        self.work = WorkDirectory(Path(self.config.work)).check() if self.config.work else None
        assert self.asked.loss.tune is not None
        most = config.decoder.max_words
        if self.work is not None and config.source.folds:
            self.text = training_sentences(self.work, self.asked.loss.tune, config.source.sentences, most)
        else:
            self.text = tuning_text(self.asked.loss.tune, self.work, most, "source.text", text_of_base(self.config))

    @cached_property
    def to_tune(self) -> ToTune:
        """What learns."""
        found = self.kind.to_tune(self.asked, self.work)
        if self.work is None or not self.config.source.folds:
            return found
        return replace(found, system=by_fold(self.asked, self.kind, self.work, found.system))

    def made_from(self) -> Mapping[str, Any]:
        """The text makes the run as much as the work directory does."""
        return made_from_text(self.work, self.text)

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Learns, writes the weights, and translates the dev set, and the test set if asked."""
        config, tuned = self.config, self.to_tune
        with self._lists() as lists:
            scale = self._scale(lists)
            online = self._online(run, lists, scale)
            found = online.run(run.stop.__bool__)
        if found is None:
            return None
        learned, figures = found
        weights = times(learned, tuned.system.trained_D, 1 / scale)
        warn_if_unmoved({"start": tuned.start}, {"start": weights}, f"source.update={config.source.update}")
        saved = tuned.saved(weights)
        save_weights(run.weights, saved.sets, features=saved.features, extra=saved.extra, metadata=tuned.metadata)
        measured = measured_splits(config, self.work, run, len(figures))
        online.checkpoint.remove()
        return {**_summary(config, weights, figures, len(self.text)), "learned_times": round(scale, 4), **measured}

    def _lists(self) -> ListsOfSentences:
        source, system = self.config.source, self.to_tune.system
        lists = NbestLists(system, self.text, source.nbest, bool, objective_of(source), words=True)
        # Shards have processes of their own.
        return ListsOfSentences(system, lists, source.processes if source.shards == 1 else 1)

    def _scale(self, lists: ListsOfSentences) -> float:
        source, tuned = self.config.source, self.to_tune
        trained_D, sentences = tuned.system.trained_D, len(self.text)
        return scale_of_learning(tuned.start, trained_D, lists.decode, sentences, source.nbest, source.spread)

    def _online(self, run: Run, lists: ListsOfSentences, scale: float) -> Online:
        source, tuned = self.config.source, self.to_tune
        objective = objective_of(source)
        document = OracleDocument(np.zeros((len(self.text), objective.width)), objective, source.gain != DOCUMENT)
        steps = StepSettings(source.k, source.m, source.hope, source.rate, source.dense_rate, source.adagrad)
        trained_D = tuned.system.trained_D
        learner = OnlineLearner(
            times(tuned.start, trained_D, scale),
            trained_D,
            update_of(source, self.config.seed),
            steps,
            document,
            tuned.system.growing,
        )
        settings = OnlineSettings(
            iterations=source.iterations,
            size=source.nbest,
            batch=source.batch,
            shards=source.shards,
            processes=source.processes,
            select=source.select,
            heldout_every=source.heldout_every,
            seed=self.config.seed,
        )
        made_from = settings_of_source(source), asdict(self.config.decoder), self.made_from()
        identity = online_identity(made_from, tuned.start)
        checkpoint = OnlineCheckpoint(run.checkpoint(), identity, run.checkpoint_seconds)
        return Online(learner, lists.decode, settings, checkpoint, run.reporter)


def as_tuning(config: TrainConfig) -> TrainConfig:
    """The configuration that asks a kind of model for what is tuned, by the keys that tuners share."""
    source = config.source
    tune = TuneConfig(
        name=ONLINE,
        split=source.split,
        source=source.text,
        references=source.references,
        start=source.start,
    )
    return replace(config, loss=TunedLossConfig(ONLINE, tune))


def objective_of(source: SourceConfig) -> Objective:
    """What is learned for.

    Raises:
        InputError: an unknown measure.
    """
    return Objective.of(source.metric) if source.gain == DOCUMENT else Objective.of(source.metric, source.gain)


def update_of(source: SourceConfig, seed: int) -> OnlineUpdate:
    """How a list moves the weights.

    Raises:
        InputError: no such update, or one with settings that cannot be.
    """
    margins: dict[str, OnlineUpdate] = {
        Mira.name: Mira(source.margin, source.C),
        AveragedPerceptron.name: AveragedPerceptron(source.margin),
        TillmannZhang.name: TillmannZhang(source.margin, source.eta),
    }
    if source.update in margins:
        return margins[source.update]
    if source.update not in losses():
        seen, expected = f"source.update={source.update}", ", ".join([*margins, *losses()])
        raise InputError("no such update", seen=seen, expected=expected)
    given = {"gamma": source.gamma, "margin": source.margin, "seed": seed}
    return LossSteps(loss_of(source.update, **given), source.eta, seed)


def check_online(config: TrainConfig) -> None:
    """Looks whether the settings of online training fit each other.

    Raises:
        InputError: they do not.
    """
    source = config.source
    if config.loss.name != ONLINE:
        seen, expected = f"source=online loss={config.loss.name}", "no loss=…"
        raise InputError("online training has its own updates", seen=seen, expected=expected, remedy="source.update=…")
    update_of(source, config.seed)
    objective_of(source)
    if source.k > source.nbest:
        seen = f"source.k={source.k} source.nbest={source.nbest}"
        raise InputError("fewer translations of a list than are held against oracles", seen=seen, expected="k ≤ nbest")
    if source.references and source.text is None:
        seen = f"source.references={list(source.references)} and no source.text"
        raise InputError("references of no text", seen=seen, expected="source.text=FILE, whose translations they are")
    if source.folds and not config.work:
        seen, expected = f"source.folds={source.folds} and no work=", "work=…"
        raise InputError("folds of no training text", seen=seen, expected=expected)
    from_run = kind_of(config.model.kind).tunes_from_run
    if config.base is None and (source.start == "base" or from_run):
        raise InputError("no run to start from", seen="base is not set", expected="base=RUN")


def _summary(config: TrainConfig, weights: Weights, figures: list[IterationFigures], sentences: int) -> dict[str, Any]:
    last = figures[-1]
    return {
        "work": config.work,
        **({"active_features": weights.active} if len(weights.sparse_F) else {}),
        "iterations": len(figures),
        "online_sentences": sentences,
        "online_BLEU": round(last.bleu, 4),
        "oracle_BLEU": round(last.oracle_bleu, 4),
        "weights": {"dense": rounded(weights)},
        "history": [asdict(one) for one in figures],
    }
