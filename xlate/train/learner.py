"""Learners: whatever changes weights to lower a loss on a candidate store, a part of an epoch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from xlate.candidates.readahead import will_need
from xlate.candidates.store import CandidateStore
from xlate.kernels.learning.online import MARGIN, SOFTMAX, Instances, Steps, online_pass
from xlate.kernels.learning.upkeep import Learned, Shrinkage, settle_all
from xlate.scoring.weights import Weights
from xlate.train.state import PhaseSettings

Arrays = dict[str, NDArray[Any]]
RUNS_AHEAD = 2


class Learner(Protocol):
    """Changes a weight set in place; all it must remember beyond the weights is in `memory`, for the checkpoint."""

    @property
    def memory(self) -> Arrays:
        """Arrays by name, changed in place while learning."""

    def learn(self, part: NDArray[np.int64], scale: float) -> tuple[float, float]:
        """Trains on instances in this order with steps times `scale`; returns summed loss and curvature before each."""

    def end_epoch(self, scale: float) -> Weights:
        """Settles what was put off; returns the weights to measure and keep, averaged if so set."""


LearnerOf = Callable[[PhaseSettings, CandidateStore, Weights, Arrays], Learner]


@dataclass(frozen=True)
class OnlineLearner:
    """The online kernel over plain binary candidates, one step a positive (TZ07 Table II).

    Raises:
        ValueError: the store's candidates are not plain, or it does not fit the weights.
    """

    settings: PhaseSettings
    store: CandidateStore
    weights: Weights
    memory: Arrays

    def __post_init__(self) -> None:
        """Checks sizes, because the kernel does not, and makes room for what is to be remembered."""
        check_fits(self.settings, self.store, self.weights)
        if self.settings.lazy and "clock" not in self.memory:
            features = len(self.weights.sparse_F)
            self.memory.update(
                dense_sum=np.zeros(len(self.weights.dense_D)),
                sparse_sum=np.zeros(features),
                touched=np.zeros(features, dtype=np.int64),
                clock=np.zeros(1, dtype=np.int64),
            )

    def learn(self, part: NDArray[np.int64], scale: float) -> tuple[float, float]:
        """One step for each positive of the instances, in order.

        Instances shuffled in runs of neighbours are copied out of the store run by run: a store larger than memory is
        then read from disk in order, not page by page wherever the next instance happens to lie.
        """
        loss, curvature = 0.0, 0.0
        for instances, order_I in self._runs(part):
            more, curved = online_pass(order_I, instances, self._learned, self._steps(scale))
            loss, curvature = loss + more, curvature + curved
        return loss, curvature

    def _runs(self, part: NDArray[np.int64]) -> Iterator[tuple[Instances, NDArray[np.int64]]]:
        """Instances in memory or mapped, and which of them in which order."""
        instances, block = instances_of(self.store), self.settings.block
        if block is None or self.settings.subset < 1 or not len(part):
            yield instances, part
            return
        runs = np.split(part, np.flatnonzero(np.diff(part // block)) + 1)
        spans = [(int(run.min()), int(run.max()) + 1) for run in runs]
        for number, (run, span) in enumerate(zip(runs, spans, strict=True)):
            for following in spans[number + 1 : number + 1 + RUNS_AHEAD]:
                ask_for(instances, *following)
            yield copied(instances, *span), run - span[0]

    def end_epoch(self, scale: float) -> Weights:
        """The weights as they are, or the average of all they have been since the phase began, the start included."""
        if not self.settings.lazy:
            return self.weights
        learned = self._learned
        settle_all(learned, self._steps(scale).shrinkage)
        if not self.settings.average:
            return self.weights
        steps = float(learned.clock_1[0]) + 1.0
        dense_D = (learned.dense_sum_D + learned.dense_D) / steps
        return Weights(dense_D, (learned.sparse_sum_F + learned.sparse_F) / steps, self.weights.dense_names)

    @property
    def _learned(self) -> Learned:
        dense_D, sparse_F = self.weights.dense_D, self.weights.sparse_F
        if not self.settings.lazy:
            nothing, clock = np.zeros(0), np.zeros(1, dtype=np.int64)
            return Learned(dense_D, sparse_F, nothing, nothing, np.zeros(0, dtype=np.int64), clock)
        m = self.memory
        return Learned(dense_D, sparse_F, m["dense_sum"], m["sparse_sum"], m["touched"], m["clock"])

    def _steps(self, scale: float) -> Steps:
        s = self.settings
        eta_sparse = s.eta_sparse * scale if s.train_sparse else 0.0
        return Steps(
            loss=SOFTMAX if s.margin is None else MARGIN,
            sink=s.sink,
            margin=s.margin or 0.0,
            eta_D=np.where(s.trained, s.eta * scale, 0.0),
            eta_sparse=eta_sparse,
            use_sparse=s.use_sparse,
            project=s.project,
            shrinkage=Shrinkage(eta_sparse * s.l1, 1.0 - eta_sparse * s.l2),
            lazy=s.lazy,
            curvature=s.check_bound,
        )


def instances_of(store: CandidateStore) -> Instances:
    """A store's plain candidates as kernels take them.

    Raises:
        ValueError: candidates of several parts, with values or with fixed scores.
    """
    arrays = store.arrays
    if not arrays.is_plain or arrays.part_values_N is not None or arrays.base_C is not None:
        raise ValueError("the online update needs plain binary candidates without fixed scores")
    return Instances(
        arrays.candidate_offsets_I1, arrays.dense_CD, arrays.gain_CG, arrays.part_id_offsets_P1, arrays.part_ids_N
    )


def ask_for(instances: Instances, first: int, last: int) -> None:
    """Has the rows of instances `first` to `last` read from disk while others are trained on."""
    begin, end = int(instances.candidate_offsets_I1[first]), int(instances.candidate_offsets_I1[last])
    will_need(instances.dense_CD, begin, end)
    will_need(instances.gain_CG, begin, end)
    will_need(instances.id_offsets_C1, begin, end + 1)
    low, high = int(instances.id_offsets_C1[begin]), int(instances.id_offsets_C1[end])
    will_need(instances.ids_N, low, high)


def copied(instances: Instances, first: int, last: int) -> Instances:
    """Instances `first` to `last`, the end excluded, in arrays of their own."""
    begin, end = instances.candidate_offsets_I1[first], instances.candidate_offsets_I1[last]
    low, high = instances.id_offsets_C1[begin], instances.id_offsets_C1[end]
    return Instances(
        instances.candidate_offsets_I1[first : last + 1] - begin,
        np.array(instances.dense_CD[begin:end]),
        np.array(instances.gain_CG[begin:end]),
        instances.id_offsets_C1[begin : end + 1] - low,
        np.array(instances.ids_N[low:high]),
    )


def check_fits(settings: PhaseSettings, store: CandidateStore, weights: Weights) -> None:
    """Compares sizes.

    Raises:
        ValueError: a weight vector too short for the store.
    """
    sizes = (len(weights.dense_D), len(settings.trained), len(weights.sparse_F))
    if sizes[:2] != (len(store.dense_names),) * 2 or sizes[2] < store.sparse_size:
        raise ValueError(
            f"float weights, trained columns, sparse weights: {sizes}, expected "
            f"{len(store.dense_names)} of the first two and {store.sparse_size} of the last"
        )
