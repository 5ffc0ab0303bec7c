"""PRO: tuning as ranking, by a classifier of sampled pairs of hypotheses (Hopkins & May 2011).

From each list `samples` pairs are drawn; of those that differ by at least `least` in BLEU+1 the `kept` with the largest
difference stay. A logistic regression on the differences of their features gives the new weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch

from xlate.array_types import AnyFloats, Bools, Ints
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.losses.pro import PairwiseLogistic
from xlate.metrics.objective import BLEU, Objective
from xlate.scoring.weights import Weights
from xlate.tuners.gradient import GradientSettings, descend
from xlate.tuners.tuned import Tuned, best_statistics, checked_lists


@dataclass(frozen=True)
class ProSettings:
    """How pairs are sampled, and how the regression is done.

    Attributes:
        samples: pairs drawn from each list.
        kept: how many of them stay at most.
        least: the least difference of BLEU+1, from 0 to 1.
        share: of the new weights in what is returned, the rest being the old ones.
        scaled: both have sizes that sum to 1; not so where weights that do not move have a size to keep.
        regression: penalty and length of the regression, and which float weights move.
    """

    samples: int = 5000
    kept: int = 50
    least: float = 0.05
    share: float = 1.0
    scaled: bool = True
    regression: GradientSettings = field(default_factory=GradientSettings)

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        if self.samples < 1 or self.kept < 1 or self.least <= 0 or not 0 < self.share <= 1:
            seen = f"samples {self.samples}, kept {self.kept}, least {self.least}, share {self.share}"
            raise InputError("PRO settings", seen=seen, expected="samples ≥ 1, kept ≥ 1, least > 0, 0 < share ≤ 1")


def pro(lists: CandidateBatch, start: Weights, settings: ProSettings, seed: int, objective: Objective = BLEU) -> Tuned:
    """New weights from pairs drawn with a seed; those of `start` when no pair differs enough.

    Raises:
        InputError: no hypothesis, features that are not finite, weights that do not fit.
    """
    better_P, worse_P = sampled_pairs(
        objective.sentences(lists.gain_CG), lists.candidate_offsets_I1, settings, np.random.default_rng(seed)
    )
    if not len(better_P):
        return Tuned(start, 0.0, {"pairs": 0.0})
    loss = PairwiseLogistic(torch.as_tensor(better_P), torch.as_tensor(worse_P))
    found = descend(lists, start, loss, settings.regression, objective)
    given = settings.regression.trained_D
    trained_D = np.ones(len(start.dense_D), np.bool_) if given is None else given
    new, old, share = found.weights, start, settings.share
    if settings.scaled:
        new, old = _scaled(new, trained_D), _scaled(old, trained_D)
    dense_D = share * new.dense_D + (1 - share) * old.dense_D
    weights = replace(
        start,
        dense_D=np.where(trained_D, dense_D, start.dense_D),
        sparse_F=share * new.sparse_F + (1 - share) * old.sparse_F,
    )
    sums_K = best_statistics(checked_lists(lists, weights), lists.gain_CG, weights)
    return Tuned(weights, float(objective.corpus(sums_K[None])[0]), {"pairs": float(len(better_P))})


def sampled_pairs(
    gain_C: AnyFloats, offsets_I1: Ints, settings: ProSettings, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """The better and the worse hypothesis of each of P pairs; of equally different ones those drawn first stay."""
    better: list[Ints] = []
    worse: list[Ints] = []
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
    nothing = np.zeros(0, dtype=np.int64)
    return np.concatenate([nothing, *better]), np.concatenate([nothing, *worse])


def _scaled(weights: Weights, trained_D: Bools) -> Weights:
    """With sizes of the tuned floats that sum to 1."""
    size = float(np.abs(weights.dense_D[trained_D]).sum()) or 1.0
    return replace(weights, dense_D=weights.dense_D / size, sparse_F=weights.sparse_F / size)
