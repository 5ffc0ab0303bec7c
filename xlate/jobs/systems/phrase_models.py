"""Where the phrase model of a run is: its own, that of its base, or that of its work directory; and its decoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from xlate.config.model_schema import SparseConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.run_places import located_config, located_runs
from xlate.jobs.run_weights import weights_path
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.phrase_stage import MODEL, phrase_stage
from xlate.jobs.systems.predictions import classifier_runs
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.settings import PhraseSearch
from xlate.models.phrase.store import load_phrase_model
from xlate.report.run_directory import CONFIG_FILE
from xlate.scoring.weights import Weights
from xlate.work.directory import WorkDirectory

KIND = "phrase"


def phrase_base(base: Path, *, weighted: bool = True) -> None:
    """Checks that a run is of the phrase model and, with `weighted`, that it has weights.

    Raises:
        InputError: it is not, or has none.
    """
    trained = config_of_run(base)
    if trained.model.kind != KIND:
        raise InputError("the base run has another model", file=base, seen=trained.model.name, expected="model=phrase")
    if weighted:
        weights_path(base)


def open_phrase_model(run: Path, config: TrainConfig) -> PhraseModel:
    """The model of a run: its own, that of the run it is based on, or that of its work directory.

    With sparse features it is that of the imported system it is based on, if any and if they are not learned from
    lists of its work directory's text, or that of its work directory.

    Raises:
        InputError: none of them is there.
    """
    model, use = _of_table(run, config), config.model.context
    if not classifier_runs(use):
        return model
    from xlate.jobs.systems.context import with_predictions

    return with_predictions(model, use, Path(config.work))


def _of_table(run: Path, config: TrainConfig) -> PhraseModel:
    """The same without predictions in context."""
    if (run / MODEL).exists():
        return load_phrase_model(run / MODEL)
    if config.model.sparse is not None and (imported := _imported(config)) is not None:
        from xlate.jobs.train.sparse_models import imported_sparse_features

        model = load_phrase_model(imported / MODEL)
        return replace(model, sparse=imported_sparse_features(config.model.sparse, model))
    # Sparse features are those of the work directory, whatever run the float weights came from.
    if config.base is not None and config.model.sparse is None:
        base = Path(config.base)
        trained = config_of_run(base)
        if trained.model.reordering != config.model.reordering:
            raise InputError(
                "the base run has another reordering model than the run that was tuned on it",
                file=base / CONFIG_FILE,
                seen=f"model.reordering={trained.model.reordering}",
                expected=f"model.reordering={config.model.reordering}",
                remedy="restore the configuration of the base run",
            )
        return _of_table(base, located_config(base, near=config.work))
    work = WorkDirectory(Path(config.work)).check()
    model = load_phrase_model(phrase_stage(work, config.model.reordering or "none").folder / MODEL)
    if config.model.sparse is None:
        return model
    from xlate.jobs.train.sparse_models import sparse_features

    sparse = sparse_features(work, config.model.sparse, model.table, model.orientations)
    return replace(model, sparse=sparse)


def check_words_of_base(config: TrainConfig, sparse: SparseConfig) -> None:
    """Checks that the kinds of words of sparse features are there where a run is based on an imported system.

    Raises:
        InputError: classes are to be computed, for which such a system has no text.
    """
    computed = [kind for kind in sparse.words if kind.startswith("class")]
    if computed and _imported(config) is not None:
        from xlate.jobs.train.sparse_models import no_text_for

        no_text_for(computed[0])


def _imported(config: TrainConfig) -> Path | None:
    """The imported system a run is based on, through any other runs; None when it is based on none.

    What is learned from lists of a work directory's text is of that work directory's model, whatever it began with.
    """
    while config.base is not None and config.loss.lists is None:
        base = Path(config.base)
        if (base / MODEL).exists():
            return base
        config = located_runs(base)
    return None


def phrase_search(settings: DecoderConfig, asked: Asked) -> PhraseSearch:
    """The settings that concern the phrase decoder."""
    limit = settings.distortion_limit
    return PhraseSearch(
        algorithm=settings.algorithm,
        beam=settings.stack,
        pop_limit=settings.pop_limit,
        max_phrase=settings.max_phrase,
        early_threshold=settings.early_threshold,
        distortion_future=settings.distortion_future,
        threshold=settings.threshold,
        options=settings.options,
        future_cost=settings.future_cost,
        max_words=settings.max_words,
        distortion_limit=None if limit < 0 else limit,
        nbest=asked.nbest,
        distinct=asked.distinct,
    )


def phrase_decoder(model: PhraseModel, weights: Weights, settings: DecoderConfig, asked: Asked) -> PhraseDecoder:
    """The decoder of a model under weights.

    Raises:
        InputError: the weights are not those of a phrase model.
    """
    if weights.dense_names != model.columns:
        expected = " ".join(model.columns)
        raise InputError("not the weights of a phrase model", seen=" ".join(weights.dense_names), expected=expected)
    sparse_F = weights.sparse_F if model.sparse is not None and len(weights.sparse_F) else None
    weights_D = np.asarray(weights.dense_D, dtype=np.float64)
    return PhraseDecoder(model, weights_D, phrase_search(settings, asked), asked.fast, sparse_F)


def unweighted_decoder(model: PhraseModel, settings: DecoderConfig) -> PhraseDecoder:
    """The decoder of a model before it has weights: all are 0."""
    return PhraseDecoder(model, np.zeros(model.size), phrase_search(settings, Asked()))
