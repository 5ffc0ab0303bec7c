"""The training loop: phases of epochs of chunks, checkpoints between chunks, validation between epochs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from xlate.array_types import Ints
from xlate.candidates.store import CandidateStore, epoch_order, spread
from xlate.errors import InputError
from xlate.progress import tell, track
from xlate.scoring.weights import Weights
from xlate.train import tags
from xlate.train.bound import measure_bound
from xlate.train.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from xlate.train.learner import InstanceLearner, Learner, LearnerOf
from xlate.train.reporter import NullReporter, Reporter
from xlate.train.signals import StopFlag
from xlate.train.state import PhaseSettings, TrainState
from xlate.train.validation import Validation, validate

CHUNK = 20_000
# Is given the weights of all sets, and the state of training, after an epoch.
AfterEpoch = Callable[[Mapping[str, Weights], TrainState], None]


@dataclass(frozen=True)
class Phase:
    """Settings with the instances they are for; `heldout` may be empty."""

    settings: PhaseSettings
    store: CandidateStore
    heldout: CandidateStore


@dataclass
class Training:
    """One training from first phase to last, which may be interrupted and taken up again.

    Args:
        phases: in the order in which they are trained.
        checkpoint: the file.
        identity: what a checkpoint must carry to be taken up.
        reporter: of figures.
        checkpoint_seconds: the time between two checkpoints.
        chunk: instances between two looks at the clock and the stop flag.
        learner: what makes a learner of settings, store, weights and the memory of a checkpoint.
        families: the ids of each family of sparse features, for histograms.
        after_epoch: looks at the weights of an epoch, and changes nothing.

    Chunks hold a fixed number of instances and never depend on time, so a training that was interrupted anywhere ends
    with the same bits as one that was not.
    """

    phases: Sequence[Phase]
    checkpoint: Path
    identity: str
    reporter: Reporter = field(default_factory=NullReporter)
    checkpoint_seconds: float = 20.0
    chunk: int = CHUNK
    learner: LearnerOf = InstanceLearner
    families: Mapping[str, slice] = field(default_factory=lambda: {"sparse": slice(None)})
    after_epoch: AfterEpoch | None = None
    _saved: float = field(default=0.0, init=False)

    def run(self, initial: Mapping[str, Weights], stop: StopFlag) -> Checkpoint:
        """Trains until the last phase is done or `stop` is set; what is returned was saved.

        Raises:
            InputError: the checkpoint is unusable or of another training, or weights became infinite.
        """
        held = load_checkpoint(self.checkpoint, self.identity)
        if held is None:
            held = Checkpoint({name: weights.copy() for name, weights in initial.items()}, {}, TrainState())
        self._saved = time.monotonic()
        while held.state.phase < len(self.phases) and not stop:
            held = self._phase(held, self.phases[held.state.phase], stop)
        save_checkpoint(self.checkpoint, held, self.identity)
        return held

    def finished(self, held: Checkpoint) -> bool:
        """Whether every phase is done."""
        return held.state.phase >= len(self.phases)

    def _phase(self, held: Checkpoint, phase: Phase, stop: StopFlag) -> Checkpoint:
        settings = phase.settings
        chosen = spread(len(phase.store), settings.subset)
        learner = self.learner(settings, phase.store, held.weights[settings.weights], held.memory)
        epochs = range(held.state.epoch, settings.epochs)
        for epoch in track(epochs, settings.name, total=settings.epochs):
            held = self._epoch(held, phase, learner, chosen, stop)
            if stop and held.state.epoch == epoch:
                return held
            if settings.patience and held.state.stale >= settings.patience:
                break
        if settings.epochs:
            kept = held.best.get(settings.weights) or learner.end_epoch(_scale(settings, held.state.epoch - 1))
            held = replace(held, weights={**held.weights, settings.weights: kept})
        return replace(held, best={}, memory={}, state=held.state.next_phase())

    def _epoch(self, held: Checkpoint, phase: Phase, learner: Learner, chosen: Ints, stop: StopFlag) -> Checkpoint:
        settings, state = phase.settings, held.state
        weights = held.weights[settings.weights]
        order = chosen[epoch_order(len(chosen), settings.seed, state.epoch, name=settings.name, block=settings.block)]
        scale = _scale(settings, state.epoch)
        if settings.check_bound and state.position == 0:
            held.memory.update(begin_dense=weights.dense_D.copy(), begin_sparse=weights.sparse_F.copy())
        while state.position < len(order):
            start = time.perf_counter()
            part = order[state.position : state.position + self.chunk]
            loss, curvature = learner.learn(part, scale)
            self._check(weights, loss, settings)
            state = replace(
                state,
                position=state.position + len(part),
                seen=state.seen + len(part),
                epoch_loss=state.epoch_loss + loss,
                epoch_curvature=state.epoch_curvature + curvature,
            )
            tell(loss=loss / len(part))
            self._report_chunk(settings, state, loss / len(part), len(part) / (time.perf_counter() - start), scale)
            held = replace(held, state=state)
            if stop:
                return held
            self._save_when_due(held)
        return self._end_of_epoch(held, phase, learner, order, scale)

    def _end_of_epoch(self, held: Checkpoint, phase: Phase, learner: Learner, order: Ints, scale: float) -> Checkpoint:
        settings, state = phase.settings, held.state
        weights = learner.end_epoch(scale)
        measured = validate(phase.heldout, weights, settings.loss_module(), use_sparse=settings.use_sparse)
        # Without held-out instances P is nan: every epoch then counts as better, so that none is undone.
        better = state.best_error is None or not measured.error >= state.best_error
        entry = {
            "phase": settings.name,
            "epoch": state.epoch,
            "seen": state.seen,
            "loss": state.epoch_loss / max(1, state.position),
            "P": measured.error,
            "valid_loss": measured.loss,
            "active": weights.active,
            **self._bound(held, phase, order, scale),
        }
        tell(loss=state.epoch_loss / max(1, state.position), P=measured.error)
        self._report_epoch(settings, weights, measured, state.seen)
        if settings.patience and better:
            held = replace(held, best={settings.weights: weights.copy()})
        state = replace(
            state,
            epoch=state.epoch + 1,
            position=0,
            epoch_loss=0.0,
            epoch_curvature=0.0,
            best_error=measured.error if better else state.best_error,
            stale=0 if better else state.stale + 1,
            history=[*state.history, entry],
        )
        if self.after_epoch is not None:
            self.after_epoch({**held.weights, settings.weights: weights}, state)
        return replace(held, state=state)

    def _bound(self, held: Checkpoint, phase: Phase, order: Ints, scale: float) -> dict[str, float]:
        """Both sides of Theorem A.1 over the epoch that just ended, when they are asked for."""
        settings, state = phase.settings, held.state
        if not settings.check_bound:
            return {}
        end = held.weights[settings.weights]
        begin = replace(end, dense_D=held.memory["begin_dense"], sparse_F=held.memory["begin_sparse"])
        sums = state.epoch_loss, state.epoch_curvature
        bound = measure_bound(settings, phase.store, order, begin, end, *sums, scale)
        self.reporter.scalar(f"{tags.BOUND_LEFT}/{settings.name}", bound.online_loss, state.seen)
        self.reporter.scalar(f"{tags.BOUND_RIGHT}/{settings.name}", bound.right_side, state.seen)
        return {"bound_left": bound.online_loss, "bound_right": bound.right_side}

    def _check(self, weights: Weights, loss: float, settings: PhaseSettings) -> None:
        if not (np.isfinite(loss) and weights.finite):
            raise InputError(
                "weights are no longer finite",
                file=self.checkpoint,
                seen=f"loss {loss} in phase {settings.name} with eta {settings.eta:g} and {settings.eta_sparse:g}",
                expected="finite weights",
                remedy="lower loss.eta and loss.binary.eta and train again; the last checkpoint is good",
            )

    def _save_when_due(self, held: Checkpoint) -> None:
        if time.monotonic() - self._saved >= self.checkpoint_seconds:
            save_checkpoint(self.checkpoint, held, self.identity)
            self._saved = time.monotonic()

    def _report_chunk(self, settings: PhaseSettings, state: TrainState, loss: float, rate: float, scale: float) -> None:
        self.reporter.scalar(f"{tags.LOSS}/{settings.name}", loss, state.seen)
        eta = settings.eta_sparse if settings.train_sparse else settings.eta
        self.reporter.scalar(f"{tags.ETA}/{settings.name}", eta * scale, state.seen)
        self.reporter.scalar(f"{tags.RATE}/{settings.name}", rate, state.seen)

    def _report_epoch(self, settings: PhaseSettings, weights: Weights, measured: Validation, step: int) -> None:
        name = settings.name
        self.reporter.scalar(f"{tags.VALID_ERROR}/{name}", measured.error, step)
        self.reporter.scalar(f"{tags.VALID_LOSS}/{name}", measured.loss, step)
        self.reporter.scalar(f"{tags.DENSE_NORM}/{name}", float(np.linalg.norm(weights.dense_D)), step)
        self.reporter.histogram(f"{tags.WEIGHTS}{settings.weights}/floats", weights.dense_D, step)
        if settings.use_sparse:
            self.reporter.scalar(f"{tags.SPARSE_NORM}/{name}", float(np.linalg.norm(weights.sparse_F)), step)
            self.reporter.scalar(f"{tags.ACTIVE}/{name}", weights.active, step)
            for family, ids in self.families.items():
                self.reporter.histogram(f"{tags.WEIGHTS}{settings.weights}/{family}", weights.sparse_F[ids], step)


def _scale(settings: PhaseSettings, epoch: int) -> float:
    """What the steps of an epoch are multiplied with."""
    return 1.0 / (1.0 + settings.decay * epoch)
