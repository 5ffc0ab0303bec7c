"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Machines are noisy and kernels compile in a first example: no deadline. Every run draws the same examples.
settings.register_profile("xlate", deadline=None, derandomize=True)
settings.load_profile("xlate")


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
