"""The phrase-based model of a work directory or of an imported system, and its decoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.config.model_schema import SparseConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.config.stored import read_config
from xlate.errors import InputError
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.systems.kind import Asked, Kind, Saved
from xlate.jobs.systems.phrase_stage import MODEL, REORDERINGS, phrase_stage
from xlate.jobs.train.sparse_models import imported_sparse_features, no_text_for, sparse_features, unpacked_weights
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.settings import PhraseSearch
from xlate.models.phrase.store import load_phrase_model
from xlate.scoring.weights import Weights, WeightsFile

__all__ = ["KIND", "MODEL", "REORDERINGS", "SET", "Phrase", "open_phrase_model", "phrase_decoder", "phrase_search"]
KIND = "phrase"
SET = "phrase"


class Phrase(Kind):
    """The phrase-based model with Moses's features."""

    name = KIND

    def open(
        self,
        run: Path,
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,  # noqa: ARG002
        asked: Asked,
    ) -> PhraseDecoder:
        """The decoder of the run's own model, or that of its base or work directory."""
        model = open_phrase_model(run, config)
        return self.decoder(model, unpacked_weights(weights, SET, model.sparse, run), config.decoder, asked)

    def decoder(self, model: PhraseModel, weights: Weights, settings: DecoderConfig, asked: Asked) -> PhraseDecoder:
        """The decoder of a model under weights.

        Raises:
            InputError: the weights are not those of a phrase model.
        """
        if weights.dense_names != model.columns:
            expected = " ".join(model.columns)
            raise InputError("not the weights of a phrase model", seen=" ".join(weights.dense_names), expected=expected)
        sparse_F = weights.sparse_F if model.sparse is not None and len(weights.sparse_F) else None
        weights_D = np.asarray(weights.dense_D, dtype=np.float64)
        return PhraseDecoder(model, weights_D, self.search(settings, asked), asked.fast, sparse_F)

    def search(self, settings: DecoderConfig, asked: Asked = Asked()) -> PhraseSearch:  # noqa: B008
        """The settings that concern this decoder; what a configuration leaves open is as in Moses."""
        limit = settings.distortion_limit
        given: dict[str, Any] = {
            "algorithm": settings.algorithm,
            "beam": settings.stack,
            "pop_limit": settings.pop_limit,
            "max_phrase": settings.max_phrase,
            "early_threshold": settings.early_threshold,
            "distortion_future": settings.distortion_future,
        }
        return PhraseSearch(
            threshold=settings.threshold,
            options=settings.options,
            future_cost=settings.future_cost,
            max_words=settings.max_words,
            distortion_limit=6 if limit is None else (None if limit < 0 else limit),
            nbest=asked.nbest,
            distinct=asked.distinct,
            **{key: value for key, value in given.items() if value is not None},
        )

    def saved(self, system: Any, weights: Weights, file: WeightsFile) -> Saved:
        """The one set."""
        sparse = system.model.sparse
        return Saved({SET: weights}, {} if sparse is None else {SET: sparse}, file.extra)


def phrase_search(settings: DecoderConfig) -> PhraseSearch:
    """The search settings of a configuration."""
    return Phrase().search(settings)


def phrase_decoder(model: PhraseModel, weights: Weights, settings: DecoderConfig, *, nbest: int = 1) -> PhraseDecoder:
    """The decoder of a model under weights; see `Phrase.decoder`."""
    return Phrase().decoder(model, weights, settings, Asked(nbest))


def open_phrase_model(run: Path, config: TrainConfig) -> PhraseModel:
    """The model of a run: its own, that of the run it is based on, or that of its work directory.

    With sparse features it is that of the imported system it is based on, if any and if they are not learned from
    lists of its work directory's text, or that of its work directory.

    Raises:
        InputError: none of them is there.
    """
    if (run / MODEL).exists():
        return load_phrase_model(run / MODEL)
    if config.model.sparse is not None and (imported := _imported(config)) is not None:
        model = load_phrase_model(imported / MODEL)
        return replace(model, sparse=imported_sparse_features(config.model.sparse, model))
    # Sparse features are those of the work directory, whatever run the float weights came from.
    if config.base is not None and config.model.sparse is None:
        base = Path(config.base)
        trained = read_config(base / "config.yaml", TrainConfig)
        if trained.model.reordering != config.model.reordering:
            raise InputError(
                "the base run has another reordering model than the run that was tuned on it",
                file=base / "config.yaml",
                seen=f"model.reordering={trained.model.reordering}",
                expected=f"model.reordering={config.model.reordering}",
                remedy="restore the configuration of the base run",
            )
        return open_phrase_model(base, trained)
    work = WorkDirectory(Path(config.work)).check()
    model = load_phrase_model(phrase_stage(work, config.model.reordering or "none").folder / MODEL)
    if config.model.sparse is None:
        return model
    sparse = sparse_features(work, config.model.sparse, model.table, model.orientations)
    return replace(model, sparse=sparse)


def check_words_of_base(config: TrainConfig, sparse: SparseConfig) -> None:
    """Checks that the kinds of words of sparse features are there where a run is based on an imported system.

    Raises:
        InputError: classes are to be computed, for which such a system has no text.
    """
    computed = [kind for kind in sparse.words if kind.startswith("class")]
    if computed and _imported(config) is not None:
        no_text_for(computed[0])


def _imported(config: TrainConfig) -> Path | None:
    """The imported system a run is based on, through any other runs; None when it is based on none.

    What is learned from lists of a work directory's text is of that work directory's model, whatever it began with.
    """
    while config.base is not None and config.loss.lists is None:
        base = Path(config.base)
        if (base / MODEL).exists():
            return base
        config = read_config(base / "config.yaml", TrainConfig)
    return None
