"""Sparse weights from n-best lists by stochastic steps, list by list (Auli, Galley & Gao 2014, section 5 and Figure 2).

Scores are s = base + φ·u. With expected BLEU the ascent is φ + μ γ p (g - xBLEU) u (Eq. 8); the sign in line 14 of the
paper's Figure 2 goes downhill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np

from xlate.array_types import AnyArray, AnyFloats, Bools, Floats, Ints
from xlate.errors import InputError
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.lists import ListRoom, ListSteps, list_losses, list_pass, list_room
from xlate.kernels.learning.predicted import PredictedParts, predicted_losses, predicted_pass, predicted_room
from xlate.losses.loss import Loss, Needs, best_as_truth, loss_of
from xlate.metrics.bleu import bleu_scores
from xlate.train.list_checkpoint import Arrays, ListCheckpoint, ListState
from xlate.updates.rule import UpdateRule


@dataclass(frozen=True)
class ListSettings:
    """How weights are learned.

    Attributes:
        loss: the name of one that needs gains.
        gamma: scale of the scores.
        margin: what a unit of gain (sentence BLEU from 0 to 1) is worth in softmax-margin, hinge and ramp.
        rate: the step of sparse weights; dense_rate: of dense ones, when they are learned too.
        adagrad, l1, l2: see `UpdateRule`; penalties are on the weights of a step.
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
        if self.module.needs not in (Needs.GAINS, Needs.TRUTH) or self.module.judges_each:
            raise InputError("not a loss over lists with gains", seen=self.loss, expected="expected_bleu, cll, hinge …")
        if min(self.gamma, self.rate, self.dense_rate) <= 0 or min(self.l1, self.l2, self.margin, self.tolerance) < 0:
            raise InputError("settings of the steps", seen=self, expected="γ and rate above 0, none below 0")
        if min(self.batch, self.epochs, self.pairs) < 1:
            raise InputError("settings of the steps", seen=self, expected="batch, epochs and pairs of 1 or more")

    @property
    def module(self) -> Loss:
        """The loss with its settings."""
        given = {"gamma": self.gamma, "margin": self.margin, "pairs": self.pairs, "seed": self.seed}
        return loss_of(self.loss, **given, least_difference=self.least_difference)

    @property
    def rule(self) -> UpdateRule:
        """How steps are made of slopes."""
        return UpdateRule(self.adagrad, self.l1, self.l2, every=False)


