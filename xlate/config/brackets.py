"""Values of list keys without brackets, `ref=a.txt` for `ref=[a.txt]`, and names that look like numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import Field
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin

from xlate.config.choices import SCHEMAS, hints_of, schema_within
from xlate.settings import keys_in

# What stands between commas that are in no brackets or quotes.
PART = re.compile(r"""(?:\[[^\]]*\]|'(?:\\.|[^'])*'|"(?:\\.|[^"])*"|\{[^}]*\}|\([^)]*\)|[^,])+""")
# Texts that would become numbers and be written in another way, such as 1.50, 2024_11 and true.
_NUMBER = re.compile(r"(?i)[+-]?[\d_.]*\d[\d_.]*(e[+-]?\d+)?|[+-]?(inf|nan)|true|false")
# No single values: lists, functions such as range(…), what Hydra fills in.
_AS_IT_IS = re.compile(r"\[|\$\{|\{|\w+\(|null$|\?\?\?$")


def with_brackets(overrides: Iterable[str], command: type[Any], sweep: bool = False) -> list[str]:
    """Overrides in which lists have their brackets, `key=[a,b]` for `key=a,b` and in a sweep `key=[a],[b]`, and texts
    that look like numbers their quotes.
    """
    lists, texts = list_keys(command), keys_of(command, lambda hint: hint in (str, str | None))
    made = [_bracketed(override, lists, sweep) for override in overrides]
    for place, (key, _, value) in enumerate(override.partition("=") for override in made):
        if key.lstrip("+") in texts and _NUMBER.fullmatch(value) and not value.isdecimal():
            made[place] = f"{key}='{value}'"
    return made


def _bracketed(override: str, keys: set[str], sweep: bool) -> str:
    key, sign, value = override.partition("=")
    parts: Sequence[str] = PART.findall(value)
    if not sign or key.lstrip("+") not in keys or not parts:
        return override
    if len(parts) > 1 and not sweep:
        return override if any(map(_AS_IT_IS.match, parts)) else f"{key}=[{value}]"
    return f"{key}={','.join(part if _AS_IT_IS.match(part) else f'[{part}]' for part in parts)}"


class HeldKey(NamedTuple):
    """A dotted key, and the schema that has it as a field."""

    key: str
    kind: type[Any]
    field: Field[Any]


def list_keys(command: type[Any]) -> set[str]:
    """The dotted keys of a command that are lists in every schema that has them."""
    return keys_of(command, is_list_hint)


def keys_of(command: type[Any], fits: Callable[[Any], bool]) -> set[str]:
    """The dotted keys of a command whose type fits in every schema that has them."""
    found: set[str] = set()
    others: set[str] = set()
    for held in keys_within(command):
        (found if fits(hints_of(held.kind)[held.field.name]) else others).add(held.key)
    return found - others


def keys_within(kind: type[Any], prefix: str = "") -> Iterator[HeldKey]:
    """The keys of a schema, and of all that it may hold, which hold values; one for each schema that has it."""
    for field in keys_in(kind):
        key = prefix + field.name
        within = schema_within(kind, field)
        schemas = [*SCHEMAS.get(key, ()), *([within] if within is not None else [])]
        for schema in dict.fromkeys(schemas):
            yield from keys_within(schema, f"{key}.")
        if not schemas:
            yield HeldKey(key, kind, field)


def is_list_hint(hint: Any) -> bool:
    """Whether a field of this type holds a list."""
    kinds = get_args(hint) if get_origin(hint) is UnionType else (hint,)
    return any(get_origin(kind) is list for kind in kinds)
