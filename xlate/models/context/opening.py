"""Classifiers that predict translations in context, opened, and the phrase model with what they predict."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Ints32
from xlate.config.model_schema import DISTORTION, TRANSLATION, ClassifierConfig, ContextUseConfig
from xlate.errors import refuse_if
from xlate.models.context.distortion import DistanceModel, PredictedPlaces
from xlate.models.context.model import Classifier, ContextModel, FactorsOf, no_factors
from xlate.models.context.predicted import OtherTable, PredictedScores
from xlate.models.context.runs import KIND, classifier_config, classifier_runs, fold_classifier, predicted
from xlate.models.context.stores import ContextParts
from xlate.models.phrase.model import PhraseModel
from xlate.models.run_places import with_located_words
from xlate.models.run_weights import weights_of
from xlate.phrases.matching import WholeRows
from xlate.text.factors import factor_values
from xlate.text.tagging import POS
from xlate.work.directory import WorkDirectory

log = logging.getLogger(__name__)

# What that of a classifier says which was trained on over lists: whether each candidate is judged by itself.
ALONE = "alone"


def context_model(run: Path, work: WorkDirectory) -> ContextModel:
    """The classifier of translations of a finished run.

    Raises:
        InputError: as `classifier_config`; or it predicts distances, or the run is of another work directory.
    """
    return ContextModel(**_made_of(run, work, TRANSLATION)[1])


def distance_model(run: Path, work: WorkDirectory) -> DistanceModel:
    """The classifier of distances of a finished run.

    Raises:
        InputError: as `classifier_config`; or it predicts translations, or the run is of another work directory.
    """
    parts, given = _made_of(run, work, DISTORTION)
    return DistanceModel(**given, target_vocabulary=work.target_vocabulary, beside=parts.translations)


def classifier(run: Path, work: WorkDirectory) -> Classifier:
    """The classifier of a finished run, whatever it predicts.

    Raises:
        InputError: as `classifier_config`; or the run is of another work directory.
    """
    return distance_model(run, work) if predicted(run) == DISTORTION else context_model(run, work)


def _made_of(run: Path, work: WorkDirectory, wanted: str) -> tuple[ContextParts, dict[str, Any]]:
    """The parts of a run's classifier, and what every classifier is made with."""
    config = classifier_config(run)
    seen, expected = f"model.predicts={config.model.predicts}", f"model.predicts={wanted}"
    refuse_if(seen != expected, f"not a classifier of {wanted}", seen, expected, file=run)
    file = weights_of(run, config)
    wrong, seen = file.metadata.get("work_identity") != work.identity, f"one trained on {config.work}"
    refuse_if(wrong, "a classifier of other text", seen, f"one trained on {work.path}", file=run)
    # Its loss says whether it judges each candidate by itself, or that of the classifier that it began as.
    if config.loss.lists is not None:
        alone = bool(file.metadata[ALONE])
    else:
        # Translating needs it only here, and it takes PyTorch with it.
        from xlate.losses.loss import losses

        alone = losses()[config.loss.name].judges_each
    parts = ContextParts.of(work, with_located_words(run, config).model)
    weights = file.sets[KIND]
    given = {
        "contexts": parts.contexts,
        "choices": parts.choices(file.extra["count_B"]),
        "targets": parts.targets,
        "vocabulary": work.source_vocabulary,
        "longest": 1 if config.model.unit == "word" else config.model.longest,
        "weights": replace(weights, sparse_F=weights.sparse_F.astype(np.float32)),
        "factors": _factors_of(work, config.model.factors),
        "alone": alone,
    }
    return parts, given


def _factors_of(work: WorkDirectory, names: Sequence[str]) -> FactorsOf:
    """Finds the factors of a sentence's words: by the tagger of the work directory, or as the words bring them.

    A value that the training text has not is told of once, and is none.
    """
    if not names:
        return no_factors
    vocabularies = {name: work.factor_vocabulary("source", name) for name in names}
    told: set[tuple[str, str]] = set()

    def ids(words: Sequence[str], name: str) -> Ints32:
        tagged = name == POS and work.has_tagger
        values, known = work.source_tags(words) if tagged else factor_values(words, name), vocabularies[name]
        for value in values:
            if value not in known and (name, value) not in told:
                told.add((name, value))
                log.warning("%s=%s: a value that the training text of %s has not", name, value, work.path)
        return known.ids(values)

    return lambda words: [ids(words, name) for name in names]


def with_predictions(
    model: PhraseModel,
    use: ClassifierConfig | None,
    work: WorkDirectory,
    left_out: tuple[int, int] | None = None,
    rows: WholeRows | None = None,
) -> PhraseModel:
    """The phrase model of a work directory with the predictions that its settings ask for.

    Args:
        model: the phrase model, of the whole text or without a fold.
        use: the classifiers of the whole text; those without a fold are trained as they are.
        work: the work directory.
        left_out: the fold that neither the model nor the classifiers have seen, of how many.
        rows: where the pairs of a model without a fold stand in the table of the whole text.

    Raises:
        InputError: as `classifier`; or the phrases are those of another table.
    """
    model = replace(model, in_sentence=None, placed=None)
    if not isinstance(use, ContextUseConfig):
        return model
    work.check()
    own = None if rows is None else OtherTable(model.table, np.asarray(rows.pair_B, np.int64))
    for whole in classifier_runs(use):
        run = whole if left_out is None else fold_classifier(whole, work, left_out)[1]
        if predicted(run) == DISTORTION:
            places = PredictedPlaces(distance_model(run, work), own)
            model, table = replace(model, placed=places), places.model.targets.table
        else:
            scores = PredictedScores(context_model(run, work), use.only, use.threshold, use.best, use.share, own)
            model, table = replace(model, in_sentence=scores), scores.model.targets.table
        refuse_if(
            own is None and len(table) != len(model.table),
            "phrases of another table than the classifier's",
            f"{len(model.table)} pairs, {len(table)} there",
            "the phrase table of the work directory",
            "leave out base=RUN, or take one of the same work directory",
            file=run,
        )
    return model
