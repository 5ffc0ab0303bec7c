"""Stores shared by the tests of training, and a folder for each test's checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.learning.small_training import digest, initial, training, write_stores
from xlate.machine import StopFlag


@pytest.fixture(scope="package")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two stores of a small training."""
    folder = tmp_path_factory.mktemp("stores")
    write_stores(folder)
    return folder


@pytest.fixture
def folder(stores: Path, tmp_path: Path) -> Path:
    """A folder of its own for checkpoints, with the stores linked into it."""
    for name in ("train", "heldout"):
        (tmp_path / name).symlink_to(stores / name)
    return tmp_path


@pytest.fixture(scope="package")
def whole(stores: Path) -> str:
    """The digest of a small training that was never interrupted."""
    return digest(training(stores, checkpoint="whole").run(initial(), StopFlag()))
