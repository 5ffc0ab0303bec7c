"""Tuning by gradients: any loss over lists, minimised by L-BFGS on standardised float features and sparse ones; PRO.

The sum of squares of the weights, times l2, keeps losses with a free scale (expected BLEU, likelihoods) from growing
without bound. Standardised means divided by the standard deviation within lists; weights are mapped back.

Tuned weights are kept with sizes that sum to 1. At that scale lists look nearly flat to most losses, and a descent from
there ends at weights that suit these lists but no other translations. So scores are first multiplied by the factor that
suits the loss best, and moving the weights away from the start is penalised, too. A round of tuning then goes only as
far as its lists justify.

PRO is tuning as ranking, by a classifier of sampled pairs of hypotheses (Hopkins & May 2011). From each list `samples`
pairs are drawn; of those that differ by at least `least` in BLEU+1, the `kept` with the largest difference stay. A
logistic regression on the differences of their features gives the new weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from xlate.array_types import NO_INTS, AnyFloats, Bools, Ints
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import spread_within_lists
from xlate.losses.loss import Loss, gains_for
from xlate.losses.pro import PairwiseLogistic
from xlate.metrics.objective import Objective
from xlate.scoring.linear import CompiledScorer
from xlate.scoring.weights import Weights
from xlate.tuners.mira import checked_lists, scaled
from xlate.tuners.settings import PenaltyConfig, ProConfig

ZERO = (0.0, 0.0)
# Scores are multiplied by at most two to this power.
MOST_DOUBLINGS = 10


def descend(
    lists: CandidateBatch,
    start: Weights,
    loss: Loss,
    settings: PenaltyConfig,
    objective: Objective,
    trained_D: Bools,
) -> Weights:
    """The weights where the loss of all lists is least, found from `start`; nothing is drawn at random.

    Args:
        lists: n-best lists with BLEU statistics as gains.
        start: where to begin.
        loss: any loss over candidates; it gets statistics, gains or the best candidates as truth.
        settings: how far it goes. Half the penalty, per list, is on the squared weights of standardised features, and
            half the step penalty on their squared distance from the start of the descent. The descent starts at the
            best scale, or, without a step penalty, at the given scale.
        objective: the gain of hypotheses.
        trained_D: which float weights move.

    Raises:
        InputError: there is no hypothesis, features are not finite, weights do not fit, or the loss is over lattices.
    """
    arrays = checked_lists(lists, start)
    statistics_CK = lists.gain_CG.astype(np.float64)
    spread_D = spread_within_lists(lists.dense_CD, lists.candidate_offsets_I1)
    scorer = CompiledScorer(arrays, lists.dense_CD / spread_D, start.dense_D * spread_D, start.sparse_F)
    gains = gains_for(loss, statistics_CK, lists.candidate_offsets_I1, objective.sentences)
    gain, offsets = torch.as_tensor(gains), torch.as_tensor(lists.candidate_offsets_I1)
    penalised = _Penalised(
        scorer, lambda scores: loss(scores, gain, offsets), torch.as_tensor(trained_D), settings, len(lists)
    )
    scale = penalised.best_scale() if settings.step_penalty else 1.0
    penalised.minimise(scale)
    dense_D, sparse_F = (p.detach().numpy() / scale for p in (scorer.dense, scorer.sparse))
    return replace(start, dense_D=dense_D / spread_D, sparse_F=sparse_F)


@dataclass(frozen=True)
class _Penalised:
    """The loss of all lists as a function of a scorer's weights, and its penalties."""

    scorer: CompiledScorer
    loss: Callable[[Tensor], Tensor]
    trained_D: Tensor
    settings: PenaltyConfig
    instances: int

    def best_scale(self) -> float:
        """The factor for scores, a power of two, with the least loss and penalty; the smallest of equals."""
        factors = [2.0**power for power in range(MOST_DOUBLINGS + 1)]
        with torch.no_grad():
            scores, size = self.scorer(), self._squares(ZERO)
            values = [float(self.loss(factor * scores) + self._penalty(factor**2 * size)) for factor in factors]
        return factors[int(np.argmin(values))]

    def minimise(self, scale: float) -> None:
        """Minimises over the scorer's weights, starting from `scale` times their current values."""
        scorer, most = self.scorer, self.settings.epochs
        parameters = [scorer.dense, *([scorer.sparse] if len(scorer.sparse) else [])]
        with torch.no_grad():
            for parameter in parameters:
                parameter.mul_(scale)
        begun = [scorer.dense.detach().clone(), scorer.sparse.detach().clone()]
        rule = torch.optim.LBFGS(parameters, max_iter=most, max_eval=most, line_search_fn="strong_wolfe")

        def closure() -> Tensor:
            rule.zero_grad()
            value = self.loss(scorer()) + self._penalty(self._squares(ZERO), self._squares(begun))
            value.backward()  # type: ignore[no-untyped-call]
            assert scorer.dense.grad is not None
            scorer.dense.grad *= self.trained_D
            return value

        rule.step(closure)  # type: ignore[no-untyped-call]

    def _squares(self, origin: Sequence[Tensor | float]) -> Tensor:
        """The squared distance of the weights that move from an origin."""
        dense_D, sparse_F = self.scorer.dense - origin[0], self.scorer.sparse - origin[1]
        return (torch.where(self.trained_D, dense_D, 0.0) ** 2).sum() + (sparse_F**2).sum()

    def _penalty(self, size: Tensor, step: Tensor | float = 0.0) -> Tensor:
        return 0.5 * self.instances * (self.settings.penalty * size + self.settings.step_penalty * step)


