"""Classifiers that predict translations in context, and how the phrase model uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from xlate.config.model_schema import ClassifierConfig, ContextUseConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.prepare.context_stores import ContextParts
from xlate.jobs.prepare.stages import file_hash
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.run_places import with_located_words
from xlate.jobs.run_weights import weights_of, weights_path
from xlate.jobs.systems.without_decoder import WithoutDecoder
from xlate.models.context.model import ContextModel, FactorsOf, no_factors
from xlate.models.context.predicted import PredictedScores
from xlate.models.phrase.model import PhraseModel
from xlate.phrases.listed_pairs import listed_pairs
from xlate.scoring.weights import WeightsFile
from xlate.text.tagging.tagger import POS

KIND = "context"
# What a weights file says of the classifier that its weights were tuned with.
PREDICTED_BY = "predicted_by"


class Context(WithoutDecoder):
    """Predictions of translations; they translate nothing by themselves."""

    name = KIND
    predicts = True
    does = "predicts translations"
    remedy = "xlate train model=phrase context=feature model.context.run=RUN uses what it learned"


def classifier_config(run: Path) -> TrainConfig:
    """The configuration of a finished run of a classifier.

    Raises:
        InputError: it is missing, unfinished, or of another model.
    """
    config = config_of_run(run)
    if config.model.kind != KIND:
        seen = config.model.name
        raise InputError("not a run of a classifier in context", file=run, seen=seen, expected="model=context")
    weights_path(run)
    return config


def context_model(run: Path, work: WorkDirectory) -> ContextModel:
    """The classifier of a finished run.

    Raises:
        InputError: as `classifier_config`; or the run is of another work directory.
    """
    # Translating needs it only here, and it takes PyTorch with it.
    from xlate.losses.loss import losses

    config = classifier_config(run)
    file = weights_of(run, config)
    if file.metadata.get("work_identity") != work.identity:
        seen = f"one trained on {config.work}"
        raise InputError("a classifier of other text", file=run, seen=seen, expected=f"one trained on {work.path}")
    parts = ContextParts.of(work, with_located_words(run, config).model)
    weights = file.sets[KIND]
    return ContextModel(
        contexts=parts.contexts,
        targets=parts.targets,
        listed=listed_pairs(parts.table, file.extra["count_B"], config.model.alternatives),
        vocabulary=work.source_vocabulary,
        longest=1 if config.model.unit == "word" else config.model.longest,
        weights=replace(weights, sparse_F=weights.sparse_F.astype(np.float32)),
        factors=_factors_of(work, config.model.factors),
        alone=losses()[config.loss.name].judges_each,
    )


def _factors_of(work: WorkDirectory, names: Sequence[str]) -> FactorsOf:
    """Finds the factors of a sentence's words; only a tagger knows them of words that were not prepared."""
    if not names:
        return no_factors
    if list(names) != [POS]:
        seen = f"model.factors={list(names)}"
        raise InputError("factors that nothing finds in new sentences", seen=seen, expected=f"[{POS}], by data.tagger")
    values = work.factor_vocabulary("source", POS)
    return lambda words: [values.ids(work.source_tags(words))]


def predicted_by(use: ClassifierConfig | None) -> dict[str, str]:
    """What a weights file says of the classifier that its weights were tuned with, nothing without one."""
    return {} if use is None else {PREDICTED_BY: file_hash(weights_path(Path(use.run)))}


def check_predicted_by(use: ClassifierConfig | None, weights: WeightsFile) -> None:
    """Looks whether a classifier is still the one that weights were tuned with.

    Raises:
        InputError: it was trained anew.
    """
    held = weights.metadata.get(PREDICTED_BY)
    if use is not None and predicted_by(use)[PREDICTED_BY] != held:
        raise InputError(
            "the classifier is not the one that this run was tuned with",
            file=Path(use.run),
            seen="other weights",
            expected=f"those of SHA-256 {held}",
            remedy="train it as before, or tune anew under another name",
        )


def with_predictions(model: PhraseModel, use: ClassifierConfig | None, work: Path) -> PhraseModel:
    """The phrase model of a work directory with the predictions that its settings ask for.

    Raises:
        InputError: as `context_model`; or the phrases are those of another table.
    """
    if not isinstance(use, ContextUseConfig):
        return replace(model, in_sentence=None)
    classifier = context_model(Path(use.run), WorkDirectory(work).check())
    if len(classifier.targets.table) != len(model.table):
        seen = f"{len(model.table)} pairs, {len(classifier.targets.table)} there"
        raise InputError(
            "phrases of another table than the classifier's",
            file=Path(use.run),
            seen=seen,
            expected="the phrase table of the work directory",
            remedy="leave out base=RUN, or take one of the same work directory",
        )
    scores = PredictedScores(classifier, use.only, use.threshold, use.best, use.share)
    return replace(model, in_sentence=scores)
