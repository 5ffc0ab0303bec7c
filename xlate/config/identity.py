"""What makes a training this one and no other: the keys it uses, and what it starts from."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xlate.config.schema import TrainConfig
from xlate.report.identity import VOLATILE

# Of a run: its weights; what an imported system, which has a model of its own, was made of.
WEIGHTS, MODEL, MADE_OF = "weights.safetensors", "model", "run.json"


def identity_of_training(config: TrainConfig) -> dict[str, Any]:
    """The settings that decide what is trained, with checksums of the base run in the place of its name.

    Wherever the base run lies, its weights make the difference; a base without weights counts by its name.
    """
    settings = {key: value for key, value in asdict(config).items() if key not in VOLATILE}
    return settings | {"base": None if config.base is None else _sums(Path(config.base))}


def _sums(base: Path) -> dict[str, str]:
    files = [base / WEIGHTS]
    if (base / MODEL).exists():
        files.append(base / MADE_OF)
    found = {file.name: _sum(file) for file in files if file.is_file()}
    return found or {"name": str(base)}


def _sum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
