"""chrF as a function of summed statistics, for many sums at once."""

from __future__ import annotations

import numpy as np

from xlate.array_types import AnyArray, Floats

BETA = 2.0


def chrf_scores(stats_BK: AnyArray) -> Floats:
    """chrF2, 0 to 100, of each of B rows of statistics, (B,) (Popović 2015; sacrebleu's effective order).

    A row holds, for character n-grams of n = 1…6, the counts in hypothesis and reference and the matches, K = 18.
    """
    counts_BN3 = np.asarray(stats_BK, dtype=np.float64).reshape(len(stats_BK), -1, 3)
    hypothesis_BN, reference_BN, match_BN = np.moveaxis(counts_BN3, 2, 0)
    counted_BN = (hypothesis_BN > 0) & (reference_BN > 0)
    orders_B = np.maximum(1, counted_BN.sum(axis=1))
    precision_B = (counted_BN * match_BN / np.maximum(hypothesis_BN, 1.0)).sum(axis=1) / orders_B
    recall_B = (counted_BN * match_BN / np.maximum(reference_BN, 1.0)).sum(axis=1) / orders_B
    denominator_B = BETA**2 * precision_B + recall_B
    positive_B = denominator_B > 0
    scores_B = 100.0 * (1 + BETA**2) * precision_B * recall_B / np.where(positive_B, denominator_B, 1.0)
    return np.asarray(scores_B)
