"""Work directories and runs that several modules read: made once in a process, whichever module asks first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

_MADE: dict[str, Path] = {}


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of a name, which `make` is given to fill when it is first asked for."""
    if name not in _MADE:
        folder = factory.mktemp(name) / name
        make(folder)
        _MADE[name] = folder
    return _MADE[name]
