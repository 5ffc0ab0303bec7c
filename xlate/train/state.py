"""What training must remember besides the weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from xlate.errors import InputError
from xlate.losses.loss import Loss, Needs, loss_of, losses
from xlate.updates.rule import UpdateRule


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
        patience: stop after so many epochs without a better P (0: never), and go back to the best weights.
        block: shuffle runs of so many instances together; None shuffles all.
        loss, loss_settings: its name and settings, as `loss_of` takes them.
        rule: how steps are made of slopes; what is measured and kept is what the rule gives.
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
    patience: int = 0
    seed: int = 1
    block: int | None = None
    loss: str = "local_softmax"
    loss_settings: tuple[tuple[str, float], ...] = ()
    rule: UpdateRule = field(default_factory=UpdateRule)
    check_bound: bool = False

    def loss_module(self) -> Loss:
        """The loss.

        Raises:
            InputError: there is no such loss, or none that instances with true candidates can be trained by.
        """
        loss = loss_of(self.loss, **dict(self.loss_settings))
        if loss.needs not in (Needs.TRUTH, Needs.GAINS):
            raise InputError(
                "a loss that instances with true candidates do not have",
                seen=f"{self.loss}, which needs {loss.needs.value}",
                expected=", ".join(n for n, k in losses().items() if k.needs in (Needs.TRUTH, Needs.GAINS)),
            )
        return loss


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
