"""Sparse weights from n-best lists by stochastic steps, list by list (Auli, Galley & Gao 2014, section 5 and Figure 2).

With scores s = base + φ·u and gains g of the candidates of a list, γ and margins as given:

    expected_bleu   -Σ p g,  p ∝ exp γ s             whose ascent is φ + μ γ p (g - xBLEU) u   (Eq. 8)
    cll             ln Σ exp γ s - γ s(e*)           conditional likelihood of the best gain e* (section 5.2)
    softmax_margin  the same with margin · (g(e*) - g(e)) added to each score                  (Gimpel & Smith 2010)
    hinge           max (γ s + margin · cost) - γ s(e*)
    pro             ln(1 + exp(-γ (s - s'))) over drawn pairs with g > g'                       (Hopkins & May 2011)

The sign in line 14 of the paper's Figure 2 goes downhill. Penalties touch the weights of a step only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from xlate.candidates.batch import RaggedBatch
from xlate.errors import InputError
from xlate.kernels.learning.part_lists import (
    CONDITIONAL,
    EXPECTED_GAIN,
    HINGE,
    PAIRWISE,
    SOFTMAX_MARGIN,
    ListSpace,
    ListSteps,
    PartLists,
    SparseWeights,
    list_epoch,
    list_losses,
    list_space,
)
from xlate.metrics.bleu import bleu_scores
from xlate.train.list_checkpoint import Arrays, ListCheckpoint, ListState

LOSSES = {
    "expected_bleu": EXPECTED_GAIN,
    "cll": CONDITIONAL,
    "softmax_margin": SOFTMAX_MARGIN,
    "hinge": HINGE,
    "pro": PAIRWISE,
}


@dataclass(frozen=True)
class ListSettings:
    """How weights are learned.

    Attributes:
        loss: one of `LOSSES`.
        gamma: scale of the scores.
        margin: what a unit of gain (sentence BLEU from 0 to 1) is worth in softmax-margin and hinge.
        rate: the step; with `adagrad`, divided by the root of the sum of squared gradients of each weight.
        dense_rate: the same for float weights, when they are learned too.
        l1, l2: penalties a list, on weights that a step moves.
        batch: lists a step; their gradients are averaged.
        epochs: the most passes.
        tolerance: stops when the held-out loss changes by a smaller share.
        pairs, least_difference: PRO's pairs of a list, and the least difference of gains.
        seed: of the order of lists and of pairs.
    """

    loss: str = "expected_bleu"
    gamma: float = 1.0
    margin: float = 1.0
    rate: float = 0.1
    dense_rate: float = 0.001
    adagrad: bool = False
    l1: float = 0.0
    l2: float = 0.0
    batch: int = 1
    epochs: int = 50
    tolerance: float = 0.0003
    pairs: int = 20
    least_difference: float = 0.05
    seed: int = 1

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        if self.loss not in LOSSES:
            raise InputError("no such loss over lists", seen=self.loss, expected=", ".join(LOSSES))
        if min(self.gamma, self.rate, self.dense_rate) <= 0 or min(self.l1, self.l2, self.margin, self.tolerance) < 0:
            raise InputError("settings of the steps", seen=self, expected="γ and rate above 0, none below 0")
        if min(self.batch, self.epochs, self.pairs) < 1:
            raise InputError("settings of the steps", seen=self, expected="batch, epochs and pairs of 1 or more")


@dataclass(frozen=True)
class EpochFigures:
    """After an epoch: the mean loss met in training and that of the held-out lists, their BLEU, weights in use."""

    epoch: int
    train_loss: float
    heldout_loss: float
    heldout_bleu: float
    active: int


def part_lists(batch: RaggedBatch, gain_C: NDArray[np.floating], learn_dense: bool = False) -> PartLists:
    """A two-level batch for the kernel; a plain one has each candidate for its only part.

    With `learn_dense` its float features are features whose weights are learned; else they are left out.
    """
    base_C = np.zeros(batch.candidates, np.float32) if batch.base_C is None else batch.base_C
    gains_C = np.asarray(gain_C, dtype=np.float32)
    if batch.part_offsets_I1 is None or batch.candidate_parts_K is None or batch.candidate_part_offsets_C1 is None:
        sizes = np.diff(batch.candidate_offsets_I1)
        own_K = np.arange(batch.candidates) - np.repeat(batch.candidate_offsets_I1[:-1], sizes)
        parts = (batch.candidate_offsets_I1, np.arange(batch.candidates + 1), own_K.astype(np.int32))
    else:
        parts = (batch.part_offsets_I1, batch.candidate_part_offsets_C1, batch.candidate_parts_K)
    ids = batch.part_id_offsets_P1, batch.part_ids_N
    dense_CD = np.ascontiguousarray(batch.dense_CD if learn_dense else batch.dense_CD[:, :0], dtype=np.float32)
    return PartLists(batch.candidate_offsets_I1, np.asarray(base_C, np.float32), gains_C, *parts, *ids, dense_CD)


def numbers(settings: ListSettings) -> ListSteps:
    """The settings as the kernel takes them."""
    return ListSteps(
        LOSSES[settings.loss],
        settings.gamma,
        settings.margin,
        settings.rate,
        settings.dense_rate,
        settings.l1,
        settings.l2,
        settings.batch,
        settings.pairs,
        settings.least_difference,
    )


class Learner(Protocol):
    """What goes through lists again and again."""

    def epoch(self, number: int) -> float:
        """Steps through all lists once; the mean loss met."""

    def measure(self) -> tuple[float, float]:
        """The mean loss of the held-out lists, and BLEU of the candidates of the highest scores."""

    def copy(self) -> Arrays:
        """All that steps change, as it is."""

    def restore(self, kept: Arrays) -> None:
        """Takes back what was copied."""

    @property
    def active(self) -> int:
        """How many sparse weights are not 0."""


def until_it_stops(
    learner: Learner,
    settings: ListSettings,
    stop: Callable[[], bool],
    checkpoint: ListCheckpoint | None = None,
) -> Iterator[EpochFigures]:
    """Epochs until the held-out loss hardly changes or `stop` says so; the best weights are there at the end.

    With a checkpoint, epochs that were gone through before give their figures again and are not gone through: what is
    learned has the same bits, wherever it was stopped.
    """
    state = None if checkpoint is None else checkpoint.load()
    if state is None:
        loss, bleu = learner.measure()
        figures, kept = [EpochFigures(0, float("nan"), loss, bleu, learner.active)], learner.copy()
    else:
        figures, kept = [EpochFigures(**one) for one in state.figures], state.kept  # type: ignore[arg-type]
        learner.restore(state.now)
    yield from figures
    while not (_settled(figures, settings) or stop()):
        number = len(figures)
        met = learner.epoch(number)
        loss, bleu = learner.measure()
        if loss < min(one.heldout_loss for one in figures):
            kept = learner.copy()
        figures.append(EpochFigures(number, met, loss, bleu, learner.active))
        if checkpoint is not None and (checkpoint.due or stop()):
            checkpoint.save(ListState(learner.copy(), kept, [asdict(one) for one in figures]))
        yield figures[-1]
    learner.restore(kept)


def _settled(figures: list[EpochFigures], settings: ListSettings) -> bool:
    """Whether there was the last epoch, or one that hardly changed the held-out loss."""
    if len(figures) == 1:
        return False
    before, loss = figures[-2].heldout_loss, figures[-1].heldout_loss
    return len(figures) > settings.epochs or abs(before - loss) <= settings.tolerance * abs(before)


class ListLearner:
    """Epochs over the lists of a batch but for those held out.

    Args:
        lists: from `part_lists`.
        statistics_CK: BLEU statistics of every candidate, for the BLEU of the held-out lists.
        heldout_I: which lists are held out.
        size: the number of weights F.
        settings: see `ListSettings`.
        dense_D: where the float weights start, when `lists` has features for them.
    """

    def __init__(
        self,
        lists: PartLists,
        statistics_CK: NDArray[np.floating],
        heldout_I: NDArray[np.bool_],
        size: int,
        settings: ListSettings,
        dense_D: NDArray[np.float64] | None = None,
    ) -> None:
        self.lists = lists
        self.statistics_CK = statistics_CK
        self.settings = settings
        self.train, self.heldout = np.flatnonzero(~heldout_I), np.flatnonzero(heldout_I)
        if not len(self.train) or not len(self.heldout):
            raise InputError("too few lists", seen=len(heldout_I), expected="some to learn from and some held out")
        squares = size if settings.adagrad else 0
        floats_D = np.zeros(lists.dense_CD.shape[1]) if dense_D is None else np.array(dense_D, dtype=np.float64)
        zeros_F = np.zeros(size, np.float32), np.zeros(squares, np.float32)
        self.weights = SparseWeights(*zeros_F, floats_D, np.zeros(len(floats_D)))
        self.steps = numbers(settings)
        self._space: ListSpace = list_space(lists, settings.batch)

    def epochs(
        self, stop: Callable[[], bool] = lambda: False, checkpoint: ListCheckpoint | None = None
    ) -> Iterator[EpochFigures]:
        """Learns; the weights after the epoch of the best held-out loss are in `weights` at the end.

        The first figures are those before the first step, with a training loss of not-a-number.
        """
        return until_it_stops(self, self.settings, stop, checkpoint)

    def epoch(self, number: int) -> float:
        """Steps through all lists once, in an order drawn for the epoch; the mean loss met."""
        order_I = np.random.default_rng([self.settings.seed, number]).permutation(self.train)
        seed = self.settings.seed * 1_000_003 + number
        return list_epoch(order_I, self.lists, self.weights, self.steps, self._space, seed) / len(order_I)

    def copy(self) -> dict[str, NDArray[Any]]:
        """Weights and sums of squares as they are."""
        return {name: array.copy() for name, array in self.weights._asdict().items()}

    def restore(self, kept: Arrays) -> None:
        """Takes back what was copied."""
        for name, array in self.weights._asdict().items():
            array[:] = kept[name]

    @property
    def active(self) -> int:
        """How many sparse weights are not 0."""
        return int(np.count_nonzero(self.weights.weight_F))

    def measure(self) -> tuple[float, float]:
        """The mean loss of the held-out lists, and BLEU of the candidates of the highest scores."""
        best_I = np.empty(len(self.heldout), dtype=np.int64)
        seed = self.settings.seed
        total = list_losses(self.heldout, self.lists, self.weights, self.steps, self._space, seed, best_I)
        sums_K = self.statistics_CK[best_I[best_I >= 0]].sum(axis=0, dtype=np.float64)
        return total / len(self.heldout), float(bleu_scores(sums_K[None])[0])
