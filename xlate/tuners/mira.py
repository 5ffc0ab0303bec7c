"""k-best MIRA: a margin in BLEU between the hope and the fear hypothesis of each list (Cherry & Foster 2012).

Hope has the highest score + gain, fear the highest score - gain. If hope leads fear by less score than the difference
in gain, the weights move by the smallest step that corrects this, at most C. Gain is BLEU with a background corpus (the
sum of hopes so far), times its reference length (Chiang, Marton & Resnik 2008). After each epoch the average of all
weights so far is measured; the best one is returned.

This module also has what all tuners share: checks of lists, and the size of weights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xlate.array_types import NO_FLOATS, Bools
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.mira import MiraSteps, MiraWeights, mira_pass
from xlate.metrics.bleu import ORDER
from xlate.metrics.objective import Objective
from xlate.scoring.weights import Weights
from xlate.tuners.settings import MiraConfig


def checked_lists(lists: CandidateBatch, start: Weights) -> CandidateArrays:
    """Lists as compiled loops take them, with their parts written out; gains are left at 0.

    Raises:
        InputError: no hypothesis, features that are not finite, weights that do not fit.
    """
    if not lists.candidates:
        raise InputError("nothing to tune on", "no hypothesis")
    most = int(lists.part_ids_N.max(initial=-1))
    if lists.dense_CD.shape[1] != len(start.dense_D) or most >= len(start.sparse_F):
        raise InputError(
            "weights do not fit the lists",
            f"{len(start.dense_D)} float and {len(start.sparse_F)} sparse weights",
            f"{lists.dense_CD.shape[1]} and more than {most}",
        )
    values_N = NO_FLOATS if lists.part_values_N is None else lists.part_values_N
    if not (np.isfinite(lists.dense_CD).all() and np.isfinite(values_N).all() and start.finite):
        raise InputError("features or weights are not finite", expected="numbers")
    return lists.arrays(np.zeros(lists.candidates), parts=True)


def scaled(weights: Weights, trained_D: Bools) -> Weights:
    """The same weights with sizes that sum to 1 over the tuned floats, as Moses keeps them.

    Translations do not depend on the scale, but beam thresholds and the reach of a tuner's step do.
    """
    size = float(np.abs(weights.dense_D[trained_D]).sum())
    if size == 0.0:
        return weights
    dense_D = np.where(trained_D, weights.dense_D / size, weights.dense_D)
    return replace(weights, dense_D=dense_D, sparse_F=weights.sparse_F / size)


def mira(
    lists: CandidateBatch,
    start: Weights,
    settings: MiraConfig,
    seed: int,
    objective: Objective,
    trained_D: Bools,
) -> Weights:
    """Weights found from `start`; each epoch takes the lists in a newly drawn order.

    Args:
        lists: I n-best lists with BLEU statistics as gains.
        start: where to begin.
        settings: how it runs; an epoch whose translations miss the reference length by more than the length band is
            returned only if all epochs do.
        seed: for the orders.
        objective: the gain of hypotheses; measures other than BLEU count per sentence, times the reference length.
        trained_D: which float weights move.

    Raises:
        InputError: no hypothesis, features that are not finite, weights that do not fit.
    """
    arrays = checked_lists(lists, start)
    random = np.random.default_rng(seed)
    statistics_CK = np.ascontiguousarray(lists.gain_CG, np.float64)
    steps = MiraSteps(
        statistics_CK,
        np.zeros(len(statistics_CK)) if objective.is_bleu else objective.beside_bleu(statistics_CK),
        objective.weights.get("bleu", 0.0),
        (statistics_CK.shape[1] - 2) // 2 if objective.is_bleu else ORDER,
        trained_D,
        settings.C,
        settings.decay,
        settings.sparse_rate,
    )
    state = _begin(start, statistics_CK.shape[1])
    best, average = (False, -np.inf, start), start
    # A pass also scores the average before it, so one more is made, whose steps do not count.
    for epoch in range(settings.epochs + 1):
        judged = np.asarray(average.dense_D, np.float64), np.asarray(average.sparse_F, np.float64)
        sums_K = mira_pass(arrays, state, judged, random.permutation(len(lists)), steps)
        # Before the first one, the average is the start.
        if epoch > 0:
            score = float(objective.corpus(sums_K[None])[0])
            fits = bool(abs(sums_K[0] / max(sums_K[1], 1.0) - 1.0) <= settings.length_band)
            if (fits, score) > best[:2]:
                best = fits, score, average
        passes = max(int(state.clock_1[0]), 1)
        dense_D, sparse_F = state.dense_D - state.dense_lag_D / passes, state.sparse_F - state.sparse_lag_F / passes
        average = replace(start, dense_D=dense_D, sparse_F=sparse_F)
    return best[2]


def _begin(start: Weights, statistics: int) -> MiraWeights:
    return MiraWeights(
        np.array(start.dense_D, np.float64),
        np.array(start.sparse_F, np.float64),
        np.zeros(len(start.dense_D)),
        np.zeros(len(start.sparse_F)),
        # All counts start at 1, so that the first lists have a gain.
        np.ones(statistics),
        np.zeros(1, np.int64),
    )
