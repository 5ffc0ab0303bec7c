"""A small training on random stores."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Ints
from xlate.arrays.ragged import offsets_of
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


def random_instances(random: np.random.Generator, instances: int, candidates: int, sparse: int) -> CandidateBatch:
    """One positive and some negatives an instance, three floats and two ids a candidate."""
    count = instances * candidates
    return CandidateBatch(
        candidate_offsets_I1=np.arange(instances + 1, dtype=np.int64) * candidates,
        dense_CD=random.normal(size=(count, len(NAMES))).astype(np.float32),
        gain_CG=np.where(np.arange(count) % candidates == 0, 1, -1).astype(np.float32)[:, None],
        part_id_offsets_P1=np.arange(count + 1, dtype=np.int64) * 2,
        part_ids_N=random.integers(0, sparse, 2 * count).astype(np.int32),
    ).validate()


def random_contexts(random: np.random.Generator, sizes_I: Ints, contexts_I: Ints, floats: int) -> CandidateBatch:
    """Instances with contexts, some of them true; candidates have fixed scores and up to four ids."""
    count = int(sizes_I.sum())
    ids_C = random.integers(0, 5, count)
    return CandidateBatch(
        candidate_offsets_I1=offsets_of(sizes_I),
        dense_CD=random.normal(size=(count, floats)).astype(np.float32),
        gain_CG=np.where(random.random((count, 1)) < 0.2, 1.0, -1.0).astype(np.float32),
        part_id_offsets_P1=offsets_of(ids_C),
        part_ids_N=random.integers(0, 12, int(ids_C.sum())).astype(np.int32),
        base_C=random.normal(size=count).astype(np.float32),
        context_offsets_I1=offsets_of(contexts_I),
        contexts_X=random.integers(0, 60, int(contexts_I.sum())).astype(np.int32),
    ).validate()


def write_store(directory: Path, instances: int, seed: int) -> CandidateStore:
    """Random instances of one positive and three negatives; hidden weights make the positive likelier."""
    random = np.random.default_rng(seed)
    batch = random_instances(random, instances, CANDIDATES, SPARSE)
    is_first_C = batch.gain_CG[:, 0] > 0
    batch.dense_CD[is_first_C, 0] += 0.7
    batch.part_ids_N[::2][is_first_C & (random.random(batch.candidates) < 0.3)] = 3
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
