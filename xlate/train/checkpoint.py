"""The checkpoint of a training: named weights, named arrays and a dictionary in one file, replaced whole."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import AnyArray
from xlate.errors import InputError
from xlate.scoring.weights import Weights, WeightsFile, load_weights, save_weights

Arrays = Mapping[str, AnyArray]
TRAINING, STATE = "training", "state"


@dataclass
class Checkpoint:
    """What a process that was stopped or killed goes on from.

    Attributes:
        path: of the file.
        identity: what the file must carry to be taken up.
        seconds: the least time between two writings, for those who ask whether one is `due`.
        refuses: a file of another training is an error; else it counts as none.
    """

    path: Path
    identity: str
    seconds: float = 20.0
    refuses: bool = True
    _saved: float = field(default_factory=time.monotonic, init=False)

    def load(self) -> WeightsFile | None:
        """What `save` wrote: weights in `sets`, arrays in `extra`, the dictionary is `metadata["state"]`; None if none.

        Raises:
            InputError: the file is damaged, or of another training and not to be passed over.
        """
        if not self.path.exists():
            return None
        file = load_weights(self.path)
        seen = file.metadata.get(TRAINING)
        if seen == self.identity:
            return replace(file, extra={name: array.copy() for name, array in file.extra.items()})
        if not self.refuses:
            return None
        raise InputError(
            "a checkpoint of another training",
            file=self.path,
            seen=seen,
            expected=self.identity,
            remedy="name another run directory, or remove the checkpoint",
        )

    @property
    def due(self) -> bool:
        """Whether enough time has passed since the last writing."""
        return time.monotonic() - self._saved >= self.seconds

    def save(self, state: Mapping[str, Any], arrays: Arrays, sets: Mapping[str, Weights] | None = None) -> None:
        """Writes the file; what was there before stays until the new one is whole."""
        extra = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_weights(self.path, sets or {}, extra=extra, metadata={TRAINING: self.identity, STATE: dict(state)})
        self._saved = time.monotonic()

    def remove(self) -> None:
        """When what was learned is written elsewhere."""
        self.path.unlink(missing_ok=True)
