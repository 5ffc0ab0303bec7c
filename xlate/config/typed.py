"""From Hydra's loose configuration to the schema, with errors a user can act on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    ConfigKeyError,
    GrammarParseError,
    InterpolationResolutionError,
    InterpolationToMissingValueError,
    MissingMandatoryValue,
    OmegaConfBaseException,
    UnsupportedInterpolationType,
)

from xlate.config.choices import schemas_of
from xlate.config.limits import check_limits
from xlate.config.used_keys import SpareKeys, known_keys, unknown_key, used_keys
from xlate.errors import InputError

T = TypeVar("T")


def _to_be_given(key: str) -> None:
    """Stands for a value that must be given where `???` would leave what a schema of others has."""
    raise InterpolationToMissingValueError(f"Interpolation to a missing value: {key}")


OmegaConf.register_new_resolver("to_be_given", _to_be_given, replace=True)
OmegaConf.register_new_resolver("basename", lambda path: Path(path).name, replace=True)
OmegaConf.register_new_resolver("sweep_folder", lambda run, work: run or f"runs/{Path(work).name}-sweep", replace=True)


def typed(config: DictConfig, schema: type[T], *, spare: SpareKeys | None = None) -> T:
    """Checks a configuration against a schema dataclass and the schemas of what is chosen; an instance of it.

    Args:
        config: composed, or read from a run.
        schema: of the command.
        spare: keys that may be left out; says afterwards which were.

    Raises:
        InputError: a key that is unknown or not used (with the nearest one that is), a value of the wrong type, out of
            its range, or not given.
    """
    shape = OmegaConf.structured(schema)
    try:
        plain = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
        plain = used_keys(plain, schema, spare=spare)
        for group, kind in schemas_of(plain, schema).items():
            OmegaConf.update(shape, group, OmegaConf.structured(kind), merge=False)
        made = cast(T, OmegaConf.to_object(OmegaConf.merge(shape, OmegaConf.create(plain))))
    except ConfigKeyError as error:
        raise unknown_key(_key_of(error), known_keys(shape)) from error
    except OmegaConfBaseException as error:
        raise in_our_words(error) from error
    check_limits(made)
    return made


def with_settings(held: T, given: Mapping[str, Any], name: str) -> T:
    """A schema dataclass called `name` with the values given in place of its own; null leaves what is there.

    Raises:
        InputError: a key that it has not (with the nearest one that it has), or a value that does not fit.
    """
    shape = OmegaConf.structured(held)
    for key, value in given.items():
        if value is None:
            continue
        if key not in shape:
            raise unknown_key(f"{name}.{key}", [f"{name}.{known}" for known in shape])
        try:
            shape[key] = value
        except OmegaConfBaseException as error:
            raise in_our_words(error, f"{name}.{key}") from error
    made = cast(T, OmegaConf.to_object(shape))
    check_limits(made, f"{name}.")
    return made


def in_our_words(error: OmegaConfBaseException, key: str | None = None) -> InputError:
    """The error for a value that is missing or does not fit."""
    missing = None
    if isinstance(error, MissingMandatoryValue):
        missing = _key_of(error)
    elif isinstance(error, InterpolationToMissingValueError):
        missing = str(error).rsplit("value: ", 1)[-1].split()[0]
    if missing is not None:
        return InputError(
            "a value must be given",
            seen=f"{missing} is not set",
            expected=f"{missing}=…",
            remedy=f"add {missing}=VALUE to the command",
        )
    if isinstance(error, InterpolationResolutionError | GrammarParseError | UnsupportedInterpolationType):
        seen, remedy = (
            f"{key or _key_of(error)}: {_first_line(error)}",
            "${…} stands for another key; name it otherwise",
        )
        message = "a value that stands for one that is not there"
        return InputError(message, seen=seen, expected="a value without ${", remedy=remedy)
    return InputError(
        "a configuration value does not fit",
        seen=f"{key or _key_of(error)}: {_first_line(error)}",
        expected="a value of the type named",
        remedy="see the command's --help",
    )


def _key_of(error: OmegaConfBaseException) -> str:
    named = getattr(error, "full_key", None)
    if named:
        return str(named)
    found = re.search(r"full_key: (\S+)", str(error))
    return found.group(1) if found else _first_line(error)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
