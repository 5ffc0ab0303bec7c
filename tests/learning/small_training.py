"""A small training on random stores."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.learning.learner import PhaseSettings
from xlate.learning.loop import Phase, Standing, Training
from xlate.learning.run import Checkpoint
from xlate.report.run_directory import Reporter
from xlate.scoring.weights import Weights
from xlate.updates.rule import UpdateRule

NAMES, SPARSE, CANDIDATES = ("a", "b", "c"), 50, 4
IDENTITY = "random instances, seed 7"


def write_store(directory: Path, instances: int, seed: int) -> CandidateStore:
    """Random instances of one positive and three negatives; hidden weights make the positive likelier."""
    random = np.random.default_rng(seed)
    count = instances * CANDIDATES
    dense_CD = random.normal(size=(count, len(NAMES))).astype(np.float32)
    ids_C2 = random.integers(0, SPARSE, (count, 2)).astype(np.int32)
    is_first_C = np.arange(count) % CANDIDATES == 0
    dense_CD[is_first_C, 0] += 0.7
    ids_C2[is_first_C & (random.random(count) < 0.3), 0] = 3
    batch = CandidateBatch(
        candidate_offsets_I1=np.arange(instances + 1, dtype=np.int64) * CANDIDATES,
        dense_CD=dense_CD,
        gain_CG=np.where(is_first_C, 1, -1).astype(np.float32)[:, None],
        part_id_offsets_P1=np.arange(count + 1, dtype=np.int64) * 2,
        part_ids_N=ids_C2.ravel(),
    )
    with StoreWriter(directory, NAMES, SPARSE) as writer:
        writer.append(batch)
    return CandidateStore.open(directory)


def write_stores(folder: Path, instances: int = 230, heldout: int = 60) -> None:
    """The two stores of a small training."""
    write_store(folder / "train", instances, 7)
    write_store(folder / "heldout", heldout, 8)


def settings(**changes: Any) -> PhaseSettings:
    """A phase that trains everything, with some settings changed."""
    given: dict[str, Any] = {
        "name": "all",
        "weights": "linked",
        "trained": (True, True, True),
        "train_sparse": True,
        "use_sparse": True,
        "epochs": 4,
        "eta": 0.02,
        "eta_sparse": 0.05,
    }
    return PhaseSettings(**{**given, **changes})


TWO_PHASES = (
    settings(name="floats", train_sparse=False, use_sparse=False, subset=0.5, epochs=3),
    settings(
        name="binary",
        trained=(False, True, False),
        decay=0.3,
        patience=2,
        epochs=6,
        block=16,
        rule=UpdateRule(average=True, l1=0.01),
    ),
)


def training(
    folder: Path,
    phases: tuple[PhaseSettings, ...] = TWO_PHASES,
    *,
    reporter: Any = None,
    chunk: int = 25,
    checkpoint_seconds: float = 20.0,
    checkpoint: str = "latest.safetensors",
) -> Training:
    """A training on the stores of `write_stores`, with its checkpoint beside them."""
    store, heldout = CandidateStore.open(folder / "train"), CandidateStore.open(folder / "heldout")
    return Training(
        phases=[Phase(phase, store, heldout) for phase in phases],
        checkpoint=Checkpoint(folder / checkpoint, IDENTITY, checkpoint_seconds),
        reporter=reporter or Reporter(),
        chunk=chunk,
    )


def initial() -> dict[str, Weights]:
    """Zero weights of two sets, the second never trained."""
    return {"linked": Weights.zeros(NAMES, SPARSE), "neutral": Weights.zeros(NAMES, 0)}


def digest(held: Standing) -> str:
    """SHA-256 of all weights and the state."""
    sha = hashlib.sha256(repr(held.state).encode())
    for name, weights in sorted(held.weights.items()):
        sha.update(name.encode() + weights.dense_D.tobytes() + weights.sparse_F.tobytes())
    return sha.hexdigest()


class OnChunk(Reporter):
    """Calls a function with the number of every chunk, counted from 1, or of every figure with another tag."""

    def __init__(self, call: Callable[[int], object], tag: str = "train/loss") -> None:
        self.call = call
        self.tag = tag
        self.chunks = 0

    def scalar(self, tag: str, value: float, step: int) -> None:
        """One of the figures of a chunk is its loss."""
        if tag.startswith(self.tag):
            self.chunks += 1
            self.call(self.chunks)
