"""Configurations as text, in a run's folder and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar, cast

from omegaconf import DictConfig, OmegaConf

from xlate.config.typed import typed
from xlate.errors import InputError

T = TypeVar("T")


def to_yaml(config: Any) -> str:
    """A schema dataclass as YAML text."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def read_config(path: str | Path, schema: type[T]) -> T:
    """Reads what `to_yaml` wrote.

    Raises:
        InputError: the file is missing, no YAML, or does not fit the schema.
    """
    try:
        loaded = OmegaConf.create(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            "not a run directory",
            file=path,
            seen=error.strerror,
            expected="the config.yaml that xlate train writes",
            remedy="xlate train run=… first",
        ) from error
    except Exception as error:  # YAML errors come in many classes
        raise InputError("a damaged configuration", file=path, seen=error, expected="YAML") from error
    return typed(cast(DictConfig, loaded), schema)
