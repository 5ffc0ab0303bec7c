"""Configurations of runs: writing them to run folders, reading them back, and the identity of a training.

Also selects the settings that are worth a column when runs are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader

from xlate.arrays.stored import values_sha256
from xlate.cluster import ClusterConfig
from xlate.config.choices import defaults_at
from xlate.config.schema import GivenListsConfig, TrainConfig
from xlate.config.typed import typed
from xlate.errors import InputError
from xlate.learning.settings import SourceConfig
from xlate.report.run_directory import ABSENT, CONFIG_FILE, MARK, VOLATILE, flat
from xlate.scoring.weights import WEIGHTS_FILE
from xlate.settings import MISSING, Json, keys_in, plain
from xlate.text.lines import unreadable
from xlate.text.opening import plain_file

T = TypeVar("T")
REMEDY = "restore the original file, or make the run again"


def to_yaml(config: Any) -> str:
    """A schema dataclass as YAML text."""
    return OmegaConf.to_yaml(OmegaConf.create(plain(config)))


def read_config(path: str | Path, schema: type[T]) -> T:
    """Reads what `to_yaml` wrote: plain values only, without references.

    Raises:
        InputError: the file is missing, not YAML, holds aliases or interpolations, does not fit the schema, or lacks a
            key.
    """
    path = plain_file(path)
    try:
        # OmegaConf's loader reads numbers as `to_yaml` writes them.
        loaded = yaml.load(path.read_bytes().decode(), Loader=_WithoutAliases)
    except OSError as error:
        expected = "the config.yaml that xlate train writes"
        raise unreadable(
            path, error, expected, "check the name; xlate train makes runs", "not a run directory"
        ) from error
    except Exception as error:  # YAML errors come in many classes
        raise InputError("a damaged configuration", error, "YAML", REMEDY, file=path) from error
    if not isinstance(loaded, dict):
        raise InputError("a damaged configuration", repr(loaded), "keys and their values", REMEDY, file=path)
    _check_plain(loaded, path)
    try:
        made = typed(OmegaConf.create(loaded), schema)
    except InputError as error:
        raise InputError(
            f"a damaged configuration: {error.message}",
            error.seen,
            error.expected,
            error.remedy if error.remedy and error.remedy.startswith("did you mean") else REMEDY,
            file=path,
        ) from error
    except Exception as error:  # so do those of OmegaConf
        raise InputError("a damaged configuration", error, file=path, remedy=REMEDY) from error
    held = flat(loaded)
    if missing := [key for key in flat(plain(made)) if key not in held and key.partition(".")[0] not in VOLATILE]:
        raise InputError(
            "a configuration of an earlier version that lacks keys",
            f"no {', '.join(missing[:5])}",
            "every key that xlate train writes",
            "make the run again",
            file=path,
        )
    return made


def config_of_task(given: Json, schema: type[T]) -> T:
    """The settings of a task, from what `plain` made of those of the command; it gives no tasks itself."""
    return typed(OmegaConf.create({**given, "cluster": plain(ClusterConfig())}), schema)


def config_of_run(run: str | Path) -> TrainConfig:
    """The configuration that a run was trained with, or that an imported system was given.

    Raises:
        InputError: as `read_config`.
    """
    return read_config(Path(run) / CONFIG_FILE, TrainConfig)


class _WithoutAliases(get_yaml_loader()):  # type: ignore[misc]
    """Refuses aliases: a few lines of them can expand to more than any memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(None, None, f"an alias, *{event.anchor}", event.start_mark)
        return super().compose_node(parent, index)


def _check_plain(value: Any, path: Path, key: str = "") -> None:
    """Checks that no value or key would be interpolated from others, or from the environment, when it is read."""
    if isinstance(value, Mapping):
        for name, below in value.items():
            _check_plain(name, path, f"{key}{name}")
            _check_plain(below, path, f"{key}{name}.")
    elif isinstance(value, list):
        for below in value:
            _check_plain(below, path, key)
    elif isinstance(value, str) and ("${" in value or value == "???"):
        raise InputError(
            "an interpolation in a stored configuration",
            f"{key.rstrip('.')}: {value}",
            "the value itself",
            REMEDY,
            file=path,
        )


