"""Which files below some folders this process opens while something is done.

What a system needs is what its own code opens: no list beside that code can fall behind it. Python tells of each file
before it is opened, whoever opens it and however; memory-mapped arrays are opened so, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_listening: list[set[str]] = []


@contextmanager
def opened_files(folders: Sequence[Path]) -> Iterator[set[Path]]:
    """Fills a set, at the end, with the files below some folders, links followed, that were opened meanwhile."""
    _begin_to_listen()
    names: set[str] = set()
    found: set[Path] = set()
    _listening.append(names)
    try:
        yield found
    finally:
        # Not by `remove`, which would take an equal set of somebody else.
        _listening[:] = [other for other in _listening if other is not names]
    tops = [os.path.realpath(folder) for folder in folders]
    for name in names:
        path = os.path.realpath(name)
        if any(path == top or path.startswith(f"{top.rstrip('/')}/") for top in tops) and os.path.isfile(path):
            found.add(Path(path))


@cache
def _begin_to_listen() -> None:
    # A process cannot take such a function back; where nobody listens it does nothing.
    sys.addaudithook(_told)


def _told(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _listening and isinstance(arguments[0], str | bytes):
        name = os.path.abspath(os.fsdecode(arguments[0]))
        for names in _listening:
            names.add(name)
