"""The linear scorer of bags that are written out, for tuners that go through all lists again and again.

`LinearScorer` is the reference: it takes any batch and any device, and its EmbeddingBag takes ten times as long for the
gradient of one column of weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from xlate.kernels.learning.bags import bag_gradient, bag_sums


class FlatScorer(nn.Module):
    """score_C = dense_CD · w_D + Σ value · w_F over the ids of candidate C, on the CPU, in float64.

    Args:
        dense_CD: float features of C candidates.
        id_offsets_C1: where the N sparse ids of each candidate begin.
        ids_N: the ids, below F.
        values_N: their values.
        dense_D: float weights to begin at.
        sparse_F: sparse weights to begin at.
    """

    def __init__(
        self,
        dense_CD: NDArray[np.float64],
        id_offsets_C1: NDArray[np.int64],
        ids_N: NDArray[np.int32],
        values_N: NDArray[np.float32],
        dense_D: NDArray[np.float64],
        sparse_F: NDArray[np.float64],
    ) -> None:
        super().__init__()
        self.features_CD = torch.as_tensor(dense_CD)
        self.bags = id_offsets_C1, ids_N, values_N
        self.dense = nn.Parameter(torch.tensor(dense_D, dtype=torch.float64))
        self.sparse = nn.Parameter(torch.tensor(sparse_F, dtype=torch.float64))

    def forward(self) -> Tensor:
        """The scores of all candidates, shape (C,)."""
        dense_C = self.features_CD @ self.dense
        if not len(self.sparse):
            return dense_C
        return dense_C + _BagSums.apply(self.sparse, *self.bags)  # type: ignore[no-untyped-call, no-any-return]


class _BagSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights_F: Tensor, *bags: Any) -> Tensor:
        """The sum of each bag."""
        ctx.bags, ctx.size = bags, len(weights_F)
        offsets_C1, ids_N, values_N = bags
        return torch.from_numpy(bag_sums(offsets_C1, ids_N, values_N, weights_F.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None, None]:
        """Slopes scattered over the ids."""
        offsets_C1, ids_N, values_N = ctx.bags
        slopes_C = slopes[0].contiguous().numpy()
        return torch.from_numpy(bag_gradient(offsets_C1, ids_N, values_N, slopes_C, ctx.size)), None, None, None
