"""The weights of a run, and whether they were made with the model that its configuration names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xlate.config.model_schema import ModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.report.run_directory import CONFIG_FILE, differing_keys
from xlate.scoring.weights import WEIGHTS_FILE, WeightsFile, load_weights

MADE_WITH = "made_with"


def made_with(model: ModelConfig) -> dict[str, Any]:
    """What a weights file says of the model that its weights are of, for its metadata."""
    return {MADE_WITH: asdict(model)}


def weights_of(run: Path, trained: TrainConfig | None = None) -> WeightsFile:
    """The weights of a run; `trained` is its configuration, read when it is not given.

    Raises:
        InputError: there are none yet, they cannot be read, or they were made with another model than the configuration
            names.
    """
    path = weights_path(run)
    weights = load_weights(path)
    config = trained or config_of_run(run)
    _check_made_with(run, weights.metadata, config.model)
    return weights


def weights_path(run: Path) -> Path:
    """The file of a run's weights.

    Raises:
        InputError: it is not there.
    """
    path = run / WEIGHTS_FILE
    if not path.exists():
        raise InputError(
            "the run has no weights yet",
            file=path,
            seen="no such file",
            expected="the weights of a finished run",
            remedy=f"run xlate train … run={run} to its end",
        )
    return path


def _check_made_with(run: Path, metadata: Mapping[str, Any], model: ModelConfig) -> None:
    held = metadata.get(MADE_WITH)
    if not isinstance(held, Mapping):
        raise InputError(
            "weights of an earlier version, which do not say what they were made with",
            file=run / WEIGHTS_FILE,
            seen=f"no {MADE_WITH}",
            expected="the settings of their model",
            remedy="train or import the run again",
        )
    differences = differing_keys(held, asdict(model))
    if differences:
        raise InputError(
            "the configuration names another model than the weights were made with",
            file=run / CONFIG_FILE,
            seen="; ".join(f"model.{key}={there}" for key, _, there in differences[:8]),
            expected="; ".join(f"model.{key}={here}" for key, here, _ in differences[:8]),
            remedy="restore the configuration, or train a run with these settings under another name",
        )
