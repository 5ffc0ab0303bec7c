"""Mini-batch training of local softmax with everything on one device: events, weights, gradients (CPU or CUDA)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xlate.candidates.store import CandidateStore
from xlate.errors import InputError
from xlate.losses.segments import segment_logsumexp
from xlate.scoring.weights import Weights
from xlate.train.learner import Arrays, check_fits, instances_of
from xlate.train.state import PhaseSettings

DEVICES = ("cpu", "cuda", "auto")


def device_of(name: str) -> torch.device:
    """The device a configuration names; `auto` is CUDA where there is some, and `cuda` falls back to the CPU.

    Raises:
        InputError: no such name.
    """
    if name not in DEVICES:
        raise InputError("unknown device", seen=name, expected=", ".join(DEVICES))
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def check_options(margin: float | None, average: bool, l1: float, l2: float, check_bound: bool) -> None:
    """Checks that mini-batches have what is asked for.

    Raises:
        InputError: they have not.
    """
    if margin is not None or average or l1 or l2 or check_bound:
        raise InputError(
            "mini-batches train local softmax without averages, penalties or the bound",
            seen=f"average={average} l1={l1} l2={l2} margin={margin} check_bound={check_bound}",
            expected="loss.name=local_softmax, or loss.batch=0 for the online kernel",
        )


@dataclass(frozen=True)
class Resident:
    """The I instances of a store on a device: C candidates, N sparse ids."""

    candidate_offsets_I1: Tensor
    dense_CD: Tensor
    true_C: Tensor
    id_offsets_C1: Tensor
    ids_N: Tensor

    @classmethod
    def load(cls, store: CandidateStore, device: torch.device) -> Resident:
        """Copies a store's plain candidates.

        Raises:
            ValueError: candidates that are not plain.
        """
        arrays = instances_of(store)
        dense_CD = torch.as_tensor(np.array(arrays.dense_CD), device=device)
        true_C = torch.as_tensor(np.array(arrays.gain_CG)[:, 0] > 0, device=device)
        offsets = (torch.as_tensor(np.array(a), device=device) for a in (arrays.candidate_offsets_I1,))
        id_offsets_C1 = torch.as_tensor(np.array(arrays.id_offsets_C1), device=device)
        ids_N = torch.as_tensor(np.array(arrays.ids_N), device=device)
        return cls(next(offsets), dense_CD, true_C, id_offsets_C1, ids_N)


@dataclass
class BatchLearner:
    """One step down the summed loss of every `batch` instances (the last of a part may be smaller).

    Every positive of an instance is one term of the loss, as in `losses.local_softmax`, and its gradient is written out
    here; the tests compare it with autograd. The weights live on the device in float64 and come back after every part.
    All sums run in a fixed order, so the same run gives the same bits again on the same device.

    Raises:
        InputError: a loss or an option that mini-batches do not have.
        ValueError: the store does not fit the weights.
    """

    settings: PhaseSettings
    store: CandidateStore
    weights: Weights
    memory: Arrays
    device: torch.device
    batch: int
    data: Resident = field(init=False)

    def __post_init__(self) -> None:
        """Checks what is asked for and copies the store."""
        check_fits(self.settings, self.store, self.weights)
        s = self.settings
        check_options(s.margin, s.average, s.l1, s.l2, s.check_bound)
        self.data = Resident.load(self.store, self.device)

    def learn(self, part: NDArray[np.int64], scale: float) -> tuple[float, float]:
        """Steps over the instances in order; returns the summed loss before each step, and 0."""
        s = self.settings
        dense_D = torch.as_tensor(self.weights.dense_D, device=self.device)
        sparse_F = torch.as_tensor(self.weights.sparse_F, device=self.device)
        eta_D = torch.as_tensor(np.where(s.trained, s.eta * scale, 0.0), device=self.device)
        eta_sparse = s.eta_sparse * scale if s.train_sparse else 0.0
        order = torch.as_tensor(part, device=self.device)
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for start in range(0, len(part), self.batch):
            chosen = gather(self.data, order[start : start + self.batch])
            loss, by_C = loss_and_step(chosen, dense_D, sparse_F, s.use_sparse, s.sink)
            total += loss
            dense_D = dense_D + eta_D * (by_C @ chosen.dense_CD.double())
            if s.project:
                dense_D = torch.where(eta_D != 0, dense_D.clamp(max=0.0), dense_D)
            if eta_sparse:
                sparse_F = add_by_id(sparse_F, chosen, eta_sparse * by_C)
        self.weights.dense_D[:] = dense_D.cpu().numpy()
        self.weights.sparse_F[:] = sparse_F.cpu().numpy()
        return float(total), 0.0

    def end_epoch(self, scale: float) -> Weights:  # noqa: ARG002
        """The weights; nothing is put off."""
        return self.weights


def gather(data: Resident, instances: Tensor) -> Resident:
    """The given instances in that order, still on the device."""
    first_I, size_I = _rows(data.candidate_offsets_I1, instances)
    offsets_I1, candidates = _ragged(first_I, size_I)
    first_C, size_C = _rows(data.id_offsets_C1, candidates)
    id_offsets_C1, ids = _ragged(first_C, size_C)
    return Resident(offsets_I1, data.dense_CD[candidates], data.true_C[candidates], id_offsets_C1, data.ids_N[ids])


def loss_and_step(
    batch: Resident, dense_D: Tensor, sparse_F: Tensor, use_sparse: bool, sink: float
) -> tuple[Tensor, Tensor]:
    """The summed local-softmax loss of a batch, and minus its derivative by every candidate's score; shape (C,)."""
    scores_C = batch.dense_CD.double() @ dense_D
    if use_sparse and len(batch.ids_N):
        scores_C = scores_C + torch.segment_reduce(
            sparse_F[batch.ids_N.long()], "sum", offsets=batch.id_offsets_C1, initial=0.0
        )
    negative_C = scores_C.masked_fill(batch.true_C, float("-inf"))
    against_I = segment_logsumexp(negative_C, batch.candidate_offsets_I1)
    against_I = torch.logaddexp(against_I, torch.full_like(against_I, sink))
    size_I = batch.candidate_offsets_I1.diff()
    against_C = torch.repeat_interleave(against_I, size_I)
    loss_C = torch.nn.functional.softplus(against_C - scores_C) * batch.true_C
    # A positive moves by 1 - p; what it loses is shared among the negatives and the sink by their weights.
    missing_C = torch.sigmoid(against_C - scores_C) * batch.true_C
    missing_I = torch.segment_reduce(missing_C, "sum", offsets=batch.candidate_offsets_I1, initial=0.0)
    share_C = torch.exp(negative_C - against_C)
    return loss_C.sum(), missing_C - torch.repeat_interleave(missing_I, size_I) * share_C


def add_by_id(sparse_F: Tensor, batch: Resident, by_C: Tensor) -> Tensor:
    """Adds a candidate's step to the weight of each of its ids, occurrences of an id in a fixed order."""
    ids_N, order = torch.sort(batch.ids_N.long(), stable=True)
    by_N = torch.repeat_interleave(by_C, batch.id_offsets_C1.diff())[order]
    distinct, count = torch.unique_consecutive(ids_N, return_counts=True)
    offsets = torch.cat([count.new_zeros(1), count.cumsum(0)])
    sums = torch.segment_reduce(by_N, "sum", offsets=offsets, initial=0.0)
    return sparse_F.index_copy(0, distinct, sparse_F[distinct] + sums)


def _rows(offsets: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Where the given segments begin, and how long they are."""
    first = offsets[rows]
    return first, offsets[rows + 1] - first


def _ragged(first: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
    """The offsets of segments laid end to end, and the places of all their items."""
    offsets = torch.cat([size.new_zeros(1), size.cumsum(0)])
    place = torch.arange(int(offsets[-1]), device=size.device)
    return offsets, place + torch.repeat_interleave(first - offsets[:-1], size)
