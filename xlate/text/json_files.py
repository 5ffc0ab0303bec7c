"""Files that hold one JSON object, checked when read, and written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.text.lines import atomic_write, unreadable
from xlate.text.opening import plain_file

# The fields that an object must have, with the types of their values.
Fields = Mapping[str, type | tuple[type, ...]]
_NAMES: dict[object, str] = {dict: "an object", list: "a list", str: "text", int: "a number", float: "a number"}


def read_json(path: str | Path, expected: str, remedy: str, fields: Fields | None = None) -> dict[str, Any]:
    """Reads a JSON object; `fields` are those it must have, with the types of their values.

    Raises:
        InputError: the file is missing, damaged, or holds something else; `expected` and `remedy` stand in the message.
    """
    path = plain_file(path)
    try:
        held = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise unreadable(path, error, expected, remedy) from error
    except (ValueError, RecursionError) as error:
        raise InputError("damaged", error, f"{expected}, in JSON", remedy, file=path) from error
    if not isinstance(held, dict):
        raise InputError("damaged", held, f"{expected}, a JSON object", remedy, file=path)
    check_fields(held, fields or {}, path, remedy)
    return held


def check_fields(held: Mapping[str, Any], fields: Fields, file: str | Path, remedy: str) -> None:
    """Checks that an object has the fields it must have, with values of their types; true and false do not count as
    numbers.

    Raises:
        InputError: a field is missing or has another type.
    """
    for name, kinds in fields.items():
        known = kinds if isinstance(kinds, tuple) else (kinds,)
        value = held.get(name)
        fits = isinstance(value, known) and not (isinstance(value, bool) and bool not in known)
        if name not in held or not fits:
            seen = f"{name} is {value!r}" if name in held else f"no {name}"
            wanted = " or ".join(dict.fromkeys(_NAMES.get(kind, "nothing") for kind in known))
            raise InputError("damaged", seen, f"{name}, {wanted}", remedy, file=file)


def write_json(path: str | Path, value: Mapping[str, Any], indent: int | None = 2) -> None:
    """Writes a JSON object, whole or not at all."""
    with atomic_write(path) as stream:
        stream.write(json.dumps(value, indent=indent, ensure_ascii=False, default=str).encode("utf-8") + b"\n")
