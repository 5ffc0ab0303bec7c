"""Sentences of the training text that are learned from online, each decoded by a system that has not seen it."""

from __future__ import annotations

import logging

import numpy as np

from xlate.config.tune_schema import TuneConfig
from xlate.errors import InputError
from xlate.jobs.train.tuning import TuningText, tuning_text
from xlate.jobs.train.warnings import not_too_long
from xlate.work.directory import WorkDirectory

log = logging.getLogger(__name__)


def training_sentences(work: WorkDirectory, tune: TuneConfig, sentences: int, most: int) -> TuningText:
    """So many sentences of the training text, spread evenly over it, with their translations.

    Args:
        work: the work directory.
        tune: `source` and `references` are the training text as it was prepared from, raw, and any number of its
            translations; without them each sentence has the one that the system is made of.
        sentences: how many at most.
        most: the most words of one.

    Raises:
        InputError: the files do not fit each other, or have no sentence of the training text.
    """
    text = _of_work(work, most) if tune.source is None else _given(work, tune, most)
    chosen = np.unique(np.linspace(0, len(text) - 1, min(sentences, len(text))).round().astype(np.int64)).tolist()
    return TuningText([text.sources[n] for n in chosen], [text.references[n] for n in chosen])


def _of_work(work: WorkDirectory, most: int) -> TuningText:
    sources, targets = work.training_tokens("source"), work.training_tokens("target")
    kept = not_too_long([len(words) for words in sources], most, "training text")
    return TuningText([sources[n] for n in kept], [[targets[n]] for n in kept])


def _given(work: WorkDirectory, tune: TuneConfig, most: int) -> TuningText:
    """Pairs that `prepare` has left out, and all else that no system is made without, are left out."""
    text = tuning_text(tune, work, most, "source.text", work)
    known = {tuple(words) for words in work.training_tokens("source")}
    kept = [n for n, words in enumerate(text.sources) if tuple(words) in known]
    if not kept:
        raise InputError(
            "no sentence of the training text",
            file=tune.source,
            seen=f"{len(text)} sentences, the first: {' '.join(text.sources[0][:12])}",
            expected="the raw text that the work directory was prepared from",
            remedy="source.text= and the file of data.train_source, or no source.folds",
        )
    if len(kept) < len(text):
        log.info("%s: %d of %d sentences are not in the training text", tune.source, len(text) - len(kept), len(text))
    return TuningText([text.sources[n] for n in kept], [text.references[n] for n in kept])
