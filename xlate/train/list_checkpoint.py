"""Where learning from lists stands, in one file: what a process that was stopped or killed goes on from."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import AnyArray
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.scoring.weights import load_weights, save_weights

Arrays = Mapping[str, AnyArray]
NOW, KEPT = "now.", "kept."


@dataclass(frozen=True)
class ListState:
    """After an epoch: the learner as it is and as it was after its best epoch, and the figures of every epoch."""

    now: Arrays
    kept: Arrays
    figures: list[dict[str, float]]


@dataclass
class ListCheckpoint:
    """The file, replaced whole.

    Attributes:
        path: of the file.
        identity: what it must carry to be taken up; see `lists_identity`.
        seconds: the least time between two writings.
    """

    path: Path
    identity: str
    seconds: float = 20.0
    _saved: float = field(default_factory=time.monotonic, init=False)

    def load(self) -> ListState | None:
        """The state, None where there is none of this learning.

        Raises:
            InputError: the file is damaged.
        """
        if not self.path.exists():
            return None
        file = load_weights(self.path)
        if file.metadata.get("identity") != self.identity:
            return None
        sides = [
            {name.removeprefix(side): array for name, array in file.extra.items() if name.startswith(side)}
            for side in (NOW, KEPT)
        ]
        return ListState(sides[0], sides[1], file.metadata["figures"])

    @property
    def due(self) -> bool:
        """Whether enough time has passed since the last writing."""
        return time.monotonic() - self._saved >= self.seconds

    def save(self, state: ListState) -> None:
        """Writes the state; what was there before stays until the new one is whole."""
        arrays = {NOW + name: np.ascontiguousarray(array) for name, array in state.now.items()}
        arrays |= {KEPT + name: np.ascontiguousarray(array) for name, array in state.kept.items()}
        save_weights(self.path, {}, extra=arrays, metadata={"identity": self.identity, "figures": state.figures})
        self._saved = time.monotonic()

    def remove(self) -> None:
        """When what was learned is written elsewhere."""
        self.path.unlink(missing_ok=True)


def lists_identity(lists: CandidateArrays, settings: Any, size: int, device: str = "cpu") -> str:
    """The SHA-256 of what learning depends on; ids of features count by their number."""
    digest = hashlib.sha256(repr((asdict(settings), size, device, len(lists.part_ids_N))).encode())
    for array in (lists.candidate_offsets_I1, lists.base_C, lists.gain_C, lists.dense_CD):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