def pro(
    lists: CandidateBatch,
    start: Weights,
    settings: ProConfig,
    seed: int,
    objective: Objective,
    trained_D: Bools,
) -> Weights:
    """New weights from pairs drawn with a seed; those of `start` if no pair differs enough.

    When all weights are tuned, old and new ones are mixed with sizes that sum to 1; otherwise the untuned ones fix the
    scale.

    Raises:
        InputError: there is no hypothesis, features are not finite, or weights do not fit.
    """
    better_P, worse_P = sampled_pairs(
        objective.sentences(lists.gain_CG), lists.candidate_offsets_I1, settings, np.random.default_rng(seed)
    )
    if not len(better_P):
        return start
    loss = PairwiseLogistic(torch.as_tensor(better_P), torch.as_tensor(worse_P))
    new, old, share = descend(lists, start, loss, settings, objective, trained_D), start, settings.share
    if not settings.weights:
        new, old = scaled(new, trained_D), scaled(old, trained_D)
    dense_D = share * new.dense_D + (1 - share) * old.dense_D
    return replace(
        start,
        dense_D=np.where(trained_D, dense_D, start.dense_D),
        sparse_F=share * new.sparse_F + (1 - share) * old.sparse_F,
    )


def sampled_pairs(
    gain_C: AnyFloats, offsets_I1: Ints, settings: ProConfig, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """The better and the worse hypothesis of each of P pairs; of pairs that differ equally, those drawn first stay."""
    better, worse = [NO_INTS], [NO_INTS]
    for first, last in zip(offsets_I1[:-1].tolist(), offsets_I1[1:].tolist(), strict=True):
        if last - first < 2:
            continue
        drawn_2S = random.integers(first, last, (2, settings.samples))
        difference_S = gain_C[drawn_2S[0]] - gain_C[drawn_2S[1]]
        wide_S = np.flatnonzero(np.abs(difference_S) >= settings.least)
        wide_S = wide_S[np.argsort(-np.abs(difference_S[wide_S]), kind="stable")[: settings.kept]]
        turned_S = difference_S[wide_S] < 0
        better.append(np.where(turned_S, drawn_2S[1, wide_S], drawn_2S[0, wide_S]))
        worse.append(np.where(turned_S, drawn_2S[0, wide_S], drawn_2S[1, wide_S]))
    return np.concatenate(better), np.concatenate(worse)
