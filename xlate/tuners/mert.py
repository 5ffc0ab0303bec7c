"""Minimum error rate training: exact line searches for the score of the whole text (Och 2003).

From each of several points, one coordinate after another is set to the best place on its line; when that gains no more,
a few random directions are tried. The best place has the highest score averaged over neighbouring intervals, so that a
lucky narrow peak does not win (Cer, Jurafsky & Manning 2008, section 3).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xlate.array_types import Bools, Floats, Ints32
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.envelope import corpus_bleu, envelopes, same_place, slope_orders, swept_statistics
from xlate.kernels.learning.scores import sparse_scores
from xlate.metrics.objective import Objective
from xlate.scoring.weights import Weights
from xlate.tuners.mira import checked_lists
from xlate.tuners.settings import MertConfig


def mert(
    lists: CandidateBatch,
    start: Weights,
    settings: MertConfig,
    seed: int,
    objective: Objective,
    trained_D: Bools,
) -> Weights:
    """The best weights found.

    Args:
        lists: n-best lists whose gains are statistics that add up over sentences.
        start: the first point; sparse weights stay, and their part of the scores is fixed.
        settings: how it searches. Places where translations miss the reference length by more than the length band
            are used only if all places do. When all weights are tuned, they are returned with sizes that sum to 1.
        seed: for points and directions.
        objective: what is maximised; the first two columns of statistics must be hypothesis and reference length.
        trained_D: which float weights move.

    Raises:
        InputError: there is no hypothesis, features are not finite, or weights do not fit.
    """
    search = _Search(lists, start, settings, objective, trained_D)
    random = np.random.default_rng(seed)
    best_score, best_D = search.climb(np.array(start.dense_D, np.float64), random)
    for _ in range(settings.restarts):
        # Tuned weights drawn evenly from -1 to 1, or, every other time, the start's times log-normal factors.
        if random.random() < 0.5:
            drawn_D = random.uniform(-1.0, 1.0, len(start.dense_D))
        else:
            drawn_D = start.dense_D * np.exp(random.normal(size=len(start.dense_D)))
        score, dense_D = search.climb(np.where(search.trained_D, drawn_D, start.dense_D), random)
        if score > best_score:
            best_score, best_D = score, dense_D
    size = float(np.abs(best_D[search.trained_D]).sum()) or 1.0 if not settings.weights else 1.0
    return replace(start, dense_D=np.where(search.trained_D, best_D / size, best_D))


class _Search:
    """The lists as the kernels read them, with an order of each list for every float that moves."""

    def __init__(
        self, lists: CandidateBatch, start: Weights, settings: MertConfig, objective: Objective, trained_D: Bools
    ) -> None:
        arrays = checked_lists(lists, start)
        # The compiled BLEU has no smoothing, which other objectives have.
        self.settings, self.scores = settings, corpus_bleu if objective.is_bleu else objective.corpus
        self.offsets_I1 = arrays.candidate_offsets_I1
        # Counts are whole numbers, so 32 bits are exact, and they fit the cache.
        self.statistics_CK = np.ascontiguousarray(lists.gain_CG, np.float32)
        self.columns_DC = np.ascontiguousarray(arrays.dense_CD.T, np.float64)
        self.trained_D = trained_D
        trained = np.flatnonzero(trained_D).tolist()
        self.orders = {d: slope_orders(self.columns_DC[d], self.offsets_I1) for d in trained}
        self.sparse_C = sparse_scores(arrays, np.ascontiguousarray(start.sparse_F, np.float64))

    def climb(self, dense_D: Floats, random: np.random.Generator) -> tuple[float, Floats]:
        """Climbs from a point until a round gains too little; returns the smoothed score and the place."""
        dense_D = dense_D.copy()
        score_C: Floats = dense_D @ self.columns_DC + self.sparse_C
        best = -np.inf
        for _ in range(self.settings.coordinate_rounds):
            before = best
            for d in random.permutation(np.flatnonzero(self.trained_D)):
                step, best = self._line(score_C, self.columns_DC[d], self.orders[d], best)
                if step:
                    dense_D[d] += step
                    score_C += step * self.columns_DC[d]
            if best - before >= self.settings.least_gain:
                continue
            for _ in range(self.settings.directions):
                direction_D = np.where(self.trained_D, random.normal(size=len(dense_D)), 0.0)
                slope_C = direction_D @ self.columns_DC
                step, best = self._line(score_C, slope_C, slope_orders(slope_C, self.offsets_I1), best)
                dense_D += step * direction_D
                score_C += step * slope_C
            if best - before < self.settings.least_gain:
                break
        return best, dense_D

    def _line(self, score_C: Floats, slope_C: Floats, order_C: Ints32, best: float) -> tuple[float, float]:
        """The step along a line to its best place, and the smoothed score there; a step of 0 if nothing is better."""
        at_E, before_E, after_E, leftmost_I = envelopes(score_C, slope_C, order_C, self.offsets_I1)
        order_E = np.argsort(at_E)
        sums_BK, edge_B = swept_statistics(order_E, at_E, before_E, after_E, leftmost_I, self.statistics_CK)
        if not len(edge_B):
            return 0.0, best
        values_B = smoothed(self.scores(sums_BK), self.settings.window)
        fits_B = np.abs(sums_BK[:, 0] / np.maximum(sums_BK[:, 1], 1.0) - 1.0) <= self.settings.length_band
        if fits_B.any():
            values_B = np.where(fits_B, values_B, -np.inf)
        b = int(np.argmax(values_B))
        behind = int(np.searchsorted(edge_B, 0.0))
        here = float(values_B[behind])
        # On an edge hypotheses tie, and the score would be chance: moving to either side is better than staying.
        on_edge = any(same_place(edge, 0.0) for edge in edge_B[max(behind - 1, 0) : behind + 1])
        if values_B[b] <= here and not on_edge:
            return 0.0, here
        return _middle(edge_B, b), float(values_B[b])


def smoothed(scores_B: Floats, window: int) -> Floats:
    """Each score averaged with those of `window` intervals on either side, fewer at the ends."""
    sums_B1 = np.concatenate([[0.0], np.cumsum(scores_B)])
    places_B = np.arange(len(scores_B))
    first_B, last_B = np.maximum(places_B - window, 0), np.minimum(places_B + window + 1, len(scores_B))
    means_B: Floats = (sums_B1[last_B] - sums_B1[first_B]) / (last_B - first_B)
    return means_B


def _middle(edge_B: Floats, b: int) -> float:
    """A place in the b-th interval: the middle, or a little beyond the outermost edge."""
    if b == 0:
        return float(edge_B[0] - 0.1 * max(abs(edge_B[0]), 1e-3))
    if b == len(edge_B):
        return float(edge_B[-1] + 0.1 * max(abs(edge_B[-1]), 1e-3))
    return float(0.5 * (edge_B[b - 1] + edge_B[b]))
