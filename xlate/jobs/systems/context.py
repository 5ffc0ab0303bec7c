"""Classifiers that predict translations in context, and how the phrase model uses them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.candidates.context_choices import Places
from xlate.config.identity import identity_of_training
from xlate.config.model_schema import ClassifierConfig, ContextModelConfig, ContextUseConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.features.distances import Distances
from xlate.jobs.prepare.context_stores import DISTORTION, TRANSLATION, ContextParts
from xlate.jobs.prepare.stages import file_hash, identity_of
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.run_places import with_located_words
from xlate.jobs.run_weights import weights_of, weights_path
from xlate.jobs.systems.without_decoder import WithoutDecoder
from xlate.models.context.distortion import DistanceModel, PredictedPlaces
from xlate.models.context.model import Classifier, ContextModel, FactorsOf, no_factors
from xlate.models.context.predicted import OtherTable, PredictedScores
from xlate.models.phrase.model import PhraseModel
from xlate.phrases.listed_pairs import listed_pairs
from xlate.phrases.table import PhraseTable
from xlate.phrases.table_rows import WholeRows
from xlate.scoring.weights import WeightsFile
from xlate.text.factors import factor_values
from xlate.text.tagging.tagger import POS

log = logging.getLogger(__name__)

KIND = "context"
# What a weights file says of the classifiers that its weights were tuned with.
PREDICTED_BY, PLACED_BY = "predicted_by", "placed_by"
# What that of a classifier says which was trained on over lists: whether each candidate is judged by itself.
ALONE = "alone"


class Context(WithoutDecoder):
    """Predictions of translations; they translate nothing by themselves."""

    name = KIND
    predicts = True
    without = "a run that predicts translations has no decoder"
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
    """The classifier of translations of a finished run.

    Raises:
        InputError: as `classifier_config`; or it predicts distances, or the run is of another work directory.
    """
    parts, count_N, given = _made_of(run, work, TRANSLATION)
    return ContextModel(**given, listed=listed_pairs(parts.table, count_N, parts.settings.alternatives))


def distance_model(run: Path, work: WorkDirectory) -> DistanceModel:
    """The classifier of distances of a finished run.

    Raises:
        InputError: as `classifier_config`; or it predicts translations, or the run is of another work directory.
    """
    parts, count_N, given = _made_of(run, work, DISTORTION)
    places = Places.counted(Distances(parts.settings.reach), count_N)
    return DistanceModel(**given, places=places, target_vocabulary=work.target_vocabulary, beside=parts.beside)


def predicted(run: Path) -> str:
    """What the classifier of a finished run predicts: `translation` or `distortion`; raises as `classifier_config`."""
    return str(classifier_config(run).model.predicts)


def classifier(run: Path, work: WorkDirectory) -> Classifier:
    """The classifier of a finished run, whatever it predicts.

    Raises:
        InputError: as `classifier_config`; or the run is of another work directory.
    """
    return distance_model(run, work) if predicted(run) == DISTORTION else context_model(run, work)


def _made_of(run: Path, work: WorkDirectory, wanted: str) -> tuple[ContextParts, NDArray[np.int64], dict[str, Any]]:
    """The parts of a run's classifier, the counts of its candidates, and what every classifier is made with."""
    config = classifier_config(run)
    if config.model.predicts != wanted:
        seen, expected = f"model.predicts={config.model.predicts}", f"model.predicts={wanted}"
        raise InputError(f"not a classifier of {wanted}", file=run, seen=seen, expected=expected)
    file = weights_of(run, config)
    if file.metadata.get("work_identity") != work.identity:
        seen = f"one trained on {config.work}"
        raise InputError("a classifier of other text", file=run, seen=seen, expected=f"one trained on {work.path}")
    parts = ContextParts.of(work, with_located_words(run, config).model)
    weights = file.sets[KIND]
    given = {
        "contexts": parts.contexts,
        "targets": parts.targets,
        "vocabulary": work.source_vocabulary,
        "longest": 1 if config.model.unit == "word" else config.model.longest,
        "weights": replace(weights, sparse_F=weights.sparse_F.astype(np.float32)),
        "factors": _factors_of(work, config.model.factors),
        "alone": _judges_each(config, file),
    }
    return parts, file.extra["count_B"], given


