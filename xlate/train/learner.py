"""Learners: whatever changes weights to lower a loss on a candidate store, a part of an epoch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.candidates.store import CandidateStore, will_need
from xlate.errors import InputError
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.instances import InstanceSteps, instance_pass
from xlate.kernels.learning.updates import Learned
from xlate.losses.loss import Loss
from xlate.scoring.weights import Weights
from xlate.train.state import PhaseSettings
from xlate.updates.rule import Arrays

RUNS_AHEAD = 2


class Learner(Protocol):
    """Changes a weight set in place; all it must remember beyond the weights is in `memory`, for the checkpoint."""

    @property
    def memory(self) -> Arrays:
        """Arrays by name, changed in place while learning."""

    def learn(self, part: Ints, scale: float) -> tuple[float, float]:
        """Trains on instances in this order with steps times `scale`; returns summed loss and curvature before each."""

    def end_epoch(self, scale: float) -> Weights:
        """Settles what was put off; returns the weights to measure and keep, averaged if so set."""


LearnerOf = Callable[[PhaseSettings, CandidateStore, Weights, Arrays], Learner]


@dataclass(frozen=True)
class InstanceLearner:
    """The compiled pass over plain candidates, one step a true candidate (TZ07 Table II).

    Raises:
        InputError: a loss that has no compiled slope.
        ValueError: the store's candidates are not plain, or it does not fit the weights.
    """

    settings: PhaseSettings
    store: CandidateStore
    weights: Weights
    memory: Arrays

    def __post_init__(self) -> None:
        """Checks sizes, because the kernel does not, and makes room for what is to be remembered."""
        check_fits(self.settings, self.store, self.weights)
        if self._loss.slope is None:
            raise InputError("a loss without a compiled slope", seen=self.settings.loss, expected="loss.batch above 0")
        for name, array in self.settings.rule.memory(len(self.weights.dense_D), len(self.weights.sparse_F)).items():
            self.memory.setdefault(name, array)

    def learn(self, part: Ints, scale: float) -> tuple[float, float]:
        """One step for each true candidate of the instances, in order.

        Instances shuffled in runs of neighbours are copied out of the store run by run: a store larger than memory is
        then read from disk in order, not page by page wherever the next instance happens to lie.
        """
        loss, curvature = 0.0, 0.0
        slope, state = self._loss.slope, np.array([self._seed(part)], dtype=np.uint64)
        assert slope is not None
        for candidates, order_I in self._runs(part):
            more, curved = instance_pass(order_I, candidates, self._learned, self._steps(scale), slope.pointer, state)
            loss, curvature = loss + more, curvature + curved
        return loss, curvature

    def _runs(self, part: Ints) -> Iterator[tuple[CandidateArrays, Ints]]:
        """Instances in memory or mapped, and which of them in which order."""
        candidates, block = plain_arrays(self.store), self.settings.block
        if block is None or self.settings.subset < 1 or not len(part):
            yield candidates, part
            return
        runs = np.split(part, np.flatnonzero(np.diff(part // block)) + 1)
        spans = [(int(run.min()), int(run.max()) + 1) for run in runs]
        for number, (run, span) in enumerate(zip(runs, spans, strict=True)):
            for following in spans[number + 1 : number + 1 + RUNS_AHEAD]:
                ask_for(candidates, *following)
            yield copied(candidates, *span), run - span[0]

    def end_epoch(self, scale: float) -> Weights:
        """The weights as they are, or the average of all they have been since the phase began, the start included."""
        dense_D, sparse_F = self.settings.rule.result(self._learned, *self._etas(scale))
        if dense_D is self.weights.dense_D:
            return self.weights
        return Weights(dense_D, sparse_F, self.weights.dense_names)

    @property
    def _loss(self) -> Loss:
        return self.settings.loss_module()

    @property
    def _learned(self) -> Learned:
        return self.settings.rule.learned(self.weights.dense_D, self.weights.sparse_F, self.memory)

    def _etas(self, scale: float) -> tuple[Floats, float]:
        s = self.settings
        return np.where(s.trained, s.eta * scale, 0.0), s.eta_sparse * scale if s.train_sparse else 0.0

    def _steps(self, scale: float) -> InstanceSteps:
        s = self.settings
        rule = s.rule.compiled(*self._etas(scale))
        return InstanceSteps(self._loss.numbers_array, True, rule, s.use_sparse, s.check_bound, self._loss.negatives)

    def _seed(self, part: Ints) -> int:
        """Of what is drawn in a part of an epoch; negatives are others in each."""
        first = int(part[0]) if len(part) and self._loss.negatives else 0
        return self.settings.seed + (first << 20)


def plain_arrays(store: CandidateStore) -> CandidateArrays:
    """A store's plain candidates as compiled loops take them.

    Raises:
        ValueError: candidates of several parts.
    """
    if not store.arrays.is_plain:
        raise ValueError("steps an instance need plain candidates, one part each")
    return store.arrays.arrays()


def ask_for(candidates: CandidateArrays, first: int, last: int) -> None:
    """Has the rows of instances `first` to `last` read from disk while others are trained on."""
    begin, end = int(candidates.candidate_offsets_I1[first]), int(candidates.candidate_offsets_I1[last])
    will_need(candidates.dense_CD, begin, end)
    will_need(candidates.gain_C, begin, end)
    will_need(candidates.part_id_offsets_P1, begin, end + 1)
    low, high = int(candidates.part_id_offsets_P1[begin]), int(candidates.part_id_offsets_P1[end])
    will_need(candidates.part_ids_N, low, high)
    if len(candidates.context_offsets_I1):
        context = candidates.context_offsets_I1[[first, last]]
        will_need(candidates.contexts_X, int(context[0]), int(context[1]))


def copied(candidates: CandidateArrays, first: int, last: int) -> CandidateArrays:
    """Instances `first` to `last`, the end excluded, of plain candidates, in arrays of their own."""
    begin, end = candidates.candidate_offsets_I1[first], candidates.candidate_offsets_I1[last]
    low, high = candidates.part_id_offsets_P1[begin], candidates.part_id_offsets_P1[end]
    contexts = candidates.context_offsets_I1[first : last + 1]
    if len(contexts):
        words_X = np.array(candidates.contexts_X[contexts[0] : contexts[-1]])
        candidates = candidates._replace(context_offsets_I1=contexts - contexts[0], contexts_X=words_X)
    return candidates._replace(
        candidate_offsets_I1=candidates.candidate_offsets_I1[first : last + 1] - begin,
        dense_CD=np.array(candidates.dense_CD[begin:end]),
        gain_C=np.array(candidates.gain_C[begin:end]),
        base_C=np.array(candidates.base_C[begin:end]),
        part_id_offsets_P1=candidates.part_id_offsets_P1[begin : end + 1] - low,
        part_ids_N=np.array(candidates.part_ids_N[low:high]),
        part_values_N=np.array(candidates.part_values_N[low:high]),
    )


def check_fits(settings: PhaseSettings, store: CandidateStore, weights: Weights) -> None:
    """Compares sizes.

    Raises:
        ValueError: a weight vector too short for the store, or, where ids are crossed with contexts, no power of two.
    """
    sizes = (len(weights.dense_D), len(settings.trained), len(weights.sparse_F))
    crossed = store.arrays.contexts_X is not None
    if sizes[:2] != (len(store.dense_names),) * 2 or (not crossed and sizes[2] < store.sparse_size):
        raise ValueError(
            f"dense weights, trained columns, sparse weights: {sizes}, expected "
            f"{len(store.dense_names)} of the first two and {store.sparse_size} of the last"
        )
    if crossed and (sizes[2] < 1 or sizes[2] & (sizes[2] - 1)):
        raise ValueError(f"{sizes[2]} sparse weights for crossed ids, expected a power of two")