@dataclass(frozen=True)
class EpochFigures:
    """After an epoch: the mean loss met in training and that of the held-out lists, their BLEU, weights in use."""

    epoch: int
    train_loss: float
    heldout_loss: float
    heldout_bleu: float
    active: int


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
    """Epochs over the lists of a batch but for those held out, by the compiled pass.

    Args:
        lists: candidates in parts, one gain each; dense features are those whose weights are learned too.
        statistics_CK: BLEU statistics of every candidate, for the BLEU of the held-out lists.
        heldout_I: which lists are held out.
        size: the number of sparse weights F.
        settings: see `ListSettings`.
        dense_D: where the dense weights start, when `lists` has features for them.

    Raises:
        InputError: a loss without a compiled slope, or too few lists.
    """

    def __init__(
        self,
        lists: CandidateArrays,
        statistics_CK: AnyFloats,
        heldout_I: Bools,
        size: int,
        settings: ListSettings,
        dense_D: Floats | None = None,
    ) -> None:
        self.lists = with_truth(lists, settings.module)
        self.statistics_CK = statistics_CK
        self.settings = settings
        self.train, self.heldout = divided(heldout_I)
        loss, rule = settings.module, settings.rule
        if loss.slope is None:
            raise InputError("a loss without a compiled slope", seen=settings.loss, expected="one that has one")
        dense = lists.dense_CD.shape[1]
        floats_D = np.zeros(dense) if dense_D is None else np.array(dense_D, dtype=np.float64)
        self.weights = rule.learned(floats_D, np.zeros(size, np.float32), rule.memory(dense, size))
        compiled = rule.compiled(np.full(dense, settings.dense_rate), settings.rate)
        self.steps = ListSteps(loss.numbers_array, compiled, settings.batch)
        self._slope = loss.slope.pointer
        self._room: ListRoom = list_room(lists, settings.batch)

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
        self._room.state[0] = self.settings.seed * 1_000_003 + number
        return self._pass(order_I) / len(order_I)

    def copy(self) -> dict[str, AnyArray]:
        """Weights, and what the rule remembers of steps, as they are."""
        return {name: array.copy() for name, array in self.weights._asdict().items() if len(array)}

    def restore(self, kept: Arrays) -> None:
        """Takes back what was copied."""
        for name, array in self.weights._asdict().items():
            if len(array):
                array[:] = kept[name]

    @property
    def active(self) -> int:
        """How many sparse weights are not 0."""
        return int(np.count_nonzero(self.weights.sparse_F))

    def measure(self) -> tuple[float, float]:
        """The mean loss of the held-out lists, and BLEU of the candidates of the highest scores."""
        total, best_I = self.best(self.heldout)
        sums_K = self.statistics_CK[best_I[best_I >= 0]].sum(axis=0, dtype=np.float64)
        return total / len(self.heldout), float(bleu_scores(sums_K[None])[0])

    def best(self, rows_I: Ints) -> tuple[float, Ints]:
        """The summed loss of some lists, and the candidate of the highest score of each, -1 of an empty one."""
        best_I = np.empty(len(rows_I), dtype=np.int64)
        self._room.state[0] = self.settings.seed
        return self._losses(rows_I, best_I), best_I

    def _pass(self, order_I: Ints) -> float:
        return float(list_pass(order_I, self.lists, self.weights, self.steps, self._room, self._slope))

    def _losses(self, rows_I: Ints, best_I: Ints) -> float:
        given = self.lists, self.weights, self.steps.numbers, self._room, self._slope
        return float(list_losses(rows_I, *given, best_I))


class PredictedListLearner(ListLearner):
    """Epochs over lists whose parts are predicted, on changes of the weights that they are predicted by.

    Args:
        lists: candidates in parts without ids, with fixed scores.
        parts: what the parts are among the candidates of spans.
        statistics_CK, heldout_I, size, settings: see `ListLearner`; `size` is a power of two.
    """

    def __init__(
        self,
        lists: CandidateArrays,
        parts: PredictedParts,
        statistics_CK: AnyFloats,
        heldout_I: Bools,
        size: int,
        settings: ListSettings,
    ) -> None:
        super().__init__(lists, statistics_CK, heldout_I, size, settings)
        self.parts = parts
        self._predicted = predicted_room(self.lists, parts, size)
        self._room = self._predicted.lists

    def _pass(self, order_I: Ints) -> float:
        given = self.weights, self.steps, self._predicted, self._slope
        return float(predicted_pass(order_I, self.lists, self.parts, *given))

    def _losses(self, rows_I: Ints, best_I: Ints) -> float:
        given = self.weights, self.steps.numbers, self._predicted, self._slope
        return float(predicted_losses(rows_I, self.lists, self.parts, *given, best_I))


def with_truth(lists: CandidateArrays, loss: Loss) -> CandidateArrays:
    """The lists as a loss needs them: one over true candidates takes the best of each list for the true one."""
    if loss.needs is not Needs.TRUTH:
        return lists
    return lists._replace(gain_C=best_as_truth(lists.gain_C, lists.candidate_offsets_I1).astype(np.float32))


def divided(heldout_I: Bools) -> tuple[Ints, Ints]:
    """The lists to learn from, and those held out.

    Raises:
        InputError: none of either.
    """
    train, heldout = np.flatnonzero(~heldout_I), np.flatnonzero(heldout_I)
    if not len(train) or not len(heldout):
        raise InputError("too few lists", seen=len(heldout_I), expected="some to learn from and some held out")
    return train, heldout