def _judges_each(config: TrainConfig, file: WeightsFile) -> bool:
    """Whether a classifier judges each candidate by itself: its loss says it, or that of the one it began as."""
    if config.loss.lists is not None:
        return bool(file.metadata[ALONE])
    # Translating needs it only here, and it takes PyTorch with it.
    from xlate.losses.loss import losses

    return losses()[config.loss.name].judges_each


def _factors_of(work: WorkDirectory, names: Sequence[str]) -> FactorsOf:
    """Finds the factors of a sentence's words: by the tagger of the work directory, or as the words bring them.

    A value that the training text has not is told of once, and is none.
    """
    if not names:
        return no_factors
    vocabularies = {name: work.factor_vocabulary("source", name) for name in names}
    told: set[tuple[str, str]] = set()

    def ids(words: Sequence[str], name: str) -> NDArray[np.int32]:
        tagged = name == POS and work.has_tagger
        values, known = work.source_tags(words) if tagged else factor_values(words, name), vocabularies[name]
        for value in values:
            if value not in known and (name, value) not in told:
                told.add((name, value))
                log.warning("%s=%s: a value that the training text of %s has not", name, value, work.path)
        return known.ids(values)

    return lambda words: [ids(words, name) for name in names]


def predicted_by(use: ClassifierConfig | None) -> dict[str, str]:
    """What a weights file says of the classifiers that its weights were tuned with, nothing without any."""
    if use is None:
        return {}
    found = {PREDICTED_BY: file_hash(weights_path(Path(use.run)))}
    more = use.distortion
    return found if more is None else {**found, PLACED_BY: file_hash(weights_path(Path(more)))}


def check_predicted_by(use: ClassifierConfig | None, weights: WeightsFile) -> None:
    """Looks whether classifiers are still those that weights were tuned with.

    Raises:
        InputError: one was trained anew.
    """
    for key, seen in predicted_by(use).items():
        if weights.metadata.get(key) != seen:
            assert use is not None
            raise InputError(
                "the classifier is not the one that this run was tuned with",
                file=Path(use.run if key == PREDICTED_BY else str(use.distortion)),
                seen="other weights",
                expected=f"those of SHA-256 {weights.metadata.get(key)}",
                remedy="train it as before, or tune anew under another name",
            )


def check_use(use: ClassifierConfig | None) -> None:
    """Looks whether the classifiers are trained, and predict what they are asked for.

    Raises:
        InputError: as `classifier_config`; a second one, or predictions alone, where there are no translations.
    """
    if use is None:
        return
    placed = predicted(Path(use.run)) == DISTORTION
    alone = isinstance(use, ContextUseConfig) and not use.only and use.distortion is None
    if placed and not alone:
        seen = f"model.context.run={use.run}, which predicts distortion"
        raise InputError("no classifier of translations", seen=seen, expected="model.context.run=RUN of one")
    if use.distortion is not None and predicted(Path(use.distortion)) != DISTORTION:
        seen, expected = "model.predicts=translation", "model.predicts=distortion"
        raise InputError("not a classifier of distortion", file=Path(use.distortion), seen=seen, expected=expected)


def check_same_use(use: ClassifierConfig | None, base: Path) -> None:
    """Looks whether a base run has the predictions that its float weights are to be used with.

    Raises:
        InputError: it has others, or none.
    """
    other = config_of_run(base).model.context
    if use != other:
        seen = "context=none" if other is None else f"model.context.run={other.run}"
        raise InputError(
            "the base run has other predictions",
            file=base,
            seen=seen,
            expected="the same settings of context=…",
            remedy="leave base=RUN out: float weights are tuned then",
        )


