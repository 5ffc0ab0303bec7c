"""From Hydra's loose configuration to the schema, with errors a user can act on."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, TypeVar, cast, get_origin, get_type_hints

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    ConfigKeyError,
    InterpolationToMissingValueError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from xlate.config.limits import check_limits
from xlate.errors import InputError

T = TypeVar("T")

OmegaConf.register_new_resolver("basename", lambda path: Path(path).name, replace=True)


def typed(config: DictConfig, schema: type[T]) -> T:
    """Checks a composed configuration against a schema dataclass and returns an instance of it.

    Raises:
        InputError: an unknown key (with the nearest known one), a value of the wrong type, out of its range, or not
            given.
    """
    shape = OmegaConf.structured(schema)
    try:
        plain = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
        for name in _list_fields(schema):
            # `ref=FILE` means the same as `ref=[FILE]`.
            if isinstance(plain.get(name), str):
                plain[name] = [plain[name]]
        merged = OmegaConf.merge(shape, OmegaConf.create(plain))
        made = cast(T, OmegaConf.to_object(merged))
    except MissingMandatoryValue as error:
        key = _key_of(error)
        raise InputError(
            "a value must be given",
            seen=f"{key} is not set",
            expected=f"{key}=…",
            remedy=f"add {key}=VALUE to the command",
        ) from error
    except InterpolationToMissingValueError as error:
        missing = str(error).rsplit("value: ", 1)[-1].split()[0]
        raise InputError(
            "a value must be given",
            seen=f"{missing} is not set",
            expected=f"{missing}=…",
            remedy=f"add {missing}=VALUE to the command",
        ) from error
    except ConfigKeyError as error:
        raise unknown_key(_key_of(error), known_keys(shape)) from error
    except OmegaConfBaseException as error:
        raise InputError(
            "a configuration value does not fit",
            seen=f"{_key_of(error)}: {_first_line(error)}",
            expected="a value of the type named",
            remedy="see the command's --help",
        ) from error
    check_limits(made)
    return made


def unknown_key(key: str, known: list[str]) -> InputError:
    """The error for a key that is not there, naming the nearest one that is."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.4) or [
        k for k in known if k.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1]
    ]
    remedy = f"did you mean {near[0]}?" if near else "see the command's --help for the keys there are"
    return InputError("unknown configuration key", seen=key, expected="a key of this command", remedy=remedy)


def known_keys(config: Any, prefix: str = "") -> list[str]:
    """All keys of a configuration, nested ones with dots."""
    keys: list[str] = []
    for name in config:
        keys.append(prefix + str(name))
        node = config._get_node(name)
        if isinstance(node, DictConfig) and not node._is_none() and not node._is_missing():
            keys.extend(known_keys(node, f"{prefix}{name}."))
    return keys


def _list_fields(schema: type[Any]) -> list[str]:
    return [name for name, hint in get_type_hints(schema).items() if get_origin(hint) is list]


def _key_of(error: OmegaConfBaseException) -> str:
    named = getattr(error, "full_key", None)
    if named:
        return str(named)
    found = re.search(r"full_key: (\S+)", str(error))
    return found.group(1) if found else _first_line(error)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
