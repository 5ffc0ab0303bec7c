"""The linear scorer: float features times weights plus bags of sparse weights, as modules.

`LinearScorer` is the reference: it takes any batch and any device. Its EmbeddingBag takes ten times as long for the
gradient of one column of weights as the compiled loops of `CompiledScorer`, for tuners that go through all lists
again and again.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from xlate.array_types import Floats
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.scores import sparse_gradient, sparse_scores


class LinearScorer(nn.Module):
    """score_C = dense_CD · w_D + EmbeddingBag(parts of C; EmbeddingBag(ids of part; w_F)) + base_C.

    The sparse weights of a part are summed once, however many candidates share it. Weights begin at 0, in float64
    unless told otherwise.
    """

    def __init__(
        self, dense: int, sparse: int, *, sparse_gradient: bool = False, dtype: torch.dtype = torch.float64
    ) -> None:
        super().__init__()
        self.dense = nn.Parameter(torch.zeros(dense, dtype=dtype))
        # EmbeddingBag needs a row; a model without sparse features keeps one that nothing points at.
        self.bag = nn.EmbeddingBag(max(1, sparse), 1, mode="sum", sparse=sparse_gradient, include_last_offset=True)
        self.bag = self.bag.to(dtype)
        nn.init.zeros_(self.bag.weight)

    def forward(self, batch: CandidateBatch) -> Tensor:
        """The scores of a batch's C candidates, shape (C,), on the device of the weights."""
        device, dtype = self.dense.device, self.dense.dtype
        batch = batch.crossed(len(self.bag.weight))

        def tensor(array: object, kind: torch.dtype) -> Tensor:
            return torch.as_tensor(array, device=device).to(kind)

        values_N = None if batch.part_values_N is None else tensor(batch.part_values_N, dtype)
        ids_N = tensor(batch.part_ids_N, torch.int64)
        parts_P = self.bag(ids_N, tensor(batch.part_id_offsets_P1, torch.int64), per_sample_weights=values_N)[:, 0]
        sparse_C = parts_P
        if batch.candidate_parts_K is not None:
            sparse_C = bags_of_parts(batch, parts_P)
        scores_C: Tensor = tensor(batch.dense_CD, dtype) @ self.dense + sparse_C
        return scores_C if batch.base_C is None else scores_C + tensor(batch.base_C, dtype)


def bags_of_parts(batch: CandidateBatch, parts_P: Tensor) -> Tensor:
    """The sum of the scores of the parts that each of C candidates of a two-level batch holds, shape (C,)."""
    parts_K = torch.as_tensor(batch.part_of_K(), device=parts_P.device)
    offsets_C1 = torch.as_tensor(batch.candidate_part_offsets_C1, device=parts_P.device)
    bags_C1 = nn.functional.embedding_bag(parts_K, parts_P[:, None], offsets_C1, mode="sum", include_last_offset=True)
    return bags_C1[:, 0]


class CompiledScorer(nn.Module):
    """The scores of lists that stay, on the CPU, in float64.

    Args:
        lists: sparse ids and fixed scores of C candidates.
        features_CD: their dense features, which may be others than those of `lists`.
        dense_D: float weights to begin at.
        sparse_F: sparse weights to begin at.
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
