"""Expected BLEU over n-best lists (Rosti et al. 2010; Auli, Galley & Gao 2014, section 5).

With scores s, p(e|f) = exp(γ s(e)) / Σ exp(γ s(e')) over the list of f, and sentence BLEU g:

    xBLEU = Σ_e p(e|f) g(e),    d xBLEU / d s(e) = γ p(e|f) (g(e) - xBLEU)        (Eq. 8)

The loss is -xBLEU. A step of descent on it is φ + μ δ u; the sign in line 14 of the paper's Figure 2 is wrong.
`ExpectedCorpusBleu` instead uses BLEU of the expected statistics of the whole text, as in Rosti et al. Tuning needs
BLEU of the text, and the mean of sentence BLEU favours other lengths (Nakov, Guzman & Vogel 2012).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from xlate.array_types import Floats, Floats32, Uints
from xlate.errors import InputError
from xlate.kernels.learning.slopes import Slope, shares
from xlate.losses.lists import FlatLists, Lists
from xlate.losses.loss import Needs, ScaledLoss


@Slope
def expected_gain_slope(
    score_X: Floats, gain_X: Floats32, slope_X: Floats, size: int, numbers: Floats, _state: Uints
) -> float:
    """Eq. 8 of Auli, Galley & Gao (2014)."""
    gamma = numbers[0]
    for x in range(size):
        slope_X[x] = gamma * score_X[x]
    shares(slope_X, size)
    expected = 0.0
    for x in range(size):
        expected += slope_X[x] * gain_X[x]
    for x in range(size):
        slope_X[x] *= gamma * (gain_X[x] - expected)
    return -expected


class ExpectedBleu(ScaledLoss):
    """The loss as an autograd module, with its gradient in closed form; an empty list adds nothing.

    The loss is a smooth function of the scores and can be differentiated any number of times; gains are constants.
    """

    name = "expected_bleu"
    slope = expected_gain_slope

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        """Minus the sum of xBLEU over all lists; scalar.

        Args:
            scores_C: finite scores of C hypotheses.
            gain_C: their sentence BLEU, on any scale.
            candidate_offsets_I1: first hypothesis of each of I lists, and C.
        """
        loss: Tensor = _ClosedForm.apply(scores_C, gain_C, candidate_offsets_I1, self.gamma)  # type: ignore[no-untyped-call]
        return loss

    def each(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """Minus xBLEU of every list."""
        return -expected_gains(scores_C, gain_C, lists, self.gamma)[0]


def expected_gains(scores_C: Tensor, gain_C: Tensor, lists: Lists, gamma: float) -> tuple[Tensor, Tensor]:
    """xBLEU of every list, and p(e|f) of every candidate, computed by differentiable operations."""
    probability_C = lists.shares(gamma * scores_C)
    return lists.sum(probability_C * gain_C), probability_C


class ExpectedCorpusBleu(ScaledLoss):
    """Minus BLEU (0 to 1) of expected statistics, times the number of lists; 0 if an order is never matched.

    The factor gives penalties the same weight as with losses that are summed over lists.
    """

    name = "expected_corpus_bleu"
    needs = Needs.STATISTICS

    def total(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """The loss as a scalar; `gain_C` are BLEU statistics as `bleu_scores` takes them, K = 2 + 2·order."""
        order = (gain_C.shape[-1] - 2) // 2
        probability_C, _ = lists.flat(lists.shares(self.gamma * scores_C))
        statistics_CK, _ = lists.flat(gain_C)
        sums_K = probability_C @ statistics_CK
        correct, total = sums_K[2 : 2 + order], sums_K[2 + order :]
        if bool((correct <= 0).any()):
            return 0.0 * sums_K.sum()
        brevity = torch.clamp(1.0 - sums_K[1] / sums_K[0], max=0.0)
        return -len(lists) * torch.exp(torch.log(correct / total).mean() + brevity)

    def each(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:  # noqa: ARG002
        """Not available.

        Raises:
            InputError: always, because the value belongs to all lists together.
        """
        seen, expected = "the loss of every list", "the loss of all lists: sum or mean"
        raise InputError("BLEU of a whole text is not a sum over its sentences", seen, expected)


class _ClosedForm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor, gamma: float) -> Tensor:
        lists = FlatLists(candidate_offsets_I1, len(scores_C))
        expected_I, probability_C = expected_gains(scores_C, gain_C, lists, gamma)
        slope_C = _slope(expected_I, probability_C, gain_C, lists, gamma)
        ctx.save_for_backward(scores_C, gain_C, candidate_offsets_I1, slope_C)
        ctx.gamma = gamma
        return -expected_I.sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        scores_C, gain_C, candidate_offsets_I1, slope_C = ctx.saved_tensors
        if torch.is_grad_enabled():
            # The gradient may itself be differentiated, so it must not be a constant.
            lists = FlatLists(candidate_offsets_I1, len(scores_C))
            expected_I, probability_C = expected_gains(scores_C, gain_C, lists, ctx.gamma)
            slope_C = _slope(expected_I, probability_C, gain_C, lists, ctx.gamma)
        return -grad * slope_C, None, None, None


def _slope(expected_I: Tensor, probability_C: Tensor, gain_C: Tensor, lists: Lists, gamma: float) -> Tensor:
    """Eq. 8: how xBLEU changes with each score."""
    return gamma * probability_C * (gain_C - lists.spread(expected_I))
