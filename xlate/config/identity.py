"""What makes a training this one and no other, and which of its settings are worth a column where runs are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from omegaconf import MISSING

from xlate.arrays.stored import values_sha256
from xlate.config.choices import defaults_at
from xlate.config.schema import GivenListsConfig, TrainConfig
from xlate.config.source_schema import SourceConfig
from xlate.report.run_directory import ABSENT, MARK, VOLATILE, flat
from xlate.scoring.weights import WEIGHTS_FILE
from xlate.settings import keys_in, plain

# An imported system has a model of its own; its mark says what that was made of.
MODEL = "model"
# What every run is told apart by.
ALWAYS = ("model.name", "loss.name", "seed")
# Where things lie, and what changes no result.
NEVER = (
    "run",
    "work",
    "debug",
    "checkpoint_seconds",
    "dev_every",
    "samples",
    "device",
    "row",
    "measure_test",
    "measures",
)


def identity_of_training(config: TrainConfig) -> dict[str, Any]:
    """The settings that decide what is trained, with checksums of the base run in the place of its name.

    Wherever the base run lies, its weights make the difference; a base without weights counts by its name.
    """
    settings = {key: value for key, value in plain(config).items() if key not in VOLATILE}
    if config.nbest is None:
        # They say nothing about a run without lists.
        for field in fields(GivenListsConfig):
            settings.pop(field.name)
    if not getattr(config.model, "histories", True):
        # So that trainings without such features are what they were before there were any.
        settings["model"].pop("histories")
    if config.source.name == "stored":
        # Candidates that are stored have no settings; the identity has the source of given lists under this name.
        settings["source"] = settings.pop("nbest_source")
    else:
        settings["source"] = settings_of_source(config.source)
    return settings | {"base": None if config.base is None else sums_of_run(Path(config.base))}


def defaults_of_training(config: TrainConfig) -> dict[str, Any]:
    """What the schemas that a training chose have for each of its keys, by dotted key.

    Keys that must be given have none.
    """
    return {key: default for key, default in _defaults(config, type(config)()) if default != MISSING}


def _defaults(held: Any, default: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for field in keys_in(held):
        value, own = getattr(held, field.name), getattr(default, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            # A choice has the defaults of its own schema, not those of what it was chosen in place of.
            yield from _defaults(value, own if type(own) is type(value) else type(value)(), f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", own


def settings_of_source(source: SourceConfig) -> dict[str, Any]:
    """What decides where candidates come from; without folds of the training text these keys say nothing."""
    settings: dict[str, Any] = plain(source)
    if not settings.get("folds"):
        for name in ("folds", "sentences"):
            settings.pop(name, None)
    return settings


def sums_of_run(base: Path) -> dict[str, str]:
    """Checksums of a run's weights, and of the mark of an imported system; its name if it has neither."""
    files = [base / WEIGHTS_FILE]
    if (base / MODEL).exists():
        files.append(base / MARK)
    found = {file.name: values_sha256(file, 0) for file in files if file.is_file()}
    return found or {"name": str(base)}


def varied_settings(config: TrainConfig, given: Sequence[str] = ()) -> dict[str, Any]:
    """The settings of a training that differ from every default of their key, and those `given` on the command line.

    Of a base run the name is shown. Choices, `decoder=mon`, are shown as they were given.

    Example: `loss.tune.rounds=4 decoder=mon` gives `model.name`, `loss.name`, `seed`, `loss.tune.rounds` and `decoder`.
    """
    held = flat(plain(config))
    chosen = dict(argument.lstrip("+").split("=", 1) for argument in given if "=" in argument)
    # The name of a chosen model or loss is shown already.
    asked = [key for key in chosen if f"{key}.name" not in held]
    # No schema has these values as the default of their keys.
    own = [key for key, value in held.items() if value is not None and value not in (defaults_at(key) or [value])]
    keys = [*ALWAYS, *asked, *own]
    shown = {key: held.get(key, chosen.get(key, ABSENT)) for key in dict.fromkeys(keys)}
    if config.base is not None:
        shown["base"] = Path(config.base).name
    return {
        key: value for key, value in shown.items() if not key.startswith("hydra") and key.partition(".")[0] not in NEVER
    }
