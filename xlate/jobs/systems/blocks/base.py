"""What models over blocks learn on from a run: its floats, and binary features that need not be those of the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from xlate.array_types import Uints
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.features.bigrams import BigramIndex, BlockNames
from xlate.jobs.run_weights import weights_of
from xlate.jobs.systems.same_model import check_model_of_base
from xlate.scoring.weights import WeightsFile
from xlate.work.directory import WorkDirectory

# Keys of a model that do not alter what its floats mean: those of its events, and of its binary features.
FREE = ("binary", "threshold", "folds", "alternatives", "listed_only", "by_span", "by_target")


def check_floats_of_base(config: TrainConfig, base: Path) -> None:
    """Looks whether a run has the floats of a model over blocks; its binary features may be others.

    Raises:
        InputError: it has not, or no weights.
    """
    check_model_of_base(config, base, FREE, "train the floats of this model first, with model.binary=[]")
    weights_of(base)


def check_sums(config: TrainConfig) -> None:
    """Looks whether the scores of a search are sums over features.

    Raises:
        InputError: it has a partition.
    """
    if getattr(config.decoder, "partition", "off") != "off":
        raise InputError(
            "scores with a partition are no sums over features",
            seen=f"decoder.partition={config.decoder.partition}",
            expected="decoder.partition=off",
        )


def frequent_features(work: WorkDirectory | None, model: ModelConfig) -> BigramIndex:
    """The binary features of a model's settings.

    Raises:
        InputError: there is no work directory.
    """
    if work is None:
        raise InputError("a run without work directory", seen="work=''", expected=f"that of model={model.name}")
    words = BlockNames(work.blocks, work.source_vocabulary, work.target_vocabulary)
    return BigramIndex.frequent(words, model.binary, model.threshold)


def with_features(file: WeightsFile, first: str, keys_F: Uints) -> WeightsFile:
    """Weights of a run whose set `first` has these binary features; those that it has not learned weigh 0."""
    held_keys, held = file.extra.get(f"{first}.keys", np.zeros(0, np.uint64)), file.sets[first]
    _, here, there = np.intersect1d(keys_F, held_keys, assume_unique=True, return_indices=True)
    sparse_F = np.zeros(len(keys_F))
    sparse_F[here] = held.sparse_F[there]
    sets = {**file.sets, first: replace(held, sparse_F=sparse_F)}
    return replace(file, sets=sets, extra={f"{first}.keys": keys_F})
