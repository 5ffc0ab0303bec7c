"""Whether a run that another one starts from has the same model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path

from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError


def check_model_of_base(
    config: TrainConfig,
    base: Path,
    free: Collection[str] = (),
    remedy: str = "give both the same model settings",
) -> None:
    """Looks whether the model of a run has the settings of a configuration, but for its name and the `free` ones.

    Raises:
        InputError: they differ, or the run cannot be read.
    """
    ours, theirs = asdict(config.model), asdict(config_of_run(base).model)
    keys = ["kind"] if ours["kind"] != theirs["kind"] else [key for key in ours if key not in (*free, "name")]
    differing = [key for key in keys if key not in theirs or ours[key] != theirs[key]]
    if differing:
        raise InputError(
            "the base run has another model",
            file=base,
            seen=_told(theirs, differing),
            expected=_told(ours, differing),
            remedy=remedy,
        )


def _told(settings: dict[str, object], keys: Collection[str]) -> str:
    return ", ".join(f"model.{key}={settings.get(key)}" for key in keys)
