"""Training of a classifier that predicts translations, or their positions (Kolachina et al. 2010, section 3.1).

It learns from events, or is trained further for expected BLEU over n-best lists of the system that uses it as a
feature. For the latter, the training text is decoded in folds, each by a phrase system with a classifier that has not
seen the fold, with the float weights of the base run. This learns changes of the classifier's weights, the same for all
folds, which at the end are added to the classifier of the whole text. Float weights do not change.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np

from xlate.array_types import AnyFloats, Ints
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.context_instances import DENSE
from xlate.candidates.lists import LENGTH, PAIR, START
from xlate.candidates.store import held_out
from xlate.config.model_schema import DISTORTION, TRANSLATION, ContextUseConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError, check_choice, refuse_if
from xlate.jobs.train.jackknife import Jackknife, fold_classifiers
from xlate.jobs.train.lists import check_lists, decode_folds, gone_through, list_figures, sampled
from xlate.jobs.train.recipe import (
    EventRecipe,
    WorkRecipe,
    losses_of_events,
    measured_splits,
    phase_of,
    refuse_base,
    rounded,
)
from xlate.kernels.learning.candidates import crossed_scores
from xlate.kernels.learning.lists import PredictedParts, span_logs
from xlate.learning.learner import PhaseSettings
from xlate.learning.list_learner import PredictedListLearner, lists_identity
from xlate.learning.loop import Phase
from xlate.learning.run import Run
from xlate.losses.loss import losses
from xlate.machine import check_memory, until_stopped
from xlate.metrics.bleu import sentence_bleu
from xlate.models.context.classifiers import ALONE, ContextParts, context_model, context_stores
from xlate.models.context.inspection import Quality
from xlate.models.context.model import NO_CHOICE, chosen_in, log_probabilities
from xlate.models.context.predicted import CONTEXT_NAME
from xlate.models.context.runs import KIND, check_folds, check_predicted_by, classifier_config, fold_classifier
from xlate.models.kind import made_of
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.kind import Phrase, open_phrase_model, phrase_base
from xlate.models.run_files import located_config, weights_of
from xlate.progress import track
from xlate.report.pictures import reliability_picture
from xlate.report.run_directory import Reporter
from xlate.scoring.weights import Weights, save_weights
from xlate.settings import Json
from xlate.text.folders import remove_folder
from xlate.updates.rule import UpdateRule
from xlate.work.stages import identity_of

log = logging.getLogger(__name__)
# Bytes per hashed weight in training: the weight, the best so far and the saved one; more for AdaGrad and averages.
WEIGHT, SQUARES, SUMS = 24, 4, 16


class ContextTraining(EventRecipe):
    """One phase over stored instances, float and sparse weights together."""

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        loss, model = config.loss, config.model
        refuse_base(config, "no base, or loss=xbleu, which continues training a run's classifier")
        check_choice("unknown value of loss.name", loss.name, losses_of_events())
        refuse_if(loss.l1 and loss.l2, "two penalties", f"loss.l1={loss.l1} loss.l2={loss.l2}", "one of them")
        refuse_if(
            model.left_out is not None and model.left_out >= model.left_out_of,
            "no such fold",
            f"model.left_out={model.left_out} model.left_out_of={model.left_out_of}",
            f"0 to {model.left_out_of - 1}",
        )
        refuse_if(
            loss.negatives and (not losses()[loss.name].judges_each or loss.batch),
            "this loss compares all candidates",
            f"loss.negatives={loss.negatives} loss.name={loss.name} loss.batch={loss.batch}",
            "loss.negatives=0, or loss=one_vs_rest with loss.batch=0",
        )
        refuse_if(
            not model.target and model.predicts != DISTORTION,
            "translations that are not represented",
            "model.target=[]",
            "one or more of pair, phrase, words",
        )
        rule, bits = phase_settings(config).rule, model.bits
        size = WEIGHT + SQUARES * rule.adaptive + SUMS * rule.settles
        check_memory("the weights of the classifier", size << bits, f"model.bits={bits}")

    def learn(self, run: Run) -> Json:
        """Trains the phase and writes the weights."""
        config = self.config
        with run.ranks.in_turn():
            stores = context_stores(self.work, config.model)
        settings = phase_settings(config)
        alone = losses()[config.loss.name].judges_each
        # ln p(e|f) is known without a context; alone it is not a probability of yes or no.
        start = Weights(np.array([0.0 if alone else 1.0]), np.zeros(1 << config.model.bits), DENSE)
        held = self.trained(run, [Phase(settings, stores.train, stores.heldout)], stores.identity, {KIND: start})
        weights, history = held.weights[KIND], held.state.history
        save_weights(
            run.weights,
            {KIND: weights.single()},
            extra={"count_B": np.array(stores.count_N)},
            metadata=made_of(config, self.work),
        )
        parts = ContextParts.of(self.work, config.model)
        arrays = stores.heldout.arrays
        offsets_I1 = np.asarray(arrays.candidate_offsets_I1)
        score_C = crossed_scores(arrays.arrays(), weights.dense_D, weights.sparse_F.astype(np.float32))
        quality = Quality(
            offsets_I1=offsets_I1,
            log_C=log_probabilities(score_C, offsets_I1, alone=alone),
            share_C=np.asarray(arrays.dense_CD)[:, 0],
            right_C=np.asarray(arrays.gain_CG)[:, 0] > 0,
            times_I=stores.times_P(parts)[parts.contexts.phrases_of(*arrays.contexts)],
        )
        if config.model.left_out is not None:
            # There is one per fold, and each takes less time to make than to learn from.
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
    """The phase settings of a configuration."""
    loss = config.loss
    negatives = (("negatives", loss.negatives),) if loss.negatives else ()
    return phase_of(
        config,
        name=KIND,
        weights=KIND,
        trained=(loss.dense_rate > 0,),
        train_sparse=True,
        use_sparse=True,
        eta=loss.dense_rate,
        eta_sparse=loss.rate,
        loss_settings=(("sink", loss.sink), ("margin", loss.margin), *negatives),
        rule=UpdateRule(adaptive=loss.adagrad, l1=loss.l1, l2=loss.l2, every=not loss.adagrad, average=loss.average),
    )


def _report_quality(quality: Quality, weights: Weights, reporter: Reporter, step: int, what: str) -> Json:
    """Reports held-out figures, a reliability picture and the spread of weights; returns the figures.

    `what` names what is predicted: a translation, a distance.
    """
    reporter.histogram("weights/context/sparse", weights.sparse_F[weights.sparse_F != 0], step)
    if not len(quality):
        return {"accuracy": None, "baseline_accuracy": None, "calibration_error": None}
    figures = {
        "accuracy": quality.accuracy,
        "baseline_accuracy": quality.baseline,
        "calibration_error": quality.best.error,
    }
    log.info(
        "%s held-out instances: the right %s first in %.1f %%, by frequency only %.1f %%; calibration error %.4f",
        f"{len(quality):,}",
        what,
        100 * quality.accuracy,
        100 * quality.baseline,
        quality.best.error,
    )
    reporter.scalars("valid/*", figures, step)
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


class ContextListTraining(WorkRecipe):
    """Makes lists of the training text and trains the weights of a classifier further on them.

    The model of the run is that of the base's classifier.

    Raises:
        InputError: no work directory, or no such base; see `check_context_lists`.
    """

    over_ranks = True

    def __init__(self, config: TrainConfig) -> None:
        # How the base uses the classifier.
        self.use = check_context_lists(config)
        self.base, self.classifier = config.base_run, Path(self.use.run)
        super().__init__(replace(config, model=classifier_config(self.classifier).model))
        self.system = replace(_base_config(config), work=config.work)

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        check_context_lists(config)
        check_lists(config)

    def learn(self, run: Run) -> Json:
        """Decodes the lists, learns from them, writes the weights, and translates the dev set with them."""
        config, settings, size = self.config, self.config.loss.lists, 1 << self.config.model.bits
        with run.ranks.in_turn():
            fold_classifiers(config, self.use, self.train_part, run.stop)
            model = Phrase().listed(self.system, self.work, self.base, settings.folds)
            lists = Jackknife(self.work, model, model.theta, self.system.decoder, settings, config.seed)
            given = replace(self.system, seed=config.seed, cluster=config.cluster)
            decode_folds(lists, given, self.base, run)
        some = sampled(lists.shards(), len(model.fold_I), settings, config.seed)
        every = CandidateBatch.joined(list(some))
        learner = self._learner(every, model.theta, model.fold_I, run)
        identities = [lists_identity(one, learner.settings, size) for one in (learner.lists, learner.parts.spans)]
        made_from = {"lists": identities[0], "spans": identities[1], "weight": learner.parts.weight}
        checkpoint = run.checkpoint(identity_of(made_from), refuses=False)
        figures = gone_through(learner, checkpoint, settings, run, what=KIND)
        run.ranks.leave()
        changes_F = learner.weights.sparse_F
        run.reporter.histogram(f"{KIND}/changes", changes_F[changes_F != 0], 0)
        summary = {
            "work": config.work,
            "base": str(self.base),
            "active_features": self._save(changes_F, run),
            "changed_weights": int(np.count_nonzero(changes_F)),
        }
        # The base translates, with the run's classifier in place of its own.
        phrases = replace(self.system.model, context=replace(self.use, run=str(run.path)))
        opened = open_phrase_model(self.base, replace(self.system, model=phrases))
        decoder = PhraseDecoder.opened(opened, model.theta, self.system.decoder)
        measured = measured_splits(config, self.work, run, len(figures), decoder)
        checkpoint.remove()
        return {**summary, **list_figures(figures, every), **measured}

    def _learner(self, lists: CandidateBatch, theta: Weights, fold_I: Ints, run: Run) -> PredictedListLearner:
        """The learner of the changes of the weights.

        Parts of lists are predicted by classifiers that have not seen the fold.

        Args:
            lists: with units of the phrase model, pairs by their numbers in the table of the whole text.
            theta: has the weight of ln p in the score of a part.
            fold_I: the fold of each sentence of the text.

        Raises:
            InputError: a classifier without a fold is missing.
            Stopped: the run was stopped.
        """
        settings, work = self.config.loss.lists, self.work
        assert lists.sentence_I is not None
        assert lists.part_offsets_I1 is not None
        found: list[tuple[CandidateBatch, Ints]] = []
        fold_of_I = fold_I[lists.sentence_I]
        for fold, rows in groupby(track(range(len(lists)), "contexts of lists"), fold_of_I.__getitem__):
            model = context_model(fold_classifier(self.classifier, work, (int(fold), settings.folds))[1], work)
            for i in until_stopped(rows, run.stop.__bool__):
                units = lists.units[0][lists.part_offsets_I1[i] : lists.part_offsets_I1[i + 1]]
                start_P, words = units[:, START], work.training_sentence(int(lists.sentence_I[i]))
                found.append(chosen_in(model, words, start_P, start_P + units[:, LENGTH], units[:, PAIR]))
        batches = [spans for spans, _ in found]
        first_I = offsets_of([spans.candidates for spans in batches])
        choices = [np.where(c >= 0, c + first, NO_CHOICE) for first, (_, c) in zip(first_I, found, strict=False)]
        choice_P, spans = np.concatenate(choices), CandidateBatch.joined(batches).arrays()
        start_P = np.append(span_logs(spans, model.alone), 0.0)[choice_P]
        weight = float(theta.dense_D[theta.dense_names.index(CONTEXT_NAME)])
        sizes_I = offsets_of([len(s) for s in batches])
        parts = PredictedParts(spans, sizes_I, choice_P, start_P, weight, model.alone)
        fixed = replace(lists, base_C=(lists.dense_CD @ theta.dense_D).astype(np.float32))
        arrays = fixed.arrays(sentence_bleu(lists.gain_CG, settings.gain) / 100.0, parts=True, dense=False)
        heldout_I, steps = held_out(len(lists), settings.heldout_every), replace(settings, seed=self.config.seed)
        size = 1 << self.config.model.bits
        return PredictedListLearner(arrays, parts, lists.gain_CG, heldout_I, size, steps, run.ranks)

    def _save(self, changes_F: AnyFloats, run: Run) -> int:
        """Writes the weights of the whole text's classifier with the changes; returns how many are not 0."""
        file, model = weights_of(self.classifier), context_model(self.classifier, self.work)
        changed = replace(file.sets[KIND], sparse_F=file.sets[KIND].sparse_F + changes_F)
        metadata = {**made_of(self.config, self.work), ALONE: model.alone}
        save_weights(run.weights, {KIND: changed.single()}, extra=file.extra, metadata=metadata)
        return changed.active


