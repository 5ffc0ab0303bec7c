"""Online updates: given the scores of one list, how much of each candidate's features is added to the weights.

MIRA makes the smallest step that gives every oracle its margin over every hypothesis (Watanabe et al. 2007, Eq. 3 to
6); with one oracle and one hypothesis the solution is the closed form `α = max(0, min(C, (L - lead) / |Δ|²))` of the
paper's section 4.1, which is the first step of the ascent. The perceptron makes a step of size 1 where a hypothesis
scores at least as high as an oracle (Liang et al. 2006, who have one of each; with several pairs the mean is used, so
that a step is as long as theirs). Tillmann & Zhang (2006) step down a convex loss, as given by Watanabe et al.:
α = η L max(0, 1 - lead). Any loss over lists makes a step down its slope on the hypotheses and oracles of one list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Uints
from xlate.errors import InputError
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.lists import slopes_of_list
from xlate.kernels.learning.mira import inner_products, largest_margins
from xlate.kernels.learning.slopes import Rule
from xlate.losses.loss import Loss, Needs, best_as_truth


@dataclass(frozen=True)
class OneList:
    """C candidates of one sentence under the current weights, M oracles and K hypotheses among them.

    Attributes:
        arrays: the one list, its parts written out.
        score_C, gain_C: of each candidate.
        oracle_M, hypothesis_K: which candidates they are; one may be both.
        rule: the step sizes.
        room_F: a 0 for every sparse feature.
    """

    arrays: CandidateArrays
    score_C: Floats
    gain_C: Floats
    oracle_M: Ints
    hypothesis_K: Ints
    rule: Rule
    room_F: Floats


@dataclass(frozen=True)
class OnlineStep:
    """A step: the weights move by Σ slope · features · step size.

    Attributes:
        slope_C: of each candidate.
        loss: the loss of the list under its scores before the step.
        pairs: pairs of an oracle and a hypothesis that gains less; violated: those whose scores lead by too little.
        alpha: the sum of the α of all pairs; 0 for losses, which have none.
    """

    slope_C: Floats
    loss: float
    pairs: int = 0
    violated: int = 0
    alpha: float = 0.0


class OnlineUpdate(ABC):
    """How a list moves the weights.

    Attributes:
        memory: what it remembers between lists, changed in place: nothing, or the random state.
    """

    memory: Uints = np.zeros(0, np.uint64)

    @abstractmethod
    def step(self, given: OneList) -> OnlineStep:
        """The step that a list requires."""


@dataclass(frozen=True)
class PairUpdate(OnlineUpdate):
    """An update by pairs of an oracle and a hypothesis that gains less: Σ α(o, e) (h(o) - h(e)) is added.

    Pairs whose hypothesis gains as much or more are left out: pushing it down would teach the wrong thing.

    Attributes:
        margin: the score that a unit of gain is worth; it turns gains into the loss L(o, e).
        name: its name in configurations.
    """

    margin: float = 1.0
    name: ClassVar[str]

    @abstractmethod
    def alphas(self, given: OneList, loss_MK: Floats, lead_MK: Floats) -> Floats:
        """The α of all pairs, (M, K), given L and how far score oracles lead; 0 where L is not above 0."""

    def violated(self, loss_MK: Floats, lead_MK: Floats) -> Bools:
        """The pairs that lack score, (M, K)."""
        return (loss_MK > 0) & (lead_MK < loss_MK)

    def step(self, given: OneList) -> OnlineStep:
        """The step given by the α; the loss is the largest amount that a pair lacks."""
        oracle_M, hypothesis_K = given.oracle_M, given.hypothesis_K
        loss_MK = self.margin * (given.gain_C[oracle_M][:, None] - given.gain_C[hypothesis_K])
        lead_MK = given.score_C[oracle_M][:, None] - given.score_C[hypothesis_K]
        violated_MK, slope_C = self.violated(loss_MK, lead_MK), np.zeros(len(given.score_C))
        missing, alpha = 0.0, 0.0
        if violated_MK.any():
            alpha_MK = self.alphas(given, loss_MK, lead_MK)
            np.add.at(slope_C, oracle_M, alpha_MK.sum(axis=1))
            np.subtract.at(slope_C, hypothesis_K, alpha_MK.sum(axis=0))
            missing, alpha = float((loss_MK - lead_MK)[violated_MK].max()), float(alpha_MK.sum())
        return OnlineStep(slope_C, missing, int((loss_MK > 0).sum()), int(violated_MK.sum()), alpha)


# Pairs of a list need a few steps each; where features hardly distinguish them, further steps gain nothing.
STEPS = 100_000


@dataclass(frozen=True)
class Mira(PairUpdate):
    """The quadratic program over all pairs.

    Attributes:
        C: the upper limit of the sum of a list's α.
    """

    C: float = 0.01
    name = "mira"

    def alphas(self, given: OneList, loss_MK: Floats, lead_MK: Floats) -> Floats:  # noqa: ARG002
        """The α that maximise the dual."""
        rows = given.oracle_M, given.hypothesis_K
        products_CC = inner_products(given.arrays, given.rule.eta_D, given.rule.eta, given.room_F)
        return largest_margins(products_CC, given.score_C, *rows, loss_MK, self.C, STEPS)


@dataclass(frozen=True)
class AveragedPerceptron(PairUpdate):
    """Requires no margin and computes no step size; averaging the weights makes it robust."""

    name = "averaged_perceptron"

    def violated(self, loss_MK: Floats, lead_MK: Floats) -> Bools:
        """The pairs in which the oracle does not lead."""
        return (loss_MK > 0) & (lead_MK <= 0)

    def alphas(self, given: OneList, loss_MK: Floats, lead_MK: Floats) -> Floats:  # noqa: ARG002
        """The same α for each violated pair, 1 in total."""
        alpha_MK = self.violated(loss_MK, lead_MK).astype(np.float64)
        return alpha_MK / max(float(alpha_MK.sum()), 1.0)


@dataclass(frozen=True)
class TillmannZhang(PairUpdate):
    """Every oracle should lead by 1; pairs count the more, the more the hypothesis loses.

    Attributes:
        eta: η, the learning rate.
    """

    eta: float = 0.01
    name = "tillmann_zhang"

    def violated(self, loss_MK: Floats, lead_MK: Floats) -> Bools:
        """The pairs in which the oracle leads by less than 1."""
        return (loss_MK > 0) & (lead_MK < 1)

    def alphas(self, given: OneList, loss_MK: Floats, lead_MK: Floats) -> Floats:  # noqa: ARG002
        """η L (1 - lead) for each violated pair."""
        return self.eta * np.maximum(loss_MK, 0.0) * np.maximum(1.0 - lead_MK, 0.0)


class LossSteps(OnlineUpdate):
    """Steps of size η down a loss, on the list from which other updates make their pairs.

    Raises:
        InputError: a loss that does not treat each list separately, or has no compiled slope.
    """

    def __init__(self, loss: Loss, eta: float, seed: int = 0) -> None:
        if loss.needs not in (Needs.GAINS, Needs.TRUTH) or loss.slope is None or loss.judges_each:
            raise InputError(
                "not a loss of one list", loss.name, "one over lists: expected_bleu, softmax_margin, ramp …"
            )
        self.loss, self.eta = loss, eta
        self._pointer = loss.slope.pointer
        # The random state of losses that sample candidates.
        self.memory = np.full(1, seed, np.uint64)

    def step(self, given: OneList) -> OnlineStep:
        """A step down the slope."""
        gains = given.gain_C.astype(np.float32)
        if self.loss.needs is Needs.TRUTH:
            gains = best_as_truth(gains, np.array([0, len(gains)])).astype(np.float32)
        numbers = self.loss.numbers_array
        loss, slope_C = slopes_of_list(given.score_C, gains, numbers, self.memory, self._pointer)
        return OnlineStep(self.eta * slope_C, loss)