# An imported system has its own model; its mark records what that was made from.
MODEL = "model"
# The keys that always distinguish runs.
ALWAYS = ("model.name", "loss.name", "seed")
# Places of files, and keys that change no result.
NEVER = (*VOLATILE, "work", "samples", "device", "row", "measure_test")


def identity_of_training(config: TrainConfig) -> Json:
    """The settings that decide what is trained, with checksums of the base run in place of its name.

    A base run is identified by its weights, wherever it is; a base without weights, by its name.
    """
    settings = {key: value for key, value in plain(config).items() if key not in VOLATILE}
    if config.nbest is None:
        # They are irrelevant to a run without lists.
        for field in fields(GivenListsConfig):
            settings.pop(field.name)
    if not getattr(config.model, "histories", True):
        # So that trainings without such features keep the identity they had before the features existed.
        settings["model"].pop("histories")
    if config.model.joint is not None:
        settings["model"]["joint"] = sums_of_run(Path(config.model.joint))
    else:
        settings["model"].pop("joint", None)
    if config.source.name == "stored":
        # Stored candidates have no settings; in the identity, this name holds the source of given lists.
        settings["source"] = settings.pop("nbest_source")
    else:
        settings["source"] = settings_of_source(config.source)
    return settings | {"base": None if config.base is None else sums_of_run(config.base_run)}


def defaults_of_training(config: TrainConfig) -> Json:
    """The default of each key in the schemas that a training chose, by dotted key.

    Required keys have none.
    """
    return dict(_defaults(config, type(config)()))


def _defaults(held: Any, default: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for field in keys_in(held):
        value, own = getattr(held, field.name), getattr(default, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            # A choice has the defaults of its own schema, not those of the choice it replaced.
            yield from _defaults(value, own if type(own) is type(value) else type(value)(), f"{prefix}{field.name}.")
        elif own != MISSING:
            yield f"{prefix}{field.name}", own


def settings_of_source(source: SourceConfig) -> Json:
    """The settings that decide where candidates come from, without keys that only matter with folds."""
    settings: Json = plain(source)
    if not settings.get("folds"):
        for name in ("folds", "sentences"):
            settings.pop(name, None)
    return settings


def sums_of_run(base: Path) -> dict[str, str]:
    """Checksums of a run's weights and of the mark of an imported system; the run's name if it has neither."""
    files = [base / WEIGHTS_FILE]
    if (base / MODEL).exists():
        files.append(base / MARK)
    found = {file.name: values_sha256(file, 0) for file in files if file.is_file()}
    return found or {"name": str(base)}


def varied_settings(config: TrainConfig, given: Sequence[str] = ()) -> Json:
    """The settings of a training that differ from every default of their key, and those `given` on the command line.

    A base run is shown by name. Choices, `decoder=mon`, are shown as given.

    Example: `loss.tune.rounds=4 decoder=mon` gives `model.name`, `loss.name`, `seed`, `loss.tune.rounds` and `decoder`.
    """
    held = flat(plain(config))
    chosen = dict(argument.lstrip("+").split("=", 1) for argument in given if "=" in argument)
    # The name of a chosen model or loss is already shown.
    asked = [key for key in chosen if f"{key}.name" not in held]
    # No schema has these values as defaults.
    own = [key for key, value in held.items() if value is not None and value not in (defaults_at(key) or [value])]
    keys = [*ALWAYS, *asked, *own]
    shown = {key: held.get(key, chosen.get(key, ABSENT)) for key in dict.fromkeys(keys)}
    if config.base is not None:
        shown["base"] = config.base_run.name
    return {
        key: value for key, value in shown.items() if not key.startswith("hydra") and key.partition(".")[0] not in NEVER
    }
