"""What training must remember besides the weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class PhaseSettings:
    """One phase: which weights of which set are trained, on what share of the data, with what steps.

    Attributes:
        name: of the phase; part of what the random order depends on.
        weights: the weight set trained, `linked` or `neutral`.
        trained: which float columns are trained; the others keep their weights.
        train_sparse: whether the sparse weights are trained.
        use_sparse: whether they count in the scores.
        eta, eta_sparse: step sizes of the first epoch; decay: in epoch e they are eta / (1 + decay · e).
        subset: the share of the instances used, evenly spread.
        project: floats are costs, so keep their weights at or below 0.
        patience: stop after so many epochs without a better P (0: never), and go back to the best weights.
        block: shuffle runs of so many instances together; None shuffles all.
        margin: None for local softmax; a number for a step only where the best negative is less than that below a
            positive: 0 is the perceptron, 1 hinge.
        average: what is measured and kept is the average of the weights after every step of the phase.
        l1, l2: before each step sparse weights lose eta_sparse · l1 of their size, or that share l2 of themselves.
        check_bound: measure both sides of Theorem A.1 in every epoch.
    """

    name: str
    weights: str
    trained: tuple[bool, ...]
    train_sparse: bool
    use_sparse: bool
    epochs: int
    eta: float
    eta_sparse: float
    decay: float = 0.0
    subset: float = 1.0
    sink: float = -4.0
    project: bool = False
    patience: int = 0
    seed: int = 1
    block: int | None = None
    margin: float | None = None
    average: bool = False
    l1: float = 0.0
    l2: float = 0.0
    check_bound: bool = False

    @property
    def lazy(self) -> bool:
        """Whether steps concern weights that they do not look at."""
        return self.average or self.l1 > 0 or self.l2 > 0


@dataclass(frozen=True)
class TrainState:
    """Where training stands; with the weights, all a checkpoint holds.

    Attributes:
        phase, epoch, position: the next instance to see, `position` counted within the epoch.
        seen: instances seen in all.
        epoch_loss, epoch_curvature: summed over this epoch so far.
        best_error: lowest P of the phase; stale: epochs since.
        history: one entry a finished epoch.
    """

    phase: int = 0
    epoch: int = 0
    position: int = 0
    seen: int = 0
    epoch_loss: float = 0.0
    epoch_curvature: float = 0.0
    best_error: float | None = None
    stale: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)

    def next_phase(self) -> TrainState:
        """The beginning of the phase behind this one."""
        return TrainState(phase=self.phase + 1, seen=self.seen, history=self.history)

    def to_json(self) -> str:
        """As JSON text; floats keep all their digits."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> TrainState:
        """What `to_json` wrote."""
        return cls(**json.loads(text))
