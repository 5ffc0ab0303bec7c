"""Logistic loss over pairs of hypotheses, of which the better should score higher (Hopkins & May 2011).

    L = Σ_(a, b) ln( 1 + exp( γ (s(b) - s(a)) ) ),    a the better of the two

From each list, 20 times as many pairs as needed are drawn at random. Of the pairs whose gains differ enough, those that
differ most are used.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from xlate.array_types import AnyFloats, AnyInts, Floats, Floats32, Ints, Uints
from xlate.compiled import loop
from xlate.errors import refuse_if
from xlate.kernels.learning.slopes import Slope, draw
from xlate.losses.lists import Lists
from xlate.losses.loss import Loss, ScaledLoss

DRAWN_FOR_ONE = 20


@loop
def drawn_pairs(gain_X: Floats32, size: int, pairs: int, least_difference: float, state: Uints) -> Ints:
    """The better and the worse of each of P pairs of a list, drawn with `state`, (P, 2)."""
    tries = DRAWN_FOR_ONE * pairs
    drawn = np.empty((tries, 2), np.int64)
    difference = np.empty(tries)
    kept = 0
    for _ in range(tries):
        one, other = draw(state, size), draw(state, size)
        apart = gain_X[one] - gain_X[other]
        if abs(apart) >= least_difference:
            drawn[kept, 0], drawn[kept, 1] = (one, other) if apart > 0 else (other, one)
            difference[kept] = -abs(apart)
            kept += 1
    return drawn[np.argsort(difference[:kept], kind="mergesort")[:pairs]]


@Slope
def pairs_slope(score_X: Floats, gain_X: Floats32, slope_X: Floats, size: int, numbers: Floats, state: Uints) -> float:
    """The slope over pairs drawn with `state`."""
    gamma = numbers[0]
    slope_X[:size] = 0.0
    loss = 0.0
    for better, worse in drawn_pairs(gain_X, size, int(numbers[1]), numbers[2], state):
        distance = gamma * (score_X[better] - score_X[worse])
        missing = 1.0 / (1.0 + np.exp(min(distance, 700.0)))
        loss += np.log1p(np.exp(-distance)) if distance > -30.0 else -distance
        slope_X[better] += gamma * missing
        slope_X[worse] -= gamma * missing
    return float(loss)


class PairwiseLogistic(Loss):
    """The loss of P given pairs as an autograd module; candidate `better_P[p]` is better than `worse_P[p]`."""

    def __init__(self, better_P: Tensor, worse_P: Tensor) -> None:
        super().__init__()
        self.better_P = better_P
        self.worse_P = worse_P

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:  # noqa: ARG002
        """The summed loss; scalar. The pairs are given, so gains and lists are not used."""
        return pairwise_logistic(scores_C, self.better_P, self.worse_P).sum()


def pairwise_logistic(scores_C: Tensor, better_P: Tensor, worse_P: Tensor, gamma: float = 1.0) -> Tensor:
    """The loss of every pair, (P,)."""
    return nn.functional.softplus(gamma * (scores_C[worse_P] - scores_C[better_P]))


class Pro(ScaledLoss):
    """The loss that draws its own pairs, with the same `seed` in every call.

    Raises:
        InputError: no pairs are requested, or the least difference is not above 0, so that neither hypothesis of a pair
            need be better.
    """

    name = "pro"
    slope = pairs_slope

    def __init__(self, gamma: float = 1.0, pairs: int = 20, least_difference: float = 0.05, seed: int = 1) -> None:
        super().__init__(gamma)
        refuse_if(
            pairs < 1 or least_difference <= 0, "settings of PRO", f"{pairs} pairs, {least_difference}", "both above 0"
        )
        self.pairs, self.least_difference, self.seed = pairs, least_difference, seed

    def numbers(self) -> tuple[float, ...]:
        """The scale of the scores, the number of pairs per list, and the least difference of their gains."""
        return self.gamma, float(self.pairs), self.least_difference

    def each(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """The loss of every list; pairs are drawn list by list."""
        flat_C, offsets_I1 = lists.flat(scores_C)
        told_C = lists.flat(gain_C)[0].detach().cpu().numpy()
        pairs = self.pairs_of(told_C, offsets_I1.cpu().numpy())
        better_P, worse_P = (torch.as_tensor(column, device=flat_C.device) for column in pairs)
        list_P = torch.bucketize(better_P, offsets_I1[1:], right=True)
        missing_P = pairwise_logistic(flat_C, better_P, worse_P, self.gamma)
        return flat_C.new_zeros(len(lists)).index_add(0, list_P, missing_P)

    def pairs_of(self, gain_C: AnyFloats, offsets_I1: AnyInts) -> tuple[Ints, Ints]:
        """The better and the worse hypothesis of each pair, list by list; the slope draws the same pairs."""
        gains = np.asarray(gain_C, np.float32)
        found = [np.zeros((0, 2), np.int64)]
        state = np.array([self.seed & (1 << 64) - 1], np.uint64)
        for first, last in pairwise(offsets_I1.tolist()):
            if last > first:
                settings = last - first, self.pairs, self.least_difference
                found.append(first + drawn_pairs(gains[first:last], *settings, state))
        pairs = np.concatenate(found)
        return pairs[:, 0].copy(), pairs[:, 1].copy()
