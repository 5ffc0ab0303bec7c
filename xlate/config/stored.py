"""Configurations as text, in a run's folder and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader

from xlate.config.schema import TrainConfig
from xlate.config.typed import typed
from xlate.errors import InputError
from xlate.report.run_directory import CONFIG_FILE, flat
from xlate.settings import plain
from xlate.text.lines import unreadable
from xlate.text.opening import plain_file

T = TypeVar("T")
REMEDY = "restore the file as it was written, or make the run again"


def to_yaml(config: Any) -> str:
    """A schema dataclass as YAML text."""
    return OmegaConf.to_yaml(OmegaConf.create(plain(config)))


def read_config(path: str | Path, schema: type[T]) -> T:
    """Reads what `to_yaml` wrote: values alone, nothing that stands for another.

    Raises:
        InputError: the file is missing, no YAML, holds aliases or interpolations, does not fit the schema, or lacks a
            key.
    """
    path = plain_file(path)
    try:
        # The loader of OmegaConf reads numbers as `to_yaml` writes them.
        loaded = yaml.load(path.read_bytes().decode("utf-8"), Loader=_WithoutAliases)
    except OSError as error:
        expected = "the config.yaml that xlate train writes"
        raise unreadable(path, error, expected, "xlate train run=… first", "not a run directory") from error
    except Exception as error:  # YAML errors come in many classes
        raise InputError("a damaged configuration", file=path, seen=error, expected="YAML", remedy=REMEDY) from error
    if not isinstance(loaded, dict):
        expected = "keys and their values"
        raise InputError("a damaged configuration", file=path, seen=repr(loaded), expected=expected, remedy=REMEDY)
    _check_plain(loaded, path)
    try:
        made = typed(OmegaConf.create(loaded), schema)
    except InputError as error:
        raise InputError(
            f"a damaged configuration: {error.message}",
            file=path,
            seen=error.seen,
            expected=error.expected,
            remedy=error.remedy if error.remedy and error.remedy.startswith("did you mean") else REMEDY,
        ) from error
    except Exception as error:  # so do those of OmegaConf
        raise InputError("a damaged configuration", file=path, seen=error, remedy=REMEDY) from error
    _check_complete(flat(loaded), flat(plain(made)), Path(path))
    return made


def config_of_run(run: str | Path) -> TrainConfig:
    """The configuration that a run was trained with, or an imported system stands under.

    Raises:
        InputError: as `read_config`.
    """
    return read_config(Path(run) / CONFIG_FILE, TrainConfig)


class _WithoutAliases(get_yaml_loader()):  # type: ignore[misc]
    """Refuses aliases: a few lines of them can stand for more than any memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(None, None, f"an alias, *{event.anchor}", event.start_mark)
        return super().compose_node(parent, index)


def _check_complete(loaded: Mapping[str, Any], made: Mapping[str, Any], path: Path) -> None:
    missing = [key for key in made if key not in loaded]
    if missing:
        raise InputError(
            "a configuration of an earlier version, which lacks keys",
            file=path,
            seen=f"no {', '.join(missing[:5])}",
            expected="every key that xlate train writes",
            remedy="make the run again",
        )


def _check_plain(value: Any, path: Path, key: str = "") -> None:
    """Looks whether no value or key would be put together from others, or from the environment, when it is read."""
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
            file=path,
            seen=f"{key.rstrip('.')}: {value}",
            expected="the value itself",
            remedy=REMEDY,
        )
