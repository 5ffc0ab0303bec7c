"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Machines are noisy and kernels compile in a first example: no deadline. Every run draws the same examples.
settings.register_profile("xlate", deadline=None, derandomize=True)
settings.load_profile("xlate")


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of the session's own: what was found whole is remembered there, also by commands it starts."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        # Matplotlib keeps its list of fonts where it was.
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        patch.setenv("MPLCONFIGDIR", os.environ.get("MPLCONFIGDIR") or str(Path(home) / "matplotlib"))
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora: XLATE_DATA, or ../shared/data beside the repository; skips when absent."""
    named = os.environ.get("XLATE_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not (folder / "README.md").exists():
        pytest.skip("real corpora are absent: set XLATE_DATA")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    """A random generator with a fixed seed."""
    return np.random.default_rng(20261120)
