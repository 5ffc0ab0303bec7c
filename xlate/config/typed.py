"""Turns Hydra's untyped configuration into dataclasses of settings, with errors a user can act on."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin

from omegaconf import AnyNode, BooleanNode, DictConfig, FloatNode, IntegerNode, OmegaConf, StringNode
from omegaconf.errors import (
    GrammarParseError,
    InterpolationResolutionError,
    InterpolationToMissingValueError,
    OmegaConfBaseException,
    UnsupportedInterpolationType,
    ValidationError,
)

from xlate.config.choices import SCHEMAS, defaults_at, hints_of, keys_of, schema_within, schemas_of, settings_at
from xlate.errors import InputError
from xlate.settings import MISSING, Json, Range, check_limit, keys_in, limit_of, plain

T = TypeVar("T")
# The most keys with the same last name, such as `name`, that are suggested for an unknown one.
MOST_NAMED = 3
# The node that reads a value of each type as Hydra does, and its name: `yes` is true, and 5 can be a text.
NODES: dict[Any, tuple[type[Any], str]] = {
    bool: (BooleanNode, "true or false"),
    int: (IntegerNode, "a whole number"),
    float: (FloatNode, "a number"),
    str: (StringNode, "text"),
}


def _to_be_given(key: str) -> None:
    """Marks a required value where `???` would keep the value from another schema."""
    raise InterpolationToMissingValueError(f"Interpolation to a missing value: {key}")


OmegaConf.register_new_resolver("to_be_given", _to_be_given, replace=True)
OmegaConf.register_new_resolver("basename", lambda path: Path(path).name, replace=True)
OmegaConf.register_new_resolver("sweep_folder", lambda run, work: run or f"runs/{Path(work).name}-sweep", replace=True)


def typed(config: DictConfig, schema: type[T], *, spare: Collection[str] = ()) -> T:
    """The settings of a command from its configuration, typed by the schemas of its choices.

    Args:
        config: composed, or read from a run.
        schema: of the command.
        spare: dotted keys that a sweep gives to all of its jobs, and that are left out if no choice has such a key.

    Raises:
        InputError: a key is unknown or unused (with the nearest one that is not), or a value is of the wrong type, out
            of its range, or not given.
    """
    try:
        # Values that refer to missing ones cannot be read yet.
        if missing := [*_missing(cast(Json, OmegaConf.to_container(config)))]:
            raise _not_given(*missing)
        given = cast(Json, OmegaConf.to_container(config, resolve=True))
    except OmegaConfBaseException as error:
        raise in_our_words(error) from error
    return _Builder(schema, schemas_of(given, schema), spare).build(schema, given, "")


def build(kind: type[T], given: Mapping[str, Any], at: str, file: str | Path | None = None) -> T:
    """Settings from plain values, each checked for its type and range; missing values have their defaults.

    Args:
        kind: a dataclass of settings.
        given: values by name, nested ones in mappings.
        at: the prefix of key names, such as `decoder.`.
        file: where the values were read, for messages.

    Raises:
        InputError: an unknown key, a value of the wrong type, out of its range, or not given.
    """
    return _Builder(kind, {at.rstrip("."): kind}, (), file).build(kind, given, at)


def with_settings(held: T, given: Mapping[str, Any], name: str) -> T:
    """Settings called `name`, with given values replacing their own; null leaves a value unchanged.

    Raises:
        InputError: they lack a key (with the nearest one they have), or a value does not fit.
    """
    changed = {key: value for key, value in given.items() if value is not None}
    return build(type(held), {**plain(held), **changed}, f"{name}.")


@dataclass(frozen=True)
class _Builder:
    """Builds settings from plain values.

    Attributes:
        root: the dataclass to build.
        chosen: the chosen dataclass of each dotted key that may hold several.
        spare: keys that may be left out.
        file: where the values were read.
    """

    root: type[Any]
    chosen: Mapping[str, type[Any]]
    spare: Collection[str]
    file: str | Path | None = None

    def build(self, kind: type[T], given: Mapping[str, Any], at: str) -> T:
        if at == "decoder.":
            _check_decoder(given, kind)
        known = {one.name: one for one in keys_in(kind)}
        values = {}
        for name, value in given.items():
            key = f"{at}{name}"
            if name not in known:
                # The key is left out if it has the default of another choice, which a file may have set for all of
                # them, or if it is spare.
                defaults = defaults_at(key)
                if value not in defaults and not (defaults and key in self.spare):
                    raise unknown_key(_set(key, value), self._known(key.partition(".")[0]))
                continue
            within = self.chosen.get(key) or schema_within(kind, known[name])
            if within is not None and isinstance(value, Mapping):
                values[name] = self.build(within, value, f"{key}.")
                continue
            values[name] = _value(hints_of(kind)[name], value, key)
            check_limit(key, values[name], limit_of(known[name]), self.file)
            if isinstance(value, Mapping):
                _check_of_any(key, value)
        made = kind(**values)
        if missing := [f"{at}{name}" for name in known if getattr(made, name) == MISSING]:
            raise _not_given(*missing)
        return made

    def _known(self, group: str) -> list[str]:
        """The dotted names of all innermost keys; for a key in a group, those of all groups."""
        if group not in self.chosen:
            return list(keys_of(self.root, "", self.chosen))
        groups = (keys_of(kind, f"{place}.", self.chosen) for place, kind in self.chosen.items())
        return list(dict.fromkeys(key for keys in groups for key in keys))


def _set(key: str, value: Any) -> str:
    """The key that was set; if it holds others, the one set within it."""
    for name, inner in value.items() if isinstance(value, Mapping) else ():
        if inner not in (defaults_at(f"{key}.{name}") or [inner]):
            return f"{key}.{name}"
    return key


def _value(hint: Any, value: Any, key: str) -> Any:
    """A value converted to its type."""
    inner = get_args(hint)
    if isinstance(hint, UnionType):
        return None if value is None else _value(inner[0], value, key)
    if get_origin(hint) is list and isinstance(value, list):
        return [_value(inner[0], one, key) for one in value]
    if get_origin(hint) is dict and isinstance(value, Mapping):
        return {name: one if inner[1] is Any else _value(inner[1], one, key) for name, one in value.items()}
    node, expected = NODES.get(hint, (AnyNode, "several values, in [] or {}"))
    try:
        if hint not in NODES:
            raise ValidationError
        return node(value, is_optional=False)._value()
    except ValidationError as error:
        raise InputError(
            "an invalid configuration value",
            f"{key}={'null' if value is None else value}",
            expected,
            "see the command's --help",
        ) from error


def _check_of_any(at: str, given: Mapping[str, Any]) -> None:
    """Checks settings against every decoder that has them; the run's decoder is known only when the run is opened."""
    for name, value in given.items():
        limits = [limit for one in settings_at(f"{at}.{name}") if (limit := limit_of(one)) is not None]
        ranges = [limit for limit in limits if isinstance(limit, Range)]
        words = tuple(dict.fromkeys(word for limit in limits if not isinstance(limit, Range) for word in limit))
        if isinstance(value, str) and words:
            check_limit(f"{at}.{name}", value, words)
        elif isinstance(value, int | float) and ranges and not any(limit.holds(value) for limit in ranges):
            check_limit(f"{at}.{name}", value, ranges[0])