def check_context_lists(config: TrainConfig) -> ContextUseConfig:
    """Checks the base run, whose classifier is trained further, and the settings; returns how the base uses it.

    Raises:
        InputError: there is no base, or it has no predictions, other features to be learned, no weight for predictions,
            or was tuned with another classifier; the settings of the model differ from the classifier's.
    """
    refuse_if(
        config.base is None,
        "no system to train the classifier for",
        "no base",
        "base=RUN",
        "base=RUN of model=phrase context=feature",
    )
    base, model = config.base_run, _base_config(config).model
    use = model.context
    if not isinstance(use, ContextUseConfig):
        raise InputError("a base run without predictions", "context=none", "context=feature", file=base)
    refuse_if(
        use.share != 1,
        "a base run that mixes predictions with the table",
        f"model.context.share={use.share:g}",
        "1: p of the classifier alone",
        file=base,
    )
    file = weights_of(base)
    check_predicted_by(model, file)
    held = file.sets[Phrase.name]
    weight = held.dense_D[held.dense_names.index(CONTEXT_NAME)]
    refuse_if(not weight, "predictions have no weight in the base run", f"{CONTEXT_NAME} 0", "not 0", file=base)
    check_folds(use)
    check_memory("the weights of the classifier", WEIGHT << config.model.bits, f"model.bits={config.model.bits}")
    _check_classifier(config, Path(use.run))
    return use


def _base_config(config: TrainConfig) -> TrainConfig:
    """The configuration of the base.

    Raises:
        InputError: it is not a phrase model with only float weights.
    """
    base = config.base_run
    phrase_base(base)
    sparse = config_of_run(base).model.sparse
    refuse_if(
        sparse is not None, "a base run with sparse features", "sparse=…", "only float weights: sparse=none", file=base
    )
    return located_config(base, near=config.work)


def _check_classifier(config: TrainConfig, run: Path) -> None:
    """Checks that the classifier predicts translations and that the model settings are its own."""
    given, held = config.model, classifier_config(run).model
    refuse_if(
        held.predicts != TRANSLATION,
        "not a classifier of translation",
        f"model.predicts={held.predicts}",
        f"model.predicts={TRANSLATION}",
        file=run,
    )
    default = type(given)()
    for name, value in vars(given).items():
        same = getattr(held, name)
        refuse_if(
            value not in (same, getattr(default, name)),
            "continued training cannot change the classifier's settings",
            f"model.{name}={value}",
            f"{same}, as in the classifier of the base",
        )
