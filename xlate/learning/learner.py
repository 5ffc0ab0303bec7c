"""Learners change weights to lower a loss on a candidate store, one part of an epoch at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch

from xlate.array_types import Floats, Ints
from xlate.arrays.ranges import pieces
from xlate.candidates.store import CandidateStore, will_need
from xlate.errors import refuse_if
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.instances import instance_pass
from xlate.kernels.learning.slopes import Steps
from xlate.learning.ranks import Ranks
from xlate.losses.loss import Loss, Needs, loss_of, slopes
from xlate.scoring.linear import Resident
from xlate.scoring.weights import Weights
from xlate.updates.rule import Arrays, TensorSteps, UpdateRule

RUNS_AHEAD = 2


@dataclass(frozen=True)
class PhaseSettings:
    """One phase: which weights of which set are trained, on what share of the data, with what steps.

    Attributes:
        name: of the phase; the random order depends on it too.
        weights: the weight set trained, `linked` or `neutral`.
        trained: which float columns are trained; the others keep their weights.
        train_sparse: whether the sparse weights are trained.
        use_sparse: whether the sparse weights count in the scores.
        eta, eta_sparse: step sizes of the first epoch; decay: in epoch e they are eta / (1 + decay · e).
        subset: the share of the instances used, evenly spread.
        patience: stop after this many epochs without a better P (0: never), and go back to the best weights.
        block: shuffle within and among runs of this many instances; None shuffles all.
        loss, loss_settings: its name and settings, as `loss_of` takes them.
        rule: how slopes become steps; the weights that it gives are measured and kept.
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
            InputError: there is no such loss, or it cannot be trained on instances with true candidates.
        """
        loss = loss_of(self.loss, **dict(self.loss_settings))
        refuse_if(
            loss.needs not in (Needs.TRUTH, Needs.GAINS),
            "a loss that does not suit instances with true candidates",
            f"{self.loss}, which needs {loss.needs.value}",
            "a loss of truth or of gains",
        )
        return loss


class Learner(ABC):
    """Changes a weight set in place.

    Args:
        settings: of the phase.
        store: its instances.
        weights: the weight set.
        memory: arrays by name, changed in place: all that the checkpoint needs beyond the weights.

    Raises:
        ValueError: a weight vector is too short for the store, or its size is no power of two though ids are crossed
            with contexts.
    """

    def __init__(self, settings: PhaseSettings, store: CandidateStore, weights: Weights, memory: Arrays) -> None:
        sizes = (len(weights.dense_D), len(settings.trained), len(weights.sparse_F))
        crossed = store.arrays.contexts_X is not None
        if sizes[:2] != (len(store.dense_names),) * 2 or (not crossed and sizes[2] < store.sparse_size):
            raise ValueError(
                f"dense weights, trained columns, sparse weights: {sizes}, expected "
                f"{len(store.dense_names)} of the first two and {store.sparse_size} of the last"
            )
        if crossed and (sizes[2] < 1 or sizes[2] & (sizes[2] - 1)):
            raise ValueError(f"{sizes[2]} sparse weights for crossed ids, expected a power of two")
        self.settings, self.store, self.weights, self.memory = settings, store, weights, memory
        self.loss = settings.loss_module()
        self.learned = settings.rule.learned(weights.dense_D, weights.sparse_F, memory)

    @abstractmethod
    def learn(self, part: Ints, scale: float) -> tuple[float, float]:
        """Trains on instances in this order, steps times `scale`; sums loss and curvature before each step."""

    def end_epoch(self, scale: float) -> Weights:
        """Applies delayed updates; returns the current weights, or, if set so, their average since the phase began."""
        dense_D, sparse_F = self.settings.rule.result(self.learned, *self.etas(scale))
        if dense_D is self.weights.dense_D:
            return self.weights
        return Weights(dense_D, sparse_F, self.weights.dense_names)

    def mix(self, ranks: Ranks, instances: int, scale: float) -> None:
        """Takes the mean of what the ranks learned in an epoch, each from a number of instances."""
        if ranks.size > 1:
            # Applies delayed updates first.
            self.end_epoch(scale)
            ranks.mix(self.learned._asdict(), instances)

    def etas(self, scale: float) -> tuple[Floats, float]:
        """The step sizes of dense weights, (D,), and of sparse ones."""
        s = self.settings
        return np.where(s.trained, s.eta * scale, 0.0), s.eta_sparse * scale if s.train_sparse else 0.0


LearnerOf = Callable[[PhaseSettings, CandidateStore, Weights, Arrays], Learner]


class InstanceLearner(Learner):
    """The compiled pass over plain candidates, one part each: one step per true candidate (TZ07 Table II).

    Raises:
        InputError: the loss has no compiled slope.
        ValueError: the store's candidates are not plain, or it does not fit the weights.
    """

    def __init__(self, settings: PhaseSettings, store: CandidateStore, weights: Weights, memory: Arrays) -> None:
        super().__init__(settings, store, weights, memory)
        if not store.arrays.is_plain:
            raise ValueError("steps per instance need plain candidates, one part each")

    def learn(self, part: Ints, scale: float) -> tuple[float, float]:
        """One step for each true candidate of the instances, in order.

        Instances shuffled in runs of neighbours are copied out of the store run by run, so a store larger than memory
        is read from disk in sequence, not in random pages.
        """
        s, negatives = self.settings, self.loss.negatives
        # Each part of an epoch draws different negatives.
        first = int(part[0]) if len(part) and negatives else 0
        state = np.array([s.seed + (first << 20)], np.uint64)
        rule = s.rule.compiled(*self.etas(scale))
        steps = Steps(self.loss.numbers_array, rule, s.use_sparse, s.check_bound, negatives)
        loss, curvature = 0.0, 0.0
        for candidates, order_I in self._runs(part):
            more, curved = instance_pass(order_I, candidates, self.learned, steps, self.loss.pointer, state)
            loss, curvature = loss + more, curvature + curved
        return loss, curvature

    def _runs(self, part: Ints) -> Iterator[tuple[CandidateArrays, Ints]]:
        """Instances, in memory or mapped, and the order in which to take them."""
        candidates, block = self.store.arrays.arrays(), self.settings.block
        if block is None or self.settings.subset < 1 or not len(part):
            yield candidates, part
            return
        runs = np.split(part, np.flatnonzero(np.diff(part // block)) + 1)
        spans = [(int(run.min()), int(run.max()) + 1) for run in runs]
        for number, (run, span) in enumerate(zip(runs, spans, strict=True)):
            for following in spans[number + 1 : number + 1 + RUNS_AHEAD]:
                # Read ahead from disk while training.
                for name, rows in _rows(candidates, *following).items():
                    will_need(getattr(candidates, name), *rows)
            copied = {}
            for name, (low, high) in _rows(candidates, *span).items():
                array = getattr(candidates, name)[low:high]
                copied[name] = array - array[0] if "offsets" in name else np.array(array)
            yield candidates._replace(**copied), run - span[0]


class DeviceLearner(Learner):
    """One step down the summed loss of every `batch` instances (the last of a part may be smaller).

    Every true candidate of an instance is one term of the loss, as in the compiled pass. The weights live on the
    device in float64 and come back after every part.

    Raises:
        InputError: the bound of Theorem A.1 is requested, which is about one step per instance.
        ValueError: the store does not fit the weights.
    """

    def __init__(
        self,
        settings: PhaseSettings,
        store: CandidateStore,
        weights: Weights,
        memory: Arrays,
        device: torch.device,
        batch: int,
    ) -> None:
        super().__init__(settings, store, weights, memory)
        refuse_if(
            settings.check_bound,
            "the bound of Theorem A.1 needs one step per instance",
            f"mini-batches of {batch}",
            "loss.batch=0 for the compiled pass",
        )
        self.device, self.batch = device, batch
        self.data = Resident.load(store.arrays.arrays(), device)

    def learn(self, part: Ints, scale: float) -> tuple[float, float]:
        """Steps over the instances in order; returns the summed loss before each step, and 0."""
        device, (dense_etas_D, eta) = self.device, self.etas(scale)
        eta_D, order = torch.as_tensor(dense_etas_D, device=device), torch.as_tensor(part, device=device)
        steps = TensorSteps(self.settings.rule, self.learned, device)
        total = torch.zeros((), dtype=torch.float64, device=device)
        for at in pieces(len(part), self.batch):
            chosen = self.data.gather(order[at]).crossed(len(steps.sparse_F))
            steps.begin(eta)
            scores_C = chosen.scores(steps.dense_D, steps.sparse_F if self.settings.use_sparse else None)
            loss, slope_C = slopes(self.loss, chosen, scores_C, truth=True)
            total += loss
            steps.step(eta_D, eta, *chosen.gradient(slope_C))
        steps.store(self.learned)
        return float(total), 0.0


def _rows(candidates: CandidateArrays, first: int, last: int) -> dict[str, tuple[int, int]]:
    """The rows of plain instances `first` to `last`, the end excluded, in each array."""
    begin, end = int(candidates.candidate_offsets_I1[first]), int(candidates.candidate_offsets_I1[last])
    ids = int(candidates.part_id_offsets_P1[begin]), int(candidates.part_id_offsets_P1[end])
    rows = {"candidate_offsets_I1": (first, last + 1), "part_id_offsets_P1": (begin, end + 1)}
    rows |= dict.fromkeys(("dense_CD", "gain_C", "base_C"), (begin, end))
    rows |= dict.fromkeys(("part_ids_N", "part_values_N"), ids)
    context = candidates.context_offsets_I1
    if len(context):
        rows |= {"context_offsets_I1": (first, last + 1), "contexts_X": (int(context[first]), int(context[last]))}
    return rows