def _check_decoder(given: Mapping[str, Any], kind: type[Any]) -> None:
    """Refuses the decoder of another model, just as its name would be refused; single keys are checked one by one."""
    keys_by_kind = {other: {one.name for one in keys_in(other)} for other in SCHEMAS["decoder"]}
    if all(given.keys() != keys for other, keys in keys_by_kind.items() if other is not kind):
        return
    own = sorted(keys_by_kind[kind])
    raise InputError(
        "the decoder belongs to another model",
        ", ".join(f"decoder.{name}" for name in sorted(given.keys() - keys_by_kind[kind])) or "no decoder",
        ", ".join(own) if own else "no decoder: the lists exist already",
        "leave out decoder=…: every model has its own",
    )


def unknown_key(key: str, known: list[str]) -> InputError:
    """The error for an unknown key, naming the nearest known one."""
    group, near = key.partition(".")[0], _nearest(key, known)
    remedy = f"did you mean {' or '.join(near)}?" if near else "see the command's --help for its keys"
    if group in ("model", "decoder", "loss", "source") and settings_at(key):
        return InputError(
            f"the chosen {group} does not use this key",
            key,
            f"a key that the chosen {group} has; docs/configuration.md lists them",
            remedy,
        )
    return InputError("unknown configuration key", key, "a key of this command", remedy)


def _nearest(key: str, known: list[str]) -> list[str]:
    """The keys that end in the same name as `key`, or the most similar one, its own group first.

    Keys that hold others are suggested only for similar names of groups, `modell=phrase`.
    """
    groups = {one.partition(".")[0] for one in known if "." in one}
    if "." not in key and (named := difflib.get_close_matches(key, groups, n=1, cutoff=0.75)):
        return named
    single = [one for one in known if one != key]
    group = [one for one in single if "." in key and one.partition(".")[0] == key.partition(".")[0]]
    named = [one for one in single if one.rpartition(".")[2] == key.rpartition(".")[2]]
    if 0 < len(named) <= MOST_NAMED:
        return sorted(named, key=lambda one: one not in group)
    own = [one for one in named if one in group]
    near = difflib.get_close_matches(key, group, n=1, cutoff=0.4) or difflib.get_close_matches(
        key, single, n=1, cutoff=0.4
    )
    return own if len(own) == 1 else near


def in_our_words(error: OmegaConfBaseException) -> InputError:
    """The error for a value that is missing or does not fit."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    found = re.search(r"full_key: (\S+)", str(error))
    key = str(getattr(error, "full_key", None) or (found[1] if found else line))
    if isinstance(error, InterpolationToMissingValueError):
        return _not_given(str(error).rsplit("value: ", 1)[-1].split()[0])
    message, expected, remedy = (
        "an invalid configuration value",
        "a value of the type shown",
        "see the command's --help",
    )
    if isinstance(error, InterpolationResolutionError | GrammarParseError | UnsupportedInterpolationType):
        message, expected = "a value that refers to a missing one", "a value without ${"
        remedy = "${…} refers to another key; use another name"
    return InputError(message, f"{key}: {line}", expected, remedy)


def _missing(given: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """The dotted keys of values that must be given and are not."""
    for name, value in given.items():
        if isinstance(value, Mapping):
            yield from _missing(value, f"{at}{name}.")
        elif value == MISSING:
            yield f"{at}{name}"


def _not_given(*keys: str) -> InputError:
    seen = f"{', '.join(keys)} {'is' if len(keys) == 1 else 'are'} not set"
    settings = " ".join(f"{key}=VALUE" for key in keys)
    return InputError("a required value is missing", seen, settings, f"add {settings} to the command")
