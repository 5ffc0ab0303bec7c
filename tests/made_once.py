"""Work directories and runs that several modules read: made once in a session, by whichever worker asks first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from xlate.text.folders import awaited

STAGES = ("align", "corpus", "generated", "lm", "phrases", "plan.json")


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of the session, which is that of all its workers."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of a name, which `make` fills when it is first asked for; other workers wait until it is whole.

    Others read it, too: copy it to change it.
    """
    place = shared_folder(factory) / "made" / name
    with awaited(place):
        if not (place / "whole").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            make(place / name)
            (place / "whole").touch()
    return place / name


def as_prepared(work: Path, folder: Path) -> Path:
    """A copy of a work directory with what `xlate prepare` made, and nothing that a training added."""
    folder.mkdir(parents=True)
    for name in STAGES:
        (shutil.copytree if (work / name).is_dir() else shutil.copy)(work / name, folder / name)
    return folder
