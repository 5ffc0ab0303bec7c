"""Sparse weights from n-best lists by stochastic steps, list by list (Auli, Galley & Gao 2014, section 5 and Figure 2).

Scores are s = base + φ·u. With expected BLEU the ascent is φ + μ γ p (g - xBLEU) u (Eq. 8); with the sign in line 14 of
the paper's Figure 2 it would go downhill.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

import numpy as np
import torch
from torch import Tensor

from xlate.array_types import AnyArray, AnyFloats, Bools, Floats, Ints
from xlate.arrays.ragged import places_of
from xlate.arrays.ranges import pieces
from xlate.errors import refuse_if
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.lists import Predicted, PredictedParts, list_losses, list_pass, list_room, predicted_room
from xlate.kernels.learning.slopes import Steps
from xlate.learning.ranks import ONE, Ranks
from xlate.learning.run import STATE, Arrays, Checkpoint
from xlate.learning.settings import ListsConfig
from xlate.losses.lists import FlatLists
from xlate.losses.loss import Loss, Needs, best_as_truth, loss_of, slopes
from xlate.machine import Stop, never
from xlate.metrics.bleu import bleu_scores
from xlate.scoring.linear import Resident
from xlate.updates.rule import TensorSteps, UpdateRule

# Prefixes in a checkpoint: the learner's current arrays, and those after its best epoch.
NOW, KEPT = "now.", "kept."


def loss_of_lists(settings: ListsConfig) -> Loss:
    """The loss for learning from lists with gains.

    Raises:
        InputError: there is no such loss, or it needs something other than gains.
    """
    loss = loss_of(settings.objective, **vars(settings))
    refuse_if(
        loss.needs not in (Needs.GAINS, Needs.TRUTH) or loss.judges_each,
        "not a loss over lists with gains",
        settings.objective,
        "expected_bleu, cll, hinge …",
    )
    return loss


def rule_of_lists(settings: ListsConfig) -> UpdateRule:
    """How slopes become steps; penalties apply to the weights that a step moves."""
    return UpdateRule(settings.adagrad, settings.l1, settings.l2, every=False)


def lists_identity(lists: CandidateArrays, settings: ListsConfig, size: int, device: str = "cpu") -> str:
    """The SHA-256 of what learning from lists depends on; of the feature ids only their number counts."""
    # How the lists were made does not count.
    told = {one.name: getattr(settings, one.name) for one in fields(ListsConfig)}
    digest = hashlib.sha256(repr((told, size, device, len(lists.part_ids_N))).encode())
    for array in (lists.candidate_offsets_I1, lists.base_C, lists.gain_C, lists.dense_CD):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class EpochFigures:
    """After an epoch: mean training loss, mean held-out loss and BLEU (nan without references), and the number of
    active weights.
    """

    epoch: int
    train_loss: float
    heldout_loss: float
    heldout_bleu: float
    active: int


class ListLearner:
    """Epochs over all lists of a batch that are not held out, by the compiled pass.

    Args:
        lists: candidates in parts, one gain each; the weights of their dense features are learned too.
        statistics_CK: BLEU statistics of every candidate, for the BLEU of the held-out lists.
        heldout_I: which lists are held out.
        size: the number of sparse weights F.
        settings: how weights are learned.
        dense_D: where the dense weights start, if `lists` has features for them.
        ranks: each learns from and measures its own share of the lists.

    Raises:
        InputError: the loss has no compiled slope, or there are too few lists.
    """

    def __init__(
        self,
        lists: CandidateArrays,
        statistics_CK: AnyFloats,
        heldout_I: Bools,
        size: int,
        settings: ListsConfig,
        dense_D: Floats | None = None,
        ranks: Ranks = ONE,
    ) -> None:
        self.loss, self.settings, self.statistics_CK = loss_of_lists(settings), settings, statistics_CK
        if self.loss.needs is Needs.TRUTH:
            # For a loss over true candidates, the best candidate of each list counts as true.
            truth_C = best_as_truth(lists.gain_C, lists.candidate_offsets_I1)
            lists = lists._replace(gain_C=truth_C.astype(np.float32))
        self.lists = lists
        parts = [np.flatnonzero(~heldout_I), np.flatnonzero(heldout_I)]
        refuse_if(
            min(map(len, parts)) < ranks.size,
            "too few lists",
            len(heldout_I),
            "some to learn from and some to hold out",
        )
        self.ranks, (self.train, self.heldout) = ranks, map(ranks.share, parts)
        start_D = np.zeros(lists.dense_CD.shape[1]) if dense_D is None else np.array(dense_D, np.float64)
        self.rule = rule_of_lists(settings)
        self.weights = self.rule.learned(start_D, np.zeros(size, np.float32))
        compiled = self.rule.compiled(np.full(len(start_D), settings.dense_rate), settings.rate)
        self.steps = Steps(self.loss.numbers_array, compiled, batch=settings.batch)
        self._room = list_room(lists, settings.batch)
        self._predicted: Predicted | None = None

    def epochs(self, stop: Stop = never, checkpoint: Checkpoint | None = None) -> Iterator[EpochFigures]:
        """Epochs until the held-out loss hardly changes or `stop` returns true, on all ranks.

        The first figures are those before the first step, with a training loss of nan. At the end, `weights` are those
        after the epoch of the best held-out loss. With a checkpoint, finished epochs yield their figures again but are
        not repeated, so an interrupted training gives bit-identical weights.
        """
        file = None if checkpoint is None else checkpoint.load()
        if file is None:
            figures, kept = [EpochFigures(0, float("nan"), *self.measure())], self.copy()
        else:
            figures = [EpochFigures(**one) for one in file.metadata[STATE]["figures"]]
            kept, now = (
                {name.removeprefix(side): array for name, array in file.extra.items() if name.startswith(side)}
                for side in (KEPT, NOW)
            )
            self.restore(now)
        yield from figures
        while not (self._settled(figures) or stop()):
            number = len(figures)
            met = float(self.ranks.mean(np.array([self.epoch(number)]), len(self.train))[0])
            if self.ranks.size > 1:
                mixed = self.copy()
                self.ranks.mix(mixed, len(self.train))
                self.restore(mixed)
            figures.append(EpochFigures(number, met, *self.measure()))
            if figures[-1].heldout_loss < min(one.heldout_loss for one in figures[:-1]):
                kept = self.copy()
            # Ranks ask together whether to stop.
            if checkpoint is not None and (stop() or checkpoint.due) and self.ranks.leads:
                arrays = {
                    side + name: a for side, held in ((NOW, self.copy()), (KEPT, kept)) for name, a in held.items()
                }
                checkpoint.save({"figures": [asdict(one) for one in figures]}, arrays)
            yield figures[-1]
        self.restore(kept)

    def _settled(self, figures: list[EpochFigures]) -> bool:
        """Whether the last epoch is done, or one hardly changed the held-out loss."""
        if len(figures) == 1:
            return False
        before, loss = figures[-2].heldout_loss, figures[-1].heldout_loss
        return len(figures) > self.settings.epochs or abs(before - loss) <= self.settings.tolerance * abs(before)

    def epoch(self, number: int) -> float:
        """One pass over all lists in an order drawn for the epoch; returns the mean loss."""
        order_I = np.random.default_rng([self.settings.seed, number]).permutation(self.train)
        self._room.state[0] = self.settings.seed * 1_000_003 + number
        given = self.weights, self.steps, self._room, self.loss.pointer
        return float(list_pass(order_I, self.lists, *given, self._predicted)) / len(order_I)

    def copy(self) -> dict[str, AnyArray]:
        """Copies of the weights and of the rule's memory of steps."""
        return {name: array.copy() for name, array in self.weights._asdict().items() if len(array)}

    def restore(self, kept: Arrays) -> None:
        """Restores what `copy` returned."""
        for name, array in self.weights._asdict().items():
            if len(array):
                array[:] = kept[name]

    def measure(self) -> tuple[float, float, int]:
        """The mean loss of the held-out lists, BLEU of their highest-scoring candidates, nan without references, and
        how many sparse weights are not 0.
        """
        total, best_I = self.best(self.heldout)
        sums_K = self.statistics_CK[best_I[best_I >= 0]].sum(axis=0, dtype=np.float64)
        lists, total, *sums = self.ranks.total(np.array([len(self.heldout), total, *sums_K])).tolist()
        sums_K = np.array(sums)
        # Without references, no word is counted.
        counted = sums_K[len(sums_K) // 2 + 1] > 0
        bleu = float(bleu_scores(sums_K[None])[0]) if counted else math.nan
        return total / lists, bleu, int(np.count_nonzero(self.weights.sparse_F))

    def best(self, rows_I: Ints) -> tuple[float, Ints]:
        """The summed loss of some lists, and the highest-scoring candidate of each, -1 for an empty list."""
        best_I = np.empty(len(rows_I), np.int64)
        self._room.state[0] = self.settings.seed
        given = self.lists, self.weights, self.steps.numbers, self._room, self.loss.pointer
        return float(list_losses(rows_I, *given, best_I, self._predicted)), best_I


class PredictedListLearner(ListLearner):
    """Epochs over lists whose parts are predicted; learns changes of the weights that predict them.

    Args:
        lists: candidates in parts without ids, with fixed scores.
        parts: what the parts are among the candidates of spans.
        statistics_CK, heldout_I, size, settings, ranks: see `ListLearner`; `size` is a power of two.
    """

    def __init__(
        self,
        lists: CandidateArrays,
        parts: PredictedParts,
        statistics_CK: AnyFloats,
        heldout_I: Bools,
        size: int,
        settings: ListsConfig,
        ranks: Ranks = ONE,
    ) -> None:
        super().__init__(lists, statistics_CK, heldout_I, size, settings, ranks=ranks)
        self.parts = parts
        self._predicted = predicted_room(parts, size)


class DeviceListLearner(ListLearner):
    """Like `ListLearner`, but on a device, in single precision; `settings.batch` lists per step.

    Lists are put into random mini-batches once, and each epoch takes the batches in a new order; the compiled pass on
    the CPU draws new ones each epoch. From its second time, the step of a batch is recorded as a CUDA graph and
    replayed, because launching its small kernels one by one takes several times as long as running them.

    Args:
        lists, statistics_CK, heldout_I, size, settings, dense_D, ranks: see `ListLearner`.
        device: where everything is kept.

    Raises:
        InputError: there are too few lists.
    """

    def __init__(
        self,
        lists: CandidateArrays,
        statistics_CK: AnyFloats,
        heldout_I: Bools,
        size: int,
        settings: ListsConfig,
        dense_D: Floats | None,
        device: torch.device,
        ranks: Ranks = ONE,
    ) -> None:
        super().__init__(lists, statistics_CK, heldout_I, size, settings, dense_D, ranks)
        self._tensors = TensorSteps(self.rule, self.weights, device)
        # With the rounding of the device.
        self._tensors.store(self.weights)
        self._eta_D = torch.full_like(self._tensors.dense_D, settings.dense_rate)
        resident = Resident.load(self.lists, device)
        mixed = np.random.default_rng(settings.seed).permutation(self.train)
        cuts = [mixed[at] for at in pieces(len(mixed), settings.batch)]
        self._batches = [resident.gather(torch.as_tensor(rows, device=device)) for rows in cuts]
        self._held = resident.gather(torch.as_tensor(self.heldout, device=device))
        # For each batch, its recorded step and the loss that it leaves; None after the first time.
        self._recorded: dict[int, tuple[torch.cuda.CUDAGraph, Tensor] | None] = {}
        self._records = device.type == "cuda"

    def epoch(self, number: int) -> float:
        order = np.random.default_rng([self.settings.seed, number]).permutation(len(self._batches))
        total = sum((self._stepped(place) for place in order.tolist()), torch.zeros(()))
        self._tensors.store(self.weights)
        return float(total) / len(self.train)

    def restore(self, kept: Arrays) -> None:
        super().restore(kept)
        self._tensors.load(self.weights)

    def best(self, rows_I: Ints) -> tuple[float, Ints]:
        scores_C = self._held.scores(self._tensors.dense_D, self._tensors.sparse_F)
        loss, _ = slopes(self.loss, self._held, scores_C, truth=False)
        best_I = FlatLists(self._held.candidate_offsets_I1).argmax(scores_C).cpu().numpy()
        candidates = places_of(self.lists.candidate_offsets_I1, rows_I)
        return float(loss), candidates[best_I[best_I >= 0]]

    def _stepped(self, place: int) -> Tensor:
        if self._records and place in self._recorded:
            if self._recorded[place] is None:
                self._recorded[place] = self._record(place)
            else:
                self._tensors.clock += 1
            if (recorded := self._recorded[place]) is not None:
                recorded[0].replay()
                return recorded[1]
        self._recorded[place] = None
        return self._step(self._batches[place])

    def _record(self, place: int) -> tuple[torch.cuda.CUDAGraph, Tensor] | None:
        """The step of a batch as a graph; None if the loss waits for the device, which no graph can."""
        graph, clock = torch.cuda.CUDAGraph(), self._tensors.clock
        pool = next((one[0].pool() for one in self._recorded.values() if one is not None), None)
        try:
            with torch.cuda.graph(graph, pool=pool):
                loss = self._step(self._batches[place])
        except RuntimeError:
            self._records, self._tensors.clock = False, clock
            return None
        return graph, loss

    def _step(self, batch: Resident) -> Tensor:
        settings, steps = self.settings, self._tensors
        steps.begin(settings.rate)
        scores_C = batch.scores(steps.dense_D, steps.sparse_F)
        loss, slope_C = slopes(self.loss, batch, scores_C, truth=False)
        steps.step(self._eta_D, settings.rate, *batch.gradient(slope_C / len(batch)))
        return loss.double()
