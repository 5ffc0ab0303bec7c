"""Chooses where compiled loops are kept: beside their source, in the user's home, or else in a private temporary
folder.
"""

from __future__ import annotations

from pathlib import Path

from xlate.scratch import can_be_written, home, keep_in_scratch

HERE = Path(__file__).resolve().parent / "__pycache__"


def settle_cache() -> None:
    """Tells numba the folder before it is imported, since numba raises an error when it can write nowhere."""
    if not can_be_written(HERE):
        keep_in_scratch("NUMBA_CACHE_DIR", "numba", home("XDG_CACHE_HOME", ".cache") / "numba")
