"""BLEU as a function of summed statistics, for many sums at once."""

from __future__ import annotations

import numpy as np

from xlate.array_types import AnyArray, Floats
from xlate.errors import InputError

ORDER = 4
SMOOTHING = ("none", "floor", "exp", "add-1")
FLOOR = 0.1


def bleu_scores(stats_BK: AnyArray, *, smooth: str = "exp", effective_order: bool = False) -> Floats:
    """BLEU, 0 to 100, of each of B rows of statistics (Papineni et al. 2002).

    A row has the K = 2 + 2·order numbers that sacrebleu sums: the lengths of the hypothesis and of the closest
    reference, the correct n-grams for n = 1…order, and all n-grams for n = 1…order. Each result equals that of
    `sacrebleu.BLEU.compute_bleu`.

    Args:
        stats_BK: statistics, (B, K).
        smooth: `none`; `exp`, where the i-th order without a match counts 1/2^i matches (sacrebleu's default);
            `floor`, 0.1 matches where there is none (sacrebleu's `floor`);
            `add-1`, one more match and one more n-gram for n > 1: BLEU+1 (Lin & Och 2004), sacrebleu's `add-k` 1.
        effective_order: whether orders longer than the hypothesis are left out; meant for single sentences.

    Raises:
        InputError: an unknown smoothing.
    """
    if smooth not in SMOOTHING:
        raise InputError("unknown BLEU smoothing", seen=smooth, expected="one of " + ", ".join(SMOOTHING))
    sums_BK: Floats = np.asarray(stats_BK, dtype=np.float64)
    order = (sums_BK.shape[1] - 2) // 2
    length_B, reference_B = sums_BK[:, 0], sums_BK[:, 1]
    correct_BN, total_BN = sums_BK[:, 2 : 2 + order].copy(), sums_BK[:, 2 + order :].copy()
    matched_B = correct_BN.any(axis=1)
    if smooth == "add-1":
        correct_BN[:, 1:] += 1.0
        total_BN[:, 1:] += 1.0
    elif smooth == "floor":
        correct_BN = np.where(correct_BN == 0, FLOOR, correct_BN)
    elif smooth == "exp":
        halvings_BN = np.cumsum(correct_BN == 0, axis=1)
        correct_BN = np.where(correct_BN == 0, 0.5**halvings_BN, correct_BN)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_precision_BN = np.where(total_BN > 0, np.log(correct_BN / total_BN), -np.inf)
        log_brevity_B = np.where(length_B < reference_B, 1.0 - reference_B / length_B, 0.0)
        scores_B = 100.0 * np.exp(log_brevity_B + _mean_log(log_precision_BN, total_BN, effective_order))
    return np.where(matched_B, scores_B, 0.0)


def _mean_log(log_precision_BN: Floats, total_BN: Floats, effective_order: bool) -> Floats:
    if not effective_order:
        return np.asarray(log_precision_BN.mean(axis=1))
    counted_BN = np.cumprod(total_BN > 0, axis=1).astype(bool)
    return np.asarray(np.where(counted_BN, log_precision_BN, 0.0).sum(axis=1) / np.maximum(1, counted_BN.sum(axis=1)))
