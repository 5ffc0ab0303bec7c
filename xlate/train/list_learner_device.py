"""The same losses over lists that share parts, on a device: all lists resident, mini-batches, autograd.

Lists are put into mini-batches once, by lot, and batches are gone through in a new order each epoch; the compiled
steps on the CPU draw lists anew. The l2 penalty is on all weights, not on those of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from xlate.arrays.ragged import offsets_of, places_of
from xlate.errors import InputError
from xlate.kernels.learning.part_lists import PartLists, SparseWeights
from xlate.losses.conditional_likelihood import ConditionalLikelihood
from xlate.losses.expected_bleu import ExpectedBleu
from xlate.losses.segments import picked, segment_argmax, segment_ids
from xlate.losses.softmax_margin import SoftmaxMargin
from xlate.metrics.bleu import bleu_scores
from xlate.train.list_checkpoint import Arrays, ListCheckpoint
from xlate.train.list_learner import EpochFigures, ListSettings, until_it_stops
from xlate.train.rule_state import restore_rule, rule_arrays


class ListTensors(NamedTuple):
    """Some lists on a device; parts are counted within the batch, `candidate_K` says whose each part is."""

    rows_I: NDArray[np.int64]
    candidate_offsets_I1: Tensor
    base_C: Tensor
    gain_C: Tensor
    dense_CD: Tensor
    candidate_K: Tensor
    part_K: Tensor
    ids_N: Tensor
    id_offsets_P: Tensor


def list_tensors(lists: PartLists, rows_I: NDArray[np.int64], device: torch.device) -> ListTensors:
    """The given lists as tensors."""
    candidates = places_of(lists.candidate_offsets_I1, rows_I)
    sizes_I = np.diff(lists.candidate_offsets_I1)[rows_I]
    parts = places_of(lists.part_offsets_I1, rows_I)
    shift_I = offsets_of(np.diff(lists.part_offsets_I1)[rows_I])[:-1]
    held_C = np.diff(lists.candidate_part_offsets_C1)[candidates]
    places = places_of(lists.candidate_part_offsets_C1, candidates)
    part_K = lists.candidate_parts_K[places] + np.repeat(np.repeat(shift_I, sizes_I), held_C)
    ids = lists.part_ids_N[places_of(lists.part_id_offsets_P1, parts)]

    def put(array: NDArray[np.generic]) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(array), device=device)

    return ListTensors(
        rows_I,
        put(offsets_of(sizes_I)),
        put(lists.base_C[candidates]),
        put(lists.gain_C[candidates]),
        put(lists.dense_CD[candidates]),
        put(np.repeat(np.arange(len(candidates)), held_C)),
        put(part_K.astype(np.int64)),
        put(ids),
        put(offsets_of(np.diff(lists.part_id_offsets_P1)[parts])[:-1].astype(np.int32)),
    )


class Hinge(nn.Module):
    """The candidate of the highest score plus cost against the one of the highest gain (cf. `MaxMargin`)."""

    def __init__(self, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        """The summed loss; scalar; arguments as in `ExpectedBleu`."""
        best_I = segment_argmax(gain_C, candidate_offsets_I1)
        cost_C = self.margin * (picked(gain_C, best_I)[segment_ids(candidate_offsets_I1)] - gain_C)
        worst_I = segment_argmax(scores_C + cost_C, candidate_offsets_I1)
        return (picked(scores_C + cost_C, worst_I) - picked(scores_C, best_I)).sum()


def loss_module(settings: ListSettings) -> tuple[nn.Module, float]:
    """The loss of some settings, and what scores are multiplied by before it.

    Raises:
        InputError: PRO, whose pairs are drawn on the CPU.
    """
    modules: dict[str, Callable[[], nn.Module]] = {
        "expected_bleu": lambda: ExpectedBleu(settings.gamma),
        "cll": ConditionalLikelihood,
        "softmax_margin": lambda: SoftmaxMargin(settings.margin),
        "hinge": lambda: Hinge(settings.margin),
    }
    if settings.loss not in modules:
        raise InputError("no such loss on a device", seen=settings.loss, expected=", ".join(modules))
    return modules[settings.loss](), 1.0 if settings.loss == "expected_bleu" else settings.gamma


class DeviceListLearner:
    """As `ListLearner`, but on a device; `settings.batch` lists a step.

    Args:
        lists, statistics_CK, heldout_I, size, settings, dense_D: see `ListLearner`.
        device: where everything is kept.

    Raises:
        InputError: PRO or an l1 penalty, or too few lists.
    """

    def __init__(
        self,
        lists: PartLists,
        statistics_CK: NDArray[np.floating],
        heldout_I: NDArray[np.bool_],
        size: int,
        settings: ListSettings,
        dense_D: NDArray[np.float64] | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.lists, self.statistics_CK, self.settings = lists, statistics_CK, settings
        if settings.l1 > 0:
            raise InputError("no l1 penalty on a device", seen=settings.l1, expected="loss.lists.l1=0")
        train, held = np.flatnonzero(~heldout_I), np.flatnonzero(heldout_I)
        if not len(train) or not len(held):
            raise InputError("too few lists", seen=len(heldout_I), expected="some to learn from and some held out")
        self.module, self.scale = loss_module(settings)
        device = device or torch.device("cpu")
        self.bag = nn.Parameter(torch.zeros(size, 1, device=device))
        floats_D = np.zeros(lists.dense_CD.shape[1]) if dense_D is None else dense_D
        self.dense = nn.Parameter(torch.as_tensor(floats_D, dtype=torch.float32, device=device))
        mixed = np.random.default_rng(settings.seed).permutation(train)
        self.train = [
            list_tensors(lists, mixed[start : start + settings.batch], device)
            for start in range(0, len(mixed), settings.batch)
        ]
        self.heldout = list_tensors(lists, held, device)
        groups = [{"params": [self.bag], "lr": settings.rate}, {"params": [self.dense], "lr": settings.dense_rate}]
        rule = torch.optim.Adagrad if settings.adagrad else torch.optim.SGD
        self.rule = rule(groups, weight_decay=settings.l2)

    @property
    def weights(self) -> SparseWeights:
        """What was learned, on the CPU."""
        return SparseWeights(
            self.bag.detach().cpu().numpy()[:, 0].copy(),
            np.zeros(0, np.float32),
            self.dense.detach().cpu().numpy().astype(np.float64),
            np.zeros(self.dense.shape[0]),
        )

    def epochs(
        self, stop: Callable[[], bool] = lambda: False, checkpoint: ListCheckpoint | None = None
    ) -> Iterator[EpochFigures]:
        """Learns; see `ListLearner.epochs`."""
        return until_it_stops(self, self.settings, stop, checkpoint)

    def epoch(self, number: int) -> float:
        """Steps through all batches once, in an order drawn for the epoch; the mean loss met."""
        order = np.random.default_rng([self.settings.seed, number]).permutation(len(self.train))
        met = sum(self._step(self.train[place]) for place in order.tolist())
        return met / sum(len(batch.rows_I) for batch in self.train)

    def copy(self) -> dict[str, NDArray[Any]]:
        """The weights, and what the rule remembers, as they are."""
        return rule_arrays(self.rule)

    def restore(self, kept: Arrays) -> None:
        """Takes back what was copied."""
        restore_rule(self.rule, kept)

    @property
    def active(self) -> int:
        """How many sparse weights are not 0."""
        return int(torch.count_nonzero(self.bag))

    def scores(self, batch: ListTensors) -> Tensor:
        """The scores of all candidates of a batch, (C,)."""
        part_P = nn.functional.embedding_bag(batch.ids_N, self.bag, batch.id_offsets_P, mode="sum")[:, 0]
        score_C = batch.base_C + batch.dense_CD @ self.dense
        return score_C.index_add(0, batch.candidate_K, part_P[batch.part_K])

    def measure(self) -> tuple[float, float]:
        """The mean loss of the held-out lists, and BLEU of the candidates of the highest scores."""
        with torch.no_grad():
            batch = self.heldout
            scores_C = self.scores(batch)
            loss = float(self.module(self.scale * scores_C, batch.gain_C, batch.candidate_offsets_I1))
            best_I = segment_argmax(scores_C, batch.candidate_offsets_I1).cpu().numpy()
        candidates = places_of(self.lists.candidate_offsets_I1, batch.rows_I)
        sums_K = self.statistics_CK[candidates[best_I[best_I >= 0]]].sum(axis=0, dtype=np.float64)
        return loss / len(batch.rows_I), float(bleu_scores(sums_K[None])[0])

    def _step(self, batch: ListTensors) -> float:
        self.rule.zero_grad()
        loss = self.module(self.scale * self.scores(batch), batch.gain_C, batch.candidate_offsets_I1)
        (loss / len(batch.rows_I)).backward()
        self.rule.step()
        return float(loss.detach())
