"""k-best MIRA: a margin in BLEU between the hope and the fear hypothesis of each list (Cherry & Foster 2012).

Hope has the highest score + gain, fear the highest score - gain; where hope does not lead by as much score as it gains
more, the weights move by the smallest step that mends it, at most C. Gain is BLEU with a background corpus, which is
what hopes have summed up to so far, times its reference length (Chiang, Marton & Resnik 2008). After each epoch the
average of all weights so far is measured; the best one is returned.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.mira import (
    JudgedWeights,
    MiraGains,
    MiraSteps,
    MiraWeights,
    mira_pass,
    mira_room,
)
from xlate.metrics.bleu import ORDER
from xlate.metrics.objective import BLEU, Objective
from xlate.scoring.weights import Weights
from xlate.tuners.settings import MiraConfig
from xlate.tuners.tuner import best_statistics, checked_lists, trained


def mira(
    lists: CandidateBatch,
    start: Weights,
    settings: MiraConfig,
    seed: int,
    objective: Objective = BLEU,
    trained_D: Bools | None = None,
) -> Weights:
    """Weights found from `start`; lists are gone through in an order drawn anew each epoch.

    Args:
        lists: I n-best lists with BLEU statistics as gains.
        start: where to begin.
        settings: how it runs; an epoch whose translations are off the reference length by more than the length band is
            returned only when all are.
        seed: of the orders.
        objective: what hypotheses gain; measures beside BLEU count by sentence, times the reference length.
        trained_D: which float weights move; None for all.

    Raises:
        InputError: no hypothesis, features that are not finite, weights that do not fit.
    """
    arrays, gains = checked_lists(lists, start), _gains(lists, objective)
    random = np.random.default_rng(seed)
    steps = MiraSteps(trained(trained_D, start), settings.C, settings.decay, settings.sparse_rate)
    state, room = _begin(start, gains.statistics_CK.shape[1]), mira_room(arrays, len(start.sparse_F))
    best: tuple[bool, float, Weights] | None = None
    average = start
    for epoch in range(settings.epochs + 1):
        judged = JudgedWeights(
            np.asarray(average.dense_D, dtype=np.float64), np.asarray(average.sparse_F, dtype=np.float64)
        )
        if epoch < settings.epochs:
            order_I = random.permutation(len(lists))
            sums_K = mira_pass(arrays, gains, state, judged, order_I, steps, room)
        else:
            sums_K = best_statistics(arrays, gains.statistics_CK, average)
        # An epoch says what the average before it was worth; the first one knows the start only.
        if epoch > 0:
            score = float(objective.corpus(sums_K[None])[0])
            fits = abs(sums_K[0] / max(sums_K[1], 1.0) - 1.0) <= settings.length_band
            if best is None or (fits, score) > best[:2]:
                best = fits, score, average
        average = _average(state, start)
    assert best is not None
    return best[2]


def _gains(lists: CandidateBatch, objective: Objective) -> MiraGains:
    statistics_CK = np.ascontiguousarray(lists.gain_CG, dtype=np.float64)
    return MiraGains(
        statistics_CK,
        np.zeros(len(statistics_CK)) if objective.is_bleu else objective.beside_bleu(statistics_CK),
        objective.weights.get("bleu", 0.0),
        (statistics_CK.shape[1] - 2) // 2 if objective.is_bleu else ORDER,
    )


def _begin(start: Weights, statistics: int) -> MiraWeights:
    return MiraWeights(
        np.array(start.dense_D, dtype=np.float64),
        np.array(start.sparse_F, dtype=np.float64),
        np.zeros(len(start.dense_D)),
        np.zeros(len(start.sparse_F)),
        # One of everything, so that the first lists have a gain.
        np.ones(statistics),
        np.zeros(1, dtype=np.int64),
    )


def _average(state: MiraWeights, start: Weights) -> Weights:
    steps = max(int(state.clock_1[0]), 1)
    return replace(
        start,
        dense_D=state.dense_D - state.dense_lag_D / steps,
        sparse_F=state.sparse_F - state.sparse_lag_F / steps,
    )
