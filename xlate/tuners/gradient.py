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
from torch import Tensor, nn

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.spread import spread_within_lists
from xlate.errors import InputError
from xlate.kernels.learning.mira import best_statistics
from xlate.metrics.objective import BLEU, Objective
from xlate.metrics.sentence_bleu import sentence_bleu
from xlate.scoring.flat import FlatScorer
from xlate.scoring.weights import Weights
from xlate.tuners.mira import mira_lists
from xlate.tuners.tuned import Tuned

Gains = Callable[[NDArray[np.floating]], NDArray[np.floating]]


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


def sentence_gains(statistics_CK: NDArray[np.floating]) -> NDArray[np.floating]:
    """BLEU+1 of every hypothesis, from 0 to 1, shape (C,)."""
    gains_C: NDArray[np.float64] = sentence_bleu(statistics_CK) / 100.0
    return gains_C


def whole_statistics(statistics_CK: NDArray[np.floating]) -> NDArray[np.floating]:
    """The statistics as they are, for losses that look at the whole text."""
    return statistics_CK


def descend(
    lists: CandidateBatch,
    start: Weights,
    loss: nn.Module,
    settings: GradientSettings,
    gains: Gains = sentence_gains,
    objective: Objective = BLEU,
) -> Tuned:
    """The weights where the loss of all lists is least, found from `start`; nothing is drawn at random.

    Args:
        lists: n-best lists with BLEU statistics as gains.
        start: where to begin.
        loss: called with scores, what `gains` makes of the statistics, and the offsets of the lists.
        settings: see `GradientSettings`.
        gains: what the loss is given of the hypotheses.
        objective: what the score that comes back is of.

    Raises:
        InputError: no hypothesis, features that are not finite, weights that do not fit.
    """
    arrays = mira_lists(lists, start)
    spread_D = spread_within_lists(arrays.dense_CD, arrays.candidate_offsets_I1)
    bags = arrays.id_offsets_C1, arrays.ids_N, arrays.values_N
    scorer = FlatScorer(arrays.dense_CD / spread_D, *bags, start.dense_D * spread_D, start.sparse_F)
    trained_D = np.ones(len(start.dense_D), np.bool_) if settings.trained_D is None else settings.trained_D
    gain = torch.as_tensor(gains(arrays.statistics_CK))
    offsets = torch.as_tensor(arrays.candidate_offsets_I1)
    value = _minimise(
        scorer, lambda scores: loss(scores, gain, offsets), torch.as_tensor(trained_D), settings, len(lists)
    )
    dense_D, sparse_F = scorer.dense.detach().numpy() / spread_D, scorer.sparse.detach().numpy()
    weights = replace(start, dense_D=dense_D, sparse_F=sparse_F)
    score = float(objective.corpus(best_statistics(arrays, weights.dense_D, weights.sparse_F)[None])[0])
    return Tuned(weights, score, {"loss": value})


def _minimise(
    scorer: FlatScorer,
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
