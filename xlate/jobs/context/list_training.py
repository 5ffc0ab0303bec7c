"""A classifier in context trained on for expected BLEU over n-best lists of the system whose feature it is.

The training text is decoded in folds, each by a phrase system with a classifier that has not seen the fold, under the
float weights of the run base. Learned are changes of the classifier's weights, the same for the classifiers of all
folds; in the end they are added to the weights of the classifier of the whole text. Float weights stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from xlate.array_types import Floats32, Ints
from xlate.candidates.batch import CandidateBatch
from xlate.config.model_schema import TRANSLATION, ContextUseConfig, PhraseModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.context.folded import TrainPart, fold_classifiers
from xlate.jobs.context.predicted_lists import predicted, predicted_identity
from xlate.jobs.context.training import WEIGHT
from xlate.jobs.run_places import located_config
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.systems.context import ALONE, context_model
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.phrase import Phrase, open_phrase_model, phrase_base, phrase_decoder
from xlate.jobs.systems.predictions import KIND, check_folds, check_predicted_by, classifier_config
from xlate.jobs.train.jackknife import Jackknife
from xlate.jobs.train.list_settings import list_settings
from xlate.jobs.train.measuring import measured_splits
from xlate.jobs.train.sparse_learning import gone_through, list_figures, sample
from xlate.memory import check_memory
from xlate.metrics.bleu import sentence_bleu
from xlate.models.context.predicted import NAME
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.scoring.weights import Weights, save_weights
from xlate.train.list_checkpoint import ListCheckpoint
from xlate.train.list_learner import EpochFigures, PredictedListLearner
from xlate.train.run import Run
from xlate.work.directory import WorkDirectory


class ContextListTraining:
    """Lists of the training text, and the weights of a classifier trained on over them.

    Args:
        config: of the run; its model is that of the base's classifier.
        train_part: trains the classifiers of folds.

    Raises:
        InputError: no work directory, or no such base; see `check_context_lists`.
    """

    def __init__(self, config: TrainConfig, train_part: TrainPart) -> None:
        use = check_context_lists(config)
        self.base, self.train_part, self.classifier = Path(str(config.base)), train_part, Path(use.run)
        self.config = replace(config, model=classifier_config(self.classifier).model)
        self.work = WorkDirectory(Path(config.work)).check()
        self.system = replace(_base_config(config), work=config.work)

    def made_from(self) -> Mapping[str, Any]:
        """The work directory; weights of the base say which classifier it was tuned with."""
        return {"work_identity": self.work.identity}

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Decodes the lists, learns from them, writes the weights, and translates the dev set with them."""
        config, settings = self.config, self.config.loss.lists
        assert settings is not None
        if not fold_classifiers(config, self.use, self.train_part, run.stop):
            return None
        model = Phrase().listed(self.system, self.work, self.base)
        folds = model.folds(settings.folds)
        lists = Jackknife(self.work, folds, model.theta, self.system.decoder, settings, config.seed)
        if settings.machine is not None:
            return lists.part(run.stop.__bool__)
        if not lists.decode(run.stop.__bool__):
            return None
        every = lists.lists()
        if settings.sentences is not None and settings.sentences < len(every):
            every = every.select(sample(len(every), settings.sentences, config.seed))
        found = self._learned(every, model.theta, folds.fold_I, run)
        if found is None:
            return None
        changes_F, figures, checkpoint = found
        active, changed = self._save(changes_F, run), int(np.count_nonzero(changes_F))
        summary = {"work": config.work, "base": str(self.base), "active_features": active, "changed_weights": changed}
        measured = measured_splits(config, self.work, run, len(figures), self._decoder(run, model.theta))
        checkpoint.remove()
        return {**summary, **list_figures(figures, every), **measured}

    @property
    def use(self) -> ContextUseConfig:
        """How the base uses the classifier."""
        return cast(ContextUseConfig, self.system.model.context)

    def _learned(
        self, lists: CandidateBatch, theta: Weights, fold_I: Ints, run: Run
    ) -> tuple[Floats32, list[EpochFigures], ListCheckpoint] | None:
        """The changes of the weights; None when stopped."""
        config, settings = self.config, self.config.loss.lists
        assert settings is not None
        among = predicted(lists, self.work, self.classifier, fold_I, settings.folds, run.stop.__bool__)
        if among is None:
            return None
        parts = among.parts(float(theta.dense_D[theta.dense_names.index(NAME)]))
        fixed = replace(lists, base_C=(lists.dense_CD @ theta.dense_D).astype(np.float32))
        arrays = fixed.arrays(sentence_bleu(lists.gain_CG, settings.gain) / 100.0, parts=True, dense=False)
        heldout_I = np.arange(len(lists)) % settings.heldout_every == settings.heldout_every - 1
        size, steps = 1 << config.model.bits, list_settings(settings, config.seed)
        learner = PredictedListLearner(arrays, parts, lists.gain_CG, heldout_I, size, steps)
        identity = predicted_identity(learner.lists, parts, steps, size)
        checkpoint = ListCheckpoint(run.checkpoint(), identity, config.checkpoint_seconds)
        figures = gone_through(learner, checkpoint, settings, run, what=KIND)
        return None if run.stop else (learner.weights.sparse_F, figures, checkpoint)

    def _save(self, changes_F: Floats32, run: Run) -> int:
        """Writes the weights of the whole text's classifier with the changes; how many are not 0."""
        file, model = weights_of(self.classifier), context_model(self.classifier, self.work)
        changed = replace(file.sets[KIND], sparse_F=file.sets[KIND].sparse_F + changes_F)
        said = {"work": self.config.work, "work_identity": self.work.identity, ALONE: model.alone}
        run.reporter.histogram(f"{KIND}/changes", changes_F[changes_F != 0], 0)
        save_weights(
            run.weights, {KIND: changed.single()}, extra=file.extra, metadata={**said, **made_with(self.config.model)}
        )
        return changed.active

    def _decoder(self, run: Run, theta: Weights) -> PhraseDecoder:
        """The base with the classifier of the run in place of its own."""
        model = replace(cast(PhraseModelConfig, self.system.model), context=replace(self.use, run=str(run.path)))
        config = replace(self.system, model=model)
        return phrase_decoder(open_phrase_model(self.base, config), theta, config.decoder, Asked())


