"""Tuning by gradients: any loss over lists, minimised by L-BFGS on standardised float features and sparse ones.

The sum of squares of the weights, times l2, keeps losses with a free scale (expected BLEU, likelihoods) from growing
without end. Standardised means divided by the standard deviation within lists; weights are mapped back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.spread import spread_within_lists
from xlate.errors import InputError
from xlate.losses.loss import Loss, told
from xlate.metrics.objective import BLEU, Objective
from xlate.scoring.linear import CompiledScorer
from xlate.scoring.weights import Weights
from xlate.tuners.tuned import Tuned, best_statistics, checked_lists


@dataclass(frozen=True)
class GradientSettings:
    """How the loss is minimised.

    Attributes:
        epochs: the most evaluations of all lists.
        l2: half the penalty on the squared weights of standardised features, a list.
        trained_D: which float weights move; None for all.
    """

    epochs: int = 60
    l2: float = 1e-4
    trained_D: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        if self.epochs < 1 or self.l2 < 0:
            seen = f"epochs {self.epochs}, l2 {self.l2}"
            raise InputError("settings of the gradient", seen=seen, expected="epochs ≥ 1, l2 ≥ 0")


def descend(
    lists: CandidateBatch,
    start: Weights,
    loss: Loss,
    settings: GradientSettings,
    objective: Objective = BLEU,
) -> Tuned:
    """The weights where the loss of all lists is least, found from `start`; nothing is drawn at random.

    Args:
        lists: n-best lists with BLEU statistics as gains.
        start: where to begin.
        loss: any that looks at candidates; it is given statistics, gains or the best candidates as truth.
        settings: see `GradientSettings`.
        objective: what hypotheses gain, and what the score that comes back is of.

    Raises:
        InputError: no hypothesis, features that are not finite, weights that do not fit, a loss over lattices.
    """
    arrays = checked_lists(lists, start)
    statistics_CK = lists.gain_CG.astype(np.float64)
    spread_D = spread_within_lists(lists.dense_CD, lists.candidate_offsets_I1)
    scorer = CompiledScorer(arrays, lists.dense_CD / spread_D, start.dense_D * spread_D, start.sparse_F)
    trained_D = np.ones(len(start.dense_D), np.bool_) if settings.trained_D is None else settings.trained_D
    gains = told(loss, statistics_CK, lists.candidate_offsets_I1, objective.sentences)
    gain, offsets = torch.as_tensor(gains), torch.as_tensor(lists.candidate_offsets_I1)
    value = _minimise(
        scorer, lambda scores: loss(scores, gain, offsets), torch.as_tensor(trained_D), settings, len(lists)
    )
    dense_D, sparse_F = scorer.dense.detach().numpy() / spread_D, scorer.sparse.detach().numpy()
    weights = replace(start, dense_D=dense_D, sparse_F=sparse_F)
    score = float(objective.corpus(best_statistics(arrays, statistics_CK, weights)[None])[0])
    return Tuned(weights, score, {"loss": value})


def _minimise(
    scorer: CompiledScorer,
    loss: Callable[[Tensor], Tensor],
    trained_D: Tensor,
    settings: GradientSettings,
    instances: int,
) -> float:
    """Changes the scorer's weights; returns the last value of the loss."""
    parameters = [scorer.dense, *([scorer.sparse] if len(scorer.sparse) else [])]
    most = settings.epochs
    rule = torch.optim.LBFGS(parameters, max_iter=most, max_eval=most, line_search_fn="strong_wolfe")
    reached = [0.0]

    def closure() -> Tensor:
        rule.zero_grad()
        penalty = sum((p**2).sum() for p in parameters)
        value = loss(scorer()) + 0.5 * settings.l2 * instances * penalty
        value.backward()  # type: ignore[no-untyped-call]
        assert scorer.dense.grad is not None
        scorer.dense.grad *= trained_D
        reached[0] = float(value.detach())
        return value

    rule.step(closure)  # type: ignore[no-untyped-call]
    return reached[0]
