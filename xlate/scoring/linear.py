"""The linear scorer: float features times weights plus bags of sparse weights; as modules, and on a device.

`LinearScorer` is the reference: it takes any batch without contexts, on any device. Tuners that go through all lists
again and again use `CompiledScorer`: for the gradient of one column of weights, EmbeddingBag takes ten times as long as
its compiled loops.

Candidates that stay on a device are gathered and scored there. All sums run over sorted segments, so the same numbers
give the same bits every time on the same device; adding by index, which CUDA does in any order, would not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from xlate.array_types import Floats
from xlate.candidates.batch import BETWEEN, CONTEXTS, RAGGED, CandidateBatch
from xlate.kernels.learning.candidates import CandidateArrays, crossed_ids
from xlate.kernels.learning.scores import sparse_gradient, sparse_scores


class LinearScorer(nn.Module):
    """score_C = dense_CD · w_D + EmbeddingBag(parts of C; EmbeddingBag(ids of part; w_F)) + base_C.

    The sparse weights of a part are summed once, however many candidates share it. Weights begin at 0, in float64.
    """

    def __init__(self, dense: int, sparse: int, *, sparse_gradient: bool = False) -> None:
        super().__init__()
        self.dense = nn.Parameter(torch.zeros(dense, dtype=torch.float64))
        # EmbeddingBag needs a row; a model without sparse features keeps one that nothing refers to.
        self.bag = nn.EmbeddingBag(max(1, sparse), 1, mode="sum", sparse=sparse_gradient, include_last_offset=True)
        self.bag = self.bag.double()
        nn.init.zeros_(self.bag.weight)

    def forward(self, batch: CandidateBatch) -> Tensor:
        """The scores of a batch's C candidates, shape (C,), on the device of the weights.

        Raises:
            ValueError: instances have contexts.
        """
        device, dtype = self.dense.device, self.dense.dtype
        if batch.contexts_X is not None:
            raise ValueError("contexts_X: expected none")

        def tensor(array: object, kind: torch.dtype) -> Tensor:
            return torch.as_tensor(array, device=device).to(kind)

        values_N = None if batch.part_values_N is None else tensor(batch.part_values_N, dtype)
        ids_N = tensor(batch.part_ids_N, torch.int64)
        parts_P = self.bag(ids_N, tensor(batch.part_id_offsets_P1, torch.int64), per_sample_weights=values_N)[:, 0]
        sparse_C = parts_P if batch.is_plain else bags_of_parts(batch, parts_P)
        scores_C: Tensor = tensor(batch.dense_CD, dtype) @ self.dense + sparse_C
        return scores_C if batch.base_C is None else scores_C + tensor(batch.base_C, dtype)


def bags_of_parts(batch: CandidateBatch, parts_P: Tensor) -> Tensor:
    """The sum of the scores of the parts that each of C candidates of a two-level batch holds, shape (C,)."""
    parts_K = torch.as_tensor(batch.part_of_K(), device=parts_P.device)
    offsets_C1 = torch.as_tensor(batch.candidate_part_offsets_C1, device=parts_P.device)
    bags_C1 = nn.functional.embedding_bag(parts_K, parts_P[:, None], offsets_C1, mode="sum", include_last_offset=True)
    return bags_C1[:, 0]


class CompiledScorer(nn.Module):
    """The scores of lists that do not change, on the CPU, in float64.

    Args:
        lists: sparse ids and fixed scores of C candidates.
        features_CD: their dense features, which may differ from those of `lists`.
        dense_D: initial float weights.
        sparse_F: initial sparse weights.
    """

    def __init__(self, lists: CandidateArrays, features_CD: Floats, dense_D: Floats, sparse_F: Floats) -> None:
        super().__init__()
        self.lists = lists
        self.features_CD = torch.as_tensor(features_CD)
        self.dense = nn.Parameter(torch.tensor(dense_D, dtype=torch.float64))
        self.sparse = nn.Parameter(torch.tensor(sparse_F, dtype=torch.float64))

    def forward(self) -> Tensor:
        """The scores of all candidates, shape (C,)."""
        scores_C = self.features_CD @ self.dense
        if len(self.sparse):
            scores_C = scores_C + _SparseScores.apply(self.sparse, self.lists)  # type: ignore[no-untyped-call]
        return scores_C + torch.as_tensor(self.lists.base_C) if len(self.lists.base_C) else scores_C


class _SparseScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sparse_F: Tensor, lists: CandidateArrays) -> Tensor:
        """The sum of the sparse weights of each candidate."""
        ctx.lists, ctx.size = lists, len(sparse_F)
        return torch.from_numpy(sparse_scores(lists, sparse_F.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        """Slopes scattered over the ids."""
        return torch.from_numpy(sparse_gradient(ctx.lists, slopes[0].contiguous().numpy(), ctx.size)), None


@dataclass(frozen=True)
class Resident:
    """I instances of C candidates with D dense features on a device; P parts with N sparse ids.

    `candidate_parts_K` numbers parts within their instance. The three arrays of parts are None when every candidate
    is one part; values, fixed scores and contexts are None when there are none. What scores and gradients need besides
    is computed once and kept, so that later steps over the same instances do not sort, and do not wait for the host.
    """

    candidate_offsets_I1: Tensor
    dense_CD: Tensor
    gain_C: Tensor
    base_C: Tensor | None
    part_offsets_I1: Tensor | None
    candidate_part_offsets_C1: Tensor | None
    candidate_parts_K: Tensor | None
    part_id_offsets_P1: Tensor
    part_ids_N: Tensor
    part_values_N: Tensor | None
    context_offsets_I1: Tensor | None = None
    contexts_X: Tensor | None = None

    @classmethod
    def load(cls, candidates: CandidateArrays, device: torch.device) -> Resident:
        """Copies candidates to a device."""

        def put(array: NDArray[np.generic]) -> Tensor:
            return torch.as_tensor(np.array(array), device=device)

        optional = (("base_C",), BETWEEN, ("part_values_N",), CONTEXTS)
        absent = {name for names in optional if not len(getattr(candidates, names[0])) for name in names}
        held: dict[str, Any] = candidates._asdict()
        loaded: dict[str, Any] = dict.fromkeys(absent)
        loaded |= {name: put(array) for name, array in held.items() if name not in absent}
        return cls(**loaded)

    def __len__(self) -> int:
        """The number of instances I."""
        return len(self.candidate_offsets_I1) - 1

    def gather(self, instances: Tensor) -> Resident:
        """The given instances in that order, still on the device."""
        candidates, offsets_I1 = _gathered(self.candidate_offsets_I1, instances)
        rows = {"I": instances, "C": candidates, "P": candidates}
        made = {"candidate_offsets_I1": offsets_I1}
        if self.part_offsets_I1 is not None:
            rows["P"], made["part_offsets_I1"] = _gathered(self.part_offsets_I1, instances)
        held = {name: array for name, array in vars(self).items() if array is not None}
        made |= {name: held[name][candidates] for name in ("dense_CD", "gain_C", "base_C") if name in held}
        for offsets, (level, names) in RAGGED.items():
            if offsets in held:
                places, made[offsets] = _gathered(held[offsets], rows[level])
                made |= {name: held[name][places] for name in names if name in held}
        return replace(self, **made)

    def crossed(self, size: int) -> Resident:
        """The same candidates with pairs of contexts and ids written out, for `size` weights, a power of two."""
        if self.context_offsets_I1 is None or self.contexts_X is None:
            return self
        instance_C = segment_ids(self.candidate_offsets_I1)
        instance_N = torch.repeat_interleave(instance_C, self.part_id_offsets_P1.diff())
        contexts, offsets_N1 = _gathered(self.context_offsets_I1, instance_N)
        part_Y = torch.repeat_interleave(self.part_ids_N.long(), offsets_N1.diff())
        return replace(
            self,
            part_id_offsets_P1=offsets_N1[self.part_id_offsets_P1],
            part_ids_N=crossed_ids(self.contexts_X[contexts].long(), part_Y, size).int(),
            context_offsets_I1=None,
            contexts_X=None,
        )

    def scores(self, dense_D: Tensor, sparse_F: Tensor | None) -> Tensor:
        """The scores of all candidates in the precision of the dense weights, (C,)."""
        scores_C = self.dense_CD.to(dense_D.dtype) @ dense_D
        if self.base_C is not None:
            scores_C = scores_C + self.base_C
        if sparse_F is None or not len(self.part_ids_N):
            return scores_C
        weight_N = sparse_F.index_select(0, self.part_ids_N).to(dense_D.dtype)
        if self.part_values_N is not None:
            weight_N = weight_N * self.part_values_N
        sums_C = torch.segment_reduce(weight_N, "sum", offsets=self.part_id_offsets_P1, initial=0.0)
        if self.candidate_part_offsets_C1 is not None:
            sums_K = sums_C.index_select(0, self._part_of_K)
            sums_C = torch.segment_reduce(sums_K, "sum", offsets=self.candidate_part_offsets_C1, initial=0.0)
        return scores_C + sums_C

    def gradient(self, slope_C: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients from slopes: of all dense weights, (D,), and U distinct sparse ids with theirs, (U,)."""
        dense_D = slope_C @ self.dense_CD.to(slope_C.dtype)
        slope_P = slope_C
        if self._candidates_by_part is not None:
            by_part = self._candidates_by_part
            slope_K = slope_C.index_select(0, by_part.places)
            sums = torch.segment_reduce(slope_K, "sum", offsets=by_part.offsets, initial=0.0)
            slope_P = slope_C.new_zeros(len(self.part_id_offsets_P1) - 1).index_copy(0, by_part.keys, sums)
        by_id = self._parts_by_id
        slope_N = slope_P.index_select(0, by_id.places)
        if self.part_values_N is not None:
            slope_N = slope_N * self.part_values_N.index_select(0, by_id.order)
        return dense_D, by_id.keys, torch.segment_reduce(slope_N, "sum", offsets=by_id.offsets, initial=0.0)

    @cached_property
    def _part_of_K(self) -> Tensor:
        """The number of each part that a candidate holds, among all parts."""
        assert self.part_offsets_I1 is not None
        assert self.candidate_part_offsets_C1 is not None
        assert self.candidate_parts_K is not None
        held_I = self.candidate_part_offsets_C1[self.candidate_offsets_I1].diff()
        return self.candidate_parts_K.long() + torch.repeat_interleave(self.part_offsets_I1[:-1], held_I)

    @cached_property
    def _candidates_by_part(self) -> _Sorted | None:
        """The candidates that hold each part; None when every candidate is one part."""
        offsets_C1 = self.candidate_part_offsets_C1
        return None if offsets_C1 is None else _Sorted.of(self._part_of_K, offsets_C1)

    @cached_property
    def _parts_by_id(self) -> _Sorted:
        """The parts that have each sparse id."""
        return _Sorted.of(self.part_ids_N, self.part_id_offsets_P1)

    def one_truth_each(self) -> tuple[Tensor, Tensor, Tensor]:
        """Each true candidate with the false ones of its instance: candidates, whether each is the true one, offsets.

        Gains above 0 mark true candidates.
        """
        true_C = self.gain_C > 0
        positives = torch.nonzero(true_C)[:, 0]
        instance_C = segment_ids(self.candidate_offsets_I1)
        others, offsets = _gathered(self.candidate_offsets_I1, instance_C[positives])
        own = others == positives[segment_ids(offsets)]
        kept = own | ~true_C[others]
        sizes = torch.segment_reduce(kept.double(), "sum", offsets=offsets, initial=0.0).long()
        return others[kept], own[kept], torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def segment_ids(offsets_I1: Tensor, size: int | None = None) -> Tensor:
    """The segment of every value: offsets 0 2 3 give 0 0 1. If the `size` is known, nothing waits for a GPU."""
    lengths_I = offsets_I1.diff()
    segments_I = torch.arange(len(lengths_I), device=offsets_I1.device)
    return torch.repeat_interleave(segments_I, lengths_I, output_size=size)


def _gathered(offsets: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The places of the values of some rows, and the offsets of these rows laid end to end."""
    first = offsets[rows]
    size = offsets[rows + 1] - first
    new = torch.cat([size.new_zeros(1), size.cumsum(0)])
    place = torch.arange(int(new[-1]), device=size.device)
    return place + torch.repeat_interleave(first - new[:-1], size), new


class _Sorted(NamedTuple):
    """Ragged rows turned round: for each distinct key, ascending, the rows that hold it, in their order."""

    keys: Tensor
    offsets: Tensor
    places: Tensor
    order: Tensor

    @classmethod
    def of(cls, keys: Tensor, offsets: Tensor) -> _Sorted:
        """Sorts the keys; `order` has where each was, and `places` the row."""
        sorted_keys, order = torch.sort(keys, stable=True)
        distinct, count = torch.unique_consecutive(sorted_keys, return_counts=True)
        rows = torch.arange(len(offsets) - 1, device=keys.device, dtype=torch.int32)
        places = torch.repeat_interleave(rows, offsets.diff())[order]
        return cls(distinct.long(), torch.cat([count.new_zeros(1), count.cumsum(0)]), places, order.int())
