"""Checkpoints: weights, best weights, what the learner remembers, and state in one file, replaced whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from xlate.array_types import AnyArray
from xlate.errors import InputError
from xlate.scoring.weights import Weights, load_weights, save_weights
from xlate.train.state import TrainState

BEST = "best."
MEMORY = "memory."


@dataclass(frozen=True)
class Checkpoint:
    """Weights by set, the best weights of the phase at hand by set, the state, and the memory of its learner."""

    weights: dict[str, Weights]
    best: dict[str, Weights]
    state: TrainState
    memory: dict[str, AnyArray] = field(default_factory=dict)


def save_checkpoint(path: Path, checkpoint: Checkpoint, identity: str) -> None:
    """Writes a checkpoint; one that was there before stays until the new one is whole."""
    sets: Mapping[str, Weights] = {
        **checkpoint.weights,
        **{BEST + name: weights for name, weights in checkpoint.best.items()},
    }
    extra = {MEMORY + name: np.ascontiguousarray(array) for name, array in checkpoint.memory.items()}
    save_weights(path, sets, extra=extra, metadata={"state": checkpoint.state.to_json(), "identity": identity})


def load_checkpoint(path: Path, identity: str) -> Checkpoint | None:
    """Reads a checkpoint, None when there is none.

    Raises:
        InputError: it is damaged, or belongs to other phases or data.
    """
    if not path.exists():
        return None
    file = load_weights(path)
    if file.metadata.get("identity") != identity:
        raise InputError(
            "a checkpoint of another training",
            file=path,
            seen=file.metadata.get("identity"),
            expected=identity,
            remedy="name another run directory, or remove the checkpoint",
        )
    return Checkpoint(
        weights={name: w for name, w in file.sets.items() if not name.startswith(BEST)},
        best={name.removeprefix(BEST): w for name, w in file.sets.items() if name.startswith(BEST)},
        state=TrainState.from_json(file.metadata["state"]),
        memory={name.removeprefix(MEMORY): array.copy() for name, array in file.extra.items()},
    )
