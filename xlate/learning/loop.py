"""The training loop: phases of epochs of chunks, checkpoints between chunks, validation between epochs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from xlate.array_types import Ints
from xlate.candidates.store import CandidateStore, epoch_order, spread
from xlate.errors import InputError
from xlate.kernels.learning.instances import prediction_errors
from xlate.learning.learner import InstanceLearner, Learner, LearnerOf, PhaseSettings
from xlate.learning.ranks import ONE, Ranks
from xlate.learning.run import STATE, Checkpoint
from xlate.machine import StopFlag, Stopped
from xlate.progress import tell, track
from xlate.report.run_directory import Reporter
from xlate.scoring.weights import Weights
from xlate.updates.rule import Arrays

CHUNK = 20_000
BEST = "best."
# The weights that an epoch began with, kept if the bound is measured.
BEGIN_DENSE, BEGIN_SPARSE = "begin_dense", "begin_sparse"


@dataclass
class TrainState:
    """How far training has got; a checkpoint holds this, weights and arrays.

    Attributes:
        phase, epoch, position: the next instance; `position` counts within the epoch.
        seen: the total number of instances seen.
        epoch_loss, epoch_curvature: summed over this epoch so far.
        best_error: the lowest P of the phase; stale: epochs since then.
        history: one entry per finished epoch.
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

    def end_epoch(self, error: float, entry: dict[str, Any]) -> None:
        """Counts an epoch that ended with this held-out error, and begins the next one.

        Without held-out instances the error is nan, and every epoch counts as better, so none is undone.
        """
        self.epoch, self.position, self.epoch_loss, self.epoch_curvature = self.epoch + 1, 0, 0.0, 0.0
        self.stale += 1
        if self.best_error is None or not error >= self.best_error:
            self.best_error, self.stale = error, 0
        self.history.append(entry)

    def next_phase(self) -> TrainState:
        """The beginning of the next phase."""
        return TrainState(phase=self.phase + 1, seen=self.seen, history=self.history)


# Called after an epoch with the weights of all sets and the state of training.
AfterEpoch = Callable[[Mapping[str, Weights], TrainState], None]


@dataclass
class Standing:
    """Weights by set, the best weights of the current phase by set, the state, and the memory of its learner."""

    weights: dict[str, Weights]
    best: dict[str, Weights] = field(default_factory=dict)
    state: TrainState = field(default_factory=TrainState)
    memory: Arrays = field(default_factory=dict)

    def save(self, checkpoint: Checkpoint) -> None:
        """Writes all of it to the checkpoint."""
        best = {BEST + name: weights for name, weights in self.best.items()}
        checkpoint.save(asdict(self.state), self.memory, {**self.weights, **best})

    @classmethod
    def load(cls, checkpoint: Checkpoint) -> Standing | None:
        """Reads what `save` wrote, None if nothing; raises what `Checkpoint.load` raises."""
        file = checkpoint.load()
        if file is None:
            return None
        weights = {name: one for name, one in file.sets.items() if not name.startswith(BEST)}
        best = {name.removeprefix(BEST): one for name, one in file.sets.items() if name.startswith(BEST)}
        return cls(weights, best, TrainState(**file.metadata[STATE]), file.extra)


def validate(
    store: CandidateStore, weights: Weights, settings: PhaseSettings, ranks: Ranks = ONE
) -> tuple[float, float]:
    """P (Tillmann & Zhang 2007, Eq. 13) and the mean loss of a true candidate; nan on an empty store.

    P is the share of instances of plain candidates with ±1 gains in which an alternative has the largest score. A tie
    counts as an error, so weights of zero have P = 1 if every instance has an alternative.

    Raises:
        InputError: the loss has no compiled slope.
    """
    nan = float("nan")
    found = _errors(store, ranks.share(np.arange(len(store))), weights, settings)
    errors, total, positives = ranks.total(np.array(found, np.float64)).tolist()
    return errors / len(store) if len(store) else nan, total / positives if positives else nan


def _errors(store: CandidateStore, rows_I: Ints, weights: Weights, settings: PhaseSettings) -> tuple[int, float, int]:
    loss = settings.loss_module()
    given = weights.dense_D, weights.sparse_F, settings.use_sparse, loss.numbers_array, loss.pointer
    return prediction_errors(rows_I, store.arrays.arrays(), *given)