def classifier_runs(use: ClassifierConfig | None) -> list[Path]:
    """The runs of the classifiers that a phrase model uses."""
    if not isinstance(use, ContextUseConfig):
        return []
    return [Path(run) for run in (use.run, use.distortion) if run is not None]


def with_predictions(model: PhraseModel, use: ClassifierConfig | None, work: Path) -> PhraseModel:
    """The phrase model of a work directory with the predictions that its settings ask for.

    Raises:
        InputError: as `classifier`; or the phrases are those of another table.
    """
    model, runs = replace(model, in_sentence=None, placed=None), classifier_runs(use)
    if not runs:
        return model
    prepared = WorkDirectory(work).check()
    return _predicting(model, use, runs, prepared)


def with_fold_predictions(
    model: PhraseModel, use: ClassifierConfig | None, work: WorkDirectory, left_out: tuple[int, int], rows: WholeRows
) -> PhraseModel:
    """The phrase model of a text without a fold, with predictions of classifiers that have not seen the fold either.

    Args:
        model: the phrase model.
        use: the classifiers of the whole text, as those without a fold are trained as they are.
        work: the work directory.
        left_out: the fold, of how many.
        rows: where the model's pairs stand in the table of the whole text.

    Raises:
        InputError: as `classifier`.
    """
    runs = [fold_classifier(run, work, left_out)[1] for run in classifier_runs(use)]
    own = OtherTable(model.table, np.asarray(rows.pair_B, np.int64))
    return _predicting(model, use, runs, work, own)


def fold_classifier(run: Path, work: WorkDirectory, left_out: tuple[int, int]) -> tuple[TrainConfig, Path]:
    """How a classifier is trained without a fold as that of a run was with it, and the folder of that run.

    Raises:
        InputError: as `classifier_config`; or it was trained on over lists of the whole text.
    """
    config = _checked_for_folds(run)
    assert isinstance(config.model, ContextModelConfig)
    model = replace(config.model, left_out=left_out[0], left_out_of=left_out[1])
    config = replace(config, work=str(work.path), model=model, run=None, row=None)
    key = identity_of({**identity_of_training(config), "on": work.identity})
    return config, work.path / "context" / key[:16]


def check_folds(use: ClassifierConfig | None) -> None:
    """Looks whether classifiers can be trained without a fold, as lists of the training text need them.

    Raises:
        InputError: as `classifier_config`; or one was trained on over lists of the whole text.
    """
    for run in classifier_runs(use):
        _checked_for_folds(run)


def _checked_for_folds(run: Path) -> TrainConfig:
    config = classifier_config(run)
    if config.loss.lists is not None:
        raise InputError(
            "a classifier trained on over lists has learned from every fold",
            file=run,
            seen=f"loss={config.loss.name}",
            expected="one that can be trained without a fold: loss=one_of_many or another loss of single decisions",
        )
    return config


def _predicting(
    model: PhraseModel,
    use: ClassifierConfig | None,
    runs: Sequence[Path],
    work: WorkDirectory,
    own: OtherTable | None = None,
) -> PhraseModel:
    assert isinstance(use, ContextUseConfig) or not runs
    for run in runs:
        if predicted(run) == DISTORTION:
            places = PredictedPlaces(distance_model(run, work), own)
            model, table = replace(model, placed=places), places.model.targets.table
        else:
            assert isinstance(use, ContextUseConfig)
            scores = PredictedScores(context_model(run, work), use.only, use.threshold, use.best, use.share, own)
            model, table = replace(model, in_sentence=scores), scores.model.targets.table
        if own is None:
            _check_table(table, model, run)
    return model


def _check_table(table: PhraseTable, model: PhraseModel, run: Path) -> None:
    if len(table) != len(model.table):
        raise InputError(
            "phrases of another table than the classifier's",
            file=run,
            seen=f"{len(model.table)} pairs, {len(table)} there",
            expected="the phrase table of the work directory",
            remedy="leave out base=RUN, or take one of the same work directory",
        )