def check_context_lists(config: TrainConfig) -> ContextUseConfig:
    """Looks whether a run says which classifier is trained on, and how; returns how its base uses it.

    Raises:
        InputError: no base, or one without predictions, with other features to be learned, without a weight for them
            or tuned with another classifier than is there; settings of a model other than that of the classifier.
    """
    assert config.loss.lists is not None
    if config.base is None:
        remedy = "base=RUN of model=phrase context=feature"
        raise InputError("no system to train a classifier on for", seen="no base", expected="base=RUN", remedy=remedy)
    base, use = Path(config.base), _base_config(config).model.context
    if not isinstance(use, ContextUseConfig):
        raise InputError("a base run without predictions", file=base, seen="context=none", expected="context=feature")
    if use.share != 1:
        seen, expected = f"model.context.share={use.share:g}", "1: p of the classifier alone"
        raise InputError("a base run that mixes predictions with the table", file=base, seen=seen, expected=expected)
    file = weights_of(base)
    check_predicted_by(use, file)
    held = file.sets[Phrase.name]
    if not held.dense_D[held.dense_names.index(NAME)]:
        raise InputError("predictions do not count in the base run", file=base, seen=f"{NAME} 0", expected="not 0")
    check_folds(use)
    check_memory("the weights of the classifier", WEIGHT << config.model.bits, f"model.bits={config.model.bits}")
    _check_classifier(config, Path(use.run))
    return use


def _base_config(config: TrainConfig) -> TrainConfig:
    """The configuration of the base.

    Raises:
        InputError: it is no phrase model with float weights alone.
    """
    base = Path(str(config.base))
    phrase_base(base)
    if config_of_run(base).model.sparse is not None:
        seen, expected = "sparse=…", "float weights alone: sparse=none"
        raise InputError("a base run with sparse features", file=base, seen=seen, expected=expected)
    return located_config(base, near=config.work)


def _check_classifier(config: TrainConfig, run: Path) -> None:
    """It must predict translations; the settings of the model are its own."""
    given, held = config.model, classifier_config(run).model
    if held.predicts != TRANSLATION:
        seen = f"model.predicts={held.predicts}"
        raise InputError(
            "not a classifier of translation", file=run, seen=seen, expected=f"model.predicts={TRANSLATION}"
        )
    default = type(given)()
    for name, value in vars(given).items():
        if value not in (getattr(held, name), getattr(default, name)):
            seen, expected = f"model.{name}={value}", f"{getattr(held, name)}, as the classifier of the base has it"
            raise InputError("a classifier is trained on as it is", seen=seen, expected=expected)