def step_scale(settings: PhaseSettings, epoch: int) -> float:
    """The factor on the steps of an epoch."""
    return 1.0 / (1.0 + settings.decay * epoch)


@dataclass(frozen=True)
class Phase:
    """Settings and the instances they apply to; `heldout` may be empty."""

    settings: PhaseSettings
    store: CandidateStore
    heldout: CandidateStore


@dataclass
class Training:
    """One training from first phase to last, which may be interrupted and resumed.

    Args:
        phases: in the order in which they are trained.
        checkpoint: where it resumes from.
        reporter: of figures.
        chunk: instances between two checks of the clock and the stop flag.
        learner: makes a learner from settings, store, weights and the memory of a checkpoint.
        families: the ids of each family of sparse features, for histograms.
        after_epoch: inspects the weights of an epoch, and changes nothing.
        ranks: each learns from and validates on its own share of the instances. Several ranks stop and save only
            between epochs, where all have the same state.

    Chunks have a fixed number of instances and never depend on time, so an interrupted training ends with the same bits
    as an uninterrupted one.
    """

    phases: Sequence[Phase]
    checkpoint: Checkpoint
    reporter: Reporter = field(default_factory=Reporter)
    chunk: int = CHUNK
    learner: LearnerOf = InstanceLearner
    families: Mapping[str, slice] = field(default_factory=lambda: {"sparse": slice(None)})
    after_epoch: AfterEpoch | None = None
    ranks: Ranks = ONE

    def run(self, initial: Mapping[str, Weights], stop: StopFlag) -> Standing:
        """Trains until the last phase is done; the result has been saved.

        Raises:
            InputError: the checkpoint is unusable or belongs to another training, or weights became infinite.
            Stopped: `stop` was set before; what was learned is saved.
        """
        held = Standing.load(self.checkpoint) or Standing({name: one.copy() for name, one in initial.items()})
        while held.state.phase < len(self.phases) and not self.ranks.agree(stop):
            self._phase(held, self.phases[held.state.phase], stop)
        if self.ranks.leads:
            held.save(self.checkpoint)
        if held.state.phase < len(self.phases):
            raise Stopped
        return held

    def _phase(self, held: Standing, phase: Phase, stop: StopFlag) -> None:
        settings = phase.settings
        chosen = self.ranks.share(spread(len(phase.store), settings.subset), settings.block or 1)
        learner = self.learner(settings, phase.store, held.weights[settings.weights], held.memory)
        epochs = range(held.state.epoch, settings.epochs)
        for epoch in track(epochs, settings.name, total=settings.epochs):
            self._epoch(held, phase, learner, chosen, stop)
            if stop and held.state.epoch == epoch:
                return
            if settings.patience and held.state.stale >= settings.patience:
                break
            if self.ranks.size > 1:
                if self.ranks.agree(stop):
                    return
                if self.ranks.leads and self.checkpoint.due:
                    held.save(self.checkpoint)
        if settings.epochs:
            kept = held.best.get(settings.weights) or learner.end_epoch(step_scale(settings, held.state.epoch - 1))
            held.weights[settings.weights] = kept
        held.best, held.memory, held.state = {}, {}, held.state.next_phase()

    def _epoch(self, held: Standing, phase: Phase, learner: Learner, chosen: Ints, stop: StopFlag) -> None:
        settings, state = phase.settings, held.state
        weights = held.weights[settings.weights]
        order = chosen[epoch_order(len(chosen), settings.seed, state.epoch, name=settings.name, block=settings.block)]
        scale = step_scale(settings, state.epoch)
        if settings.check_bound and state.position == 0:
            held.memory.update({BEGIN_DENSE: weights.dense_D.copy(), BEGIN_SPARSE: weights.sparse_F.copy()})
        while state.position < len(order):
            start = time.perf_counter()
            part = order[state.position : state.position + self.chunk]
            loss, curvature = learner.learn(part, scale)
            rate = len(part) / (time.perf_counter() - start)
            if not (np.isfinite(loss) and weights.finite):
                raise InputError(
                    "weights are no longer finite",
                    f"loss {loss} in phase {settings.name} with eta {settings.eta:g} and {settings.eta_sparse:g}",
                    "finite weights",
                    "lower loss.eta and loss.binary.eta and train again; the last checkpoint is good",
                    file=self.checkpoint.path,
                )
            state.position, state.seen = state.position + len(part), state.seen + len(part)
            state.epoch_loss, state.epoch_curvature = state.epoch_loss + loss, state.epoch_curvature + curvature
            tell(loss=loss / len(part))
            eta = settings.eta_sparse if settings.train_sparse else settings.eta
            figures = {"train/loss": loss / len(part), "train/eta": eta * scale, "time/instances_per_s": rate}
            self.reporter.scalars(f"*/{settings.name}", figures, state.seen)
            if self.ranks.size > 1:
                continue
            if stop:
                return
            if self.checkpoint.due:
                held.save(self.checkpoint)
        self._end_of_epoch(held, phase, learner, order)

    def _end_of_epoch(self, held: Standing, phase: Phase, learner: Learner, order: Ints) -> None:
        settings, state = phase.settings, held.state
        scale = step_scale(settings, state.epoch)
        learner.mix(self.ranks, state.position, scale)
        weights = learner.end_epoch(scale)
        sums = np.array([state.epoch_loss, state.epoch_curvature, state.position])
        state.epoch_loss, state.epoch_curvature, position = self.ranks.total(sums).tolist()
        state.seen, state.position = state.seen + int(position) - state.position, int(position)
        error, loss = validate(phase.heldout, weights, settings, self.ranks)
        met = state.epoch_loss / max(1, state.position)
        entry = {
            "phase": settings.name,
            "epoch": state.epoch,
            "seen": state.seen,
            "loss": met,
            "P": error,
            "valid_loss": loss,
            "active": weights.active,
            **(self.bound(held, phase, order) if settings.check_bound else {}),
        }
        tell(loss=met, P=error)
        tag, phase_tag = f"weights/{settings.weights}", f"*/{settings.name}"
        norm_D = float(np.linalg.norm(weights.dense_D))
        figures = {"valid/P": error, "valid/loss": loss, "train/weight_norm_floats": norm_D}
        self.reporter.scalars(phase_tag, figures, state.seen)
        self.reporter.histogram(f"{tag}/floats", weights.dense_D, state.seen)
        if settings.use_sparse:
            norm_F = float(np.linalg.norm(weights.sparse_F))
            figures = {"train/weight_norm_sparse": norm_F, "train/active_features": weights.active}
            self.reporter.scalars(phase_tag, figures, state.seen)
            for family, ids in self.families.items():
                self.reporter.histogram(f"{tag}/{family}", weights.sparse_F[ids], state.seen)
        state.end_epoch(error, entry)
        if settings.patience and not state.stale:
            held.best = {settings.weights: weights.copy()}
        if self.after_epoch is not None:
            self.after_epoch({**held.weights, settings.weights: weights}, state)

    def bound(self, held: Standing, phase: Phase, order: Ints) -> dict[str, float]:
        """Both sides of Theorem A.1 of Tillmann & Zhang (2007) over the epoch that just ended, in nats per step.

        With m steps of fixed size η from w_0 and any w::

            1/m Σ L_i(w_{i-1})  ≤  1/m Σ L_i(w) + |w - w_0|² / (2ηm) + η/(2m) Σ |g_i|²

        g_i is the gradient of step i. The right side is taken at the weights that the epoch ends with. The infimum is
        lower or equal, so a left side above it would show an error in the update. Where weights have their own step
        sizes, `|·|²` is a sum over them with the step inside: `|w - w_0|²/η` → Σ_k (w_k - w_0k)²/η_k and
        `η|g|²` → Σ_k η_k g_k². Untrained weights are constants of the loss. The theorem is about fixed steps without
        shrinkage.
        """
        settings, state, memory = phase.settings, held.state, held.memory
        end, scale = held.weights[settings.weights], step_scale(settings, state.epoch)
        _, loss, steps = _errors(phase.store, order, end, settings)
        m = max(1, steps)
        moved_D = np.where(settings.trained, (end.dense_D - memory[BEGIN_DENSE]) ** 2, 0.0)
        distance = float(moved_D.sum()) / (settings.eta * scale) if any(settings.trained) else 0.0
        if settings.train_sparse:
            distance += float(((end.sparse_F - memory[BEGIN_SPARSE]) ** 2).sum()) / (settings.eta_sparse * scale)
        left = state.epoch_loss / m
        right = loss / m + distance / (2 * m) + state.epoch_curvature / (2 * m)
        figures = {"bound/online_loss": left, "bound/right_side": right}
        self.reporter.scalars(f"*/{settings.name}", figures, state.seen)
        return {"bound_left": left, "bound_right": right}
