"""The phrase-based model of a work directory or of an imported system, and its decoder."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.links import Links, read_links
from xlate.config.model_schema import SparseConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.config.stored import read_config
from xlate.errors import InputError
from xlate.jobs.prepare.stages import Stage, read_stage, run_stage
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.train.sparse_models import imported_sparse_features, no_text_for, sparse_features
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.model import PhraseModel, Reordering
from xlate.models.phrase.settings import PhraseSearch
from xlate.models.phrase.store import load_phrase_model, save_phrase_model
from xlate.phrases.reordering import reordering_counts, reordering_probabilities
from xlate.phrases.table import PhraseTable
from xlate.scoring.weights import Weights
from xlate.text.encoded import EncodedText

log = logging.getLogger(__name__)

KIND = "phrase"
SET = "phrase"
MODEL = "model"
REORDERINGS = ("none", "wbe", "phrase", "hier", "hier5")


def phrase_stage(work: WorkDirectory, reordering: str) -> Stage:
    """The phrase model of a work directory in its binary form, made when it is not there.

    Raises:
        InputError: an unknown reordering model.
    """
    if reordering not in REORDERINGS:
        raise InputError("unknown value of model.reordering", seen=reordering, expected=", ".join(REORDERINGS))
    settings: dict[str, Any] = {
        "reordering": reordering,
        "on": [read_stage(work.path, name).identity for name in ("phrases", "lm")],
        "version": 1,
    }
    return run_stage(work.path, f"phrase/{reordering}", settings, lambda folder: _build(work, reordering, folder))


def _build(work: WorkDirectory, reordering: str, folder: Path) -> dict[str, Any]:
    table = PhraseTable.load(work.path / "phrases" / "table", work.words)
    source, target = work.training_text("source"), work.training_text("target")
    links = read_links(
        work.path / "align" / "links.gz", *(np.diff(text.offsets_S1).tolist() for text in (source, target))
    )
    oriented = reordering_model(table, source, target, links, reordering)
    model = PhraseModel(table, work.source_vocabulary, work.target_vocabulary, work.lm, oriented)
    save_phrase_model(folder / MODEL, model)
    return {"pairs": len(table)}


def reordering_model(
    table: PhraseTable, source: EncodedText, target: EncodedText, links: Links, kind: str, max_length: int = 7
) -> Reordering | None:
    """The reordering model of an aligned text, None of the kind `none`; `max_length` is that of its phrases.

    Raises:
        InputError: an unknown kind, or texts and links that do not fit.
    """
    if kind == "none":
        return None
    counts_BK2 = reordering_counts(table, source, target, links, kind, max_length)
    return Reordering(kind if kind in ("hier", "hier5") else "wbe", reordering_probabilities(counts_BK2))


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


def phrase_search(settings: DecoderConfig, *, nbest: int = 1, distinct: bool = True) -> PhraseSearch:
    """The search settings of a configuration."""
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
        nbest=nbest,
        distinct=distinct,
    )


def phrase_decoder(
    model: PhraseModel,
    weights: Weights,
    settings: DecoderConfig,
    *,
    nbest: int = 1,
    distinct: bool = True,
    fast: bool = True,
) -> PhraseDecoder:
    """The decoder of a model under weights.

    Raises:
        InputError: the weights are not those of a phrase model.
    """
    if weights.dense_names != model.columns:
        expected = " ".join(model.columns)
        raise InputError("not the weights of a phrase model", seen=" ".join(weights.dense_names), expected=expected)
    search = phrase_search(settings, nbest=nbest, distinct=distinct)
    sparse_F = weights.sparse_F if model.sparse is not None and len(weights.sparse_F) else None
    return PhraseDecoder(model, np.asarray(weights.dense_D, dtype=np.float64), search, fast, sparse_F)
