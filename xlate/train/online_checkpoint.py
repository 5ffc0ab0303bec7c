"""Where online training stands, in one file: weights, what the average is made of, the oracles of every sentence."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import AnyArray
from xlate.errors import InputError
from xlate.scoring.weights import Weights, load_weights, save_weights

BEST = "best"


@dataclass
class OnlineState:
    """After some sentences of an iteration.

    Attributes:
        iteration: iterations that are over.
        position: sentences of the present one that are done.
        figures: of the iterations that are over.
        partial: of the present one so far; empty between iterations.
        first: summed statistics of the first translations of the present iteration.
        best, best_bleu: the best average so far, and what it was worth, where the best one is returned.
        arrays: the state of the learner.
    """

    iteration: int = 0
    position: int = 0
    figures: list[dict[str, Any]] = field(default_factory=list)
    partial: dict[str, Any] = field(default_factory=dict)
    first: list[float] = field(default_factory=list)
    best: Weights | None = None
    best_bleu: float = -1.0
    arrays: Mapping[str, AnyArray] = field(default_factory=dict)


@dataclass
class OnlineCheckpoint:
    """The file, replaced whole.

    Attributes:
        path: of the file.
        identity: what it must carry to be taken up.
        seconds: the least time between two writings.
    """

    path: Path
    identity: str
    seconds: float = 20.0
    _saved: float = field(default_factory=time.monotonic, init=False)

    @property
    def due(self) -> bool:
        """Whether enough time has passed since the last writing."""
        return time.monotonic() - self._saved >= self.seconds

    def load(self) -> OnlineState | None:
        """The state, None when there is none.

        Raises:
            InputError: the file is damaged, or of another training.
        """
        if not self.path.exists():
            return None
        file = load_weights(self.path)
        if file.metadata.get("identity") != self.identity:
            raise InputError(
                "a checkpoint of another training",
                file=self.path,
                seen=file.metadata.get("identity"),
                expected=self.identity,
                remedy="name another run directory, or remove the checkpoint",
            )
        arrays = {name: array.copy() for name, array in file.extra.items()}
        return OnlineState(**file.metadata["state"], best=file.sets.get(BEST), arrays=arrays)

    def save(self, state: OnlineState) -> None:
        """Writes the state; what was there before stays until the new one is whole."""
        plain = {name: value for name, value in vars(state).items() if name not in ("best", "arrays")}
        save_weights(
            self.path,
            {} if state.best is None else {BEST: state.best},
            extra={name: np.ascontiguousarray(array) for name, array in state.arrays.items()},
            metadata={"identity": self.identity, "state": plain},
        )
        self._saved = time.monotonic()

    def remove(self) -> None:
        """When what was learned is written elsewhere."""
        self.path.unlink(missing_ok=True)
