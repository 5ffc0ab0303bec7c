"""Which keys a configuration's choices use: others are refused, and the nearest used one is named."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from omegaconf import DictConfig

from xlate.config.choices import SCHEMAS, keys_elsewhere, keys_of, schema_within, schemas_of
from xlate.errors import InputError

# Of keys that end in the same name, `name` itself say, so many are proposed in place of an unknown one.
MOST_NAMED = 3


@dataclass
class SpareKeys:
    """Dotted keys that a sweep gives to all of its jobs, and that those leave out whose choices have no such key.

    Attributes:
        keys: which may be left out.
        left_out: which were.
    """

    keys: frozenset[str] = frozenset()
    left_out: set[str] = field(default_factory=set)


def used_keys(plain: Mapping[str, Any], command: type[Any], *, spare: SpareKeys | None = None) -> dict[str, Any]:
    """The keys of a command's configuration that its choices use.

    Keys of other choices go where they have their default, which a file may have set for all of them, and those that
    are `spare`.

    Raises:
        InputError: a key of another choice was set.
    """
    kept = dict(plain)
    chosen = schemas_of(kept, command)
    for group in ("model", "decoder", "loss", "source", "data", "align"):
        if group in chosen and isinstance(kept.get(group), Mapping):
            kept[group] = _used(kept[group], chosen, group, "", spare or SpareKeys())
    return kept


def _used(
    plain: Mapping[str, Any], chosen: Mapping[str, type[Any]], group: str, below: str, spare: SpareKeys
) -> dict[str, Any]:
    """`below`: the place within the group, such as `tune.`."""
    here = f"{group}.{below}".rstrip(".")
    kind = chosen[here]
    if here == "decoder":
        _check_decoder(plain, kind)
    own, elsewhere = {one.name: one for one in fields(kind)}, keys_elsewhere(group)
    if here == "loss.tune":
        elsewhere |= {f"tune.{name}": defaults for name, defaults in keys_elsewhere(here).items()}
    kept: dict[str, Any] = {}
    for name, value in plain.items():
        inner = schema_within(kind, own[name]) if name in own else None
        if inner is not None and isinstance(value, Mapping):
            nested = {f"{here}.{name}": inner, **chosen}
            kept[name] = _used(value, nested, group, f"{below}{name}.", spare)
        elif name in own:
            kept[name] = value
        elif f"{below}{name}" in elsewhere and f"{group}.{below}{name}" in spare.keys:
            spare.left_out.add(f"{group}.{below}{name}")
        elif f"{below}{name}" not in elsewhere or value not in elsewhere[f"{below}{name}"]:
            raise unknown_key(f"{group}.{_set(f'{below}{name}', value, elsewhere)}", _keys_of(chosen))
    return kept


def _set(key: str, value: Any, elsewhere: Mapping[str, list[Any]]) -> str:
    """The key within a key that was set, where it holds others."""
    for name, inner in value.items() if isinstance(value, Mapping) else ():
        if inner not in elsewhere.get(f"{key}.{name}", [inner]):
            return f"{key}.{name}"
    return key


def _keys_of(chosen: Mapping[str, type[Any]]) -> list[str]:
    """The dotted names of all keys that the schemas of a configuration's groups have."""
    return list(dict.fromkeys(f"{group}.{name}" for group, kind in chosen.items() for name, _ in keys_of(kind)))


def _check_decoder(plain: Mapping[str, Any], kind: type[Any]) -> None:
    """Refuses the decoder of another model, as its name would be; single keys are looked at one by one."""
    keys_by_kind = {other: {one.name for one in fields(other)} for other in SCHEMAS["decoder"]}
    if all(plain.keys() != keys for other, keys in keys_by_kind.items() if other is not kind):
        return
    own = sorted(keys_by_kind[kind])
    raise InputError(
        "the decoder belongs to another model",
        seen=", ".join(f"decoder.{name}" for name in sorted(plain.keys() - keys_by_kind[kind])) or "no decoder",
        expected=", ".join(own) if own else "no decoder: lists are given",
        remedy="leave decoder=… out: every model brings its own",
    )


def unknown_key(key: str, known: list[str]) -> InputError:
    """The error for a key that is not there, naming the nearest one that is."""
    group = next((g for g in ("model", "decoder", "loss", "source") if key.startswith(f"{g}.")), "")
    elsewhere = keys_elsewhere(group).keys() | {f"tune.{name}" for name in keys_elsewhere("loss.tune")}
    other = bool(group) and key.removeprefix(f"{group}.") in elsewhere
    near = _nearest(key, known)
    remedy = f"did you mean {' or '.join(near)}?" if near else "see the command's --help for the keys there are"
    if other:
        expected = f"a key that the chosen {group} has; docs/configuration.md lists them"
        return InputError(f"the chosen {group} does not use this key", seen=key, expected=expected, remedy=remedy)
    return InputError("unknown configuration key", seen=key, expected="a key of this command", remedy=remedy)


def _nearest(key: str, known: list[str]) -> list[str]:
    """The keys that end in the same name as another, or the key most like it; of its own group first.

    Those that hold others only where the names of groups are alike, `modell=phrase`.
    """
    groups = [one for one in known if "." not in one and any(other.startswith(f"{one}.") for other in known)]
    if "." not in key and (named := difflib.get_close_matches(key, groups, n=1, cutoff=0.75)):
        return named
    single = [one for one in known if one != key and not any(other.startswith(f"{one}.") for other in known)]
    group = [one for one in single if "." in key and one.partition(".")[0] == key.partition(".")[0]]
    named = [one for one in single if one.rpartition(".")[2] == key.rpartition(".")[2]]
    if 0 < len(named) <= MOST_NAMED:
        return sorted(named, key=lambda one: one not in group)
    own = [one for one in named if one in group]
    near = difflib.get_close_matches(key, group, n=1, cutoff=0.4) or difflib.get_close_matches(
        key, single, n=1, cutoff=0.4
    )
    return own if len(own) == 1 else near


def known_keys(config: Any, prefix: str = "") -> list[str]:
    """All keys of a configuration, nested ones with dots."""
    keys: list[str] = []
    for name in config:
        keys.append(prefix + str(name))
        node = config._get_node(name)
        if isinstance(node, DictConfig) and not node._is_none() and not node._is_missing():
            keys.extend(known_keys(node, f"{prefix}{name}."))
    return keys
