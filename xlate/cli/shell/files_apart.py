"""Files that a command writes: none of them is another one, or one that it reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations
from typing import Any

from xlate.errors import InputError

# The keys that name what is written.
OUTPUTS = ("out", "best_out", "output", "nbest_out", "lattice_out")


def check_files_apart(config: Any) -> None:
    """Looks whether a command would write two outputs into one file, or over a file that it reads.

    Raises:
        InputError: it would.
    """
    given = ((key, getattr(config, key, None)) for key in OUTPUTS)
    written = [(key, value) for key, value in given if isinstance(value, str) and value != "-"]
    for (key, path), (other, there) in combinations(written, 2):
        if _same(path, there):
            seen = f"{key}={path} {other}={there}"
            remedy = f"name another file with {other}="
            raise InputError("two outputs in one file", seen=seen, expected="a file for each", remedy=remedy)
    for key, path in written:
        for name, file in _read(config):
            if os.path.isfile(file) and _same(path, file):
                raise InputError(
                    "an output in the place of an input",
                    seen=f"{key}={path} {name}={file}",
                    expected="another file",
                    remedy=f"name another one with {key}=, which would replace the input",
                )


def _read(config: Any) -> Iterator[tuple[str, str]]:
    """The values of all other keys, which may be files, with the keys; of NAME=FILE the file."""
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name in OUTPUTS:
            continue
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield field.name, text if os.path.exists(text) else text.partition("=")[2]


def _same(path: str, other: str) -> bool:
    """Whether two names are of one file; devices and pipes are written in turn."""
    special = os.path.exists(path) and not os.path.isfile(path)
    return not special and os.path.realpath(path) == os.path.realpath(other)
