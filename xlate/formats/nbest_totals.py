"""Checks whether the totals of an n-best list are weights times features, up to what was lost in printing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest import NbestArrays

ROUNDS = 8
MOST_COLUMNS = 100


class TotalsCheck(NamedTuple):
    """Which totals are wrong.

    Attributes:
        off: the hypotheses whose total is wrong, in their order. difference_C: the total minus w · f, minus the
            difference that is common to the sentence. constant: the largest such common difference.
        fitted: whether the weights were fitted to the totals.
    """

    off: Ints
    difference_C: Floats
    constant: float
    fitted: bool


def check_totals(arrays: NbestArrays, weights: Mapping[str, float] | None = None) -> TotalsCheck | None:
    """Compares totals with w · f within each sentence, whose ranking depends on differences only.

    Some parts of a score are the same for all hypotheses of a sentence and are not printed with the features, such as
    Moses's penalty for unknown words; the median difference of a sentence is taken for them. When no weights are given,
    they are fitted by least squares to the half of the hypotheses that fits best, until that half no longer changes
    (least trimmed squares, Rousseeuw 1984), so that a few wrong totals do not move them.

    Returns:
        None when nothing can be compared: a total is missing, or there are no weights and too many features to fit
        them.
    """
    if not np.isfinite(arrays.total_C).all() or not arrays.names:
        return None
    features_CM = None
    if weights is None:
        features_CM = _dense(arrays)
        if features_CM is None:
            return None
        weights = dict(zip(arrays.names, _fitted(arrays, features_CM).tolist(), strict=True))
    difference_C = arrays.total_C - arrays.scores(weights)
    common_I = _medians(difference_C, arrays.candidate_offsets_I1)
    difference_C = difference_C - np.repeat(common_I, np.diff(arrays.candidate_offsets_I1))
    off = np.flatnonzero(np.abs(difference_C) > _tolerance(arrays, weights, features_CM is not None))
    return TotalsCheck(off, difference_C, float(np.abs(common_I).max(initial=0.0)), features_CM is not None)


def printed_error(values: Floats) -> Floats:
    """Half a unit in the last printed digit of each value of a column.

    A column has either a fixed number of decimals or of significant digits; the one that loses more is assumed. A
    column of whole numbers loses nothing.

    Example: -103.644 among numbers of six digits: 0.0005
    """
    decimals = next((d for d in range(16) if np.allclose(np.round(values, d), values, rtol=1e-13, atol=1e-300)), 16)
    if decimals == 0:
        return np.zeros_like(values)
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
    digits = next((s for s in range(1, 17) if _has_digits(values, size + 1 - s)), 17)
    return np.asarray(0.5 * np.maximum(10.0**-decimals, np.where(values == 0, 0.0, 10.0 ** (size + 1 - digits))))


def _has_digits(values: Floats, exponent: Floats) -> bool:
    scale = 10.0**exponent
    return np.allclose(np.round(values / scale) * scale, values, rtol=1e-13, atol=1e-300)


def _tolerance(arrays: NbestArrays, weights: Mapping[str, float], fitted: bool) -> Floats:
    """Twice what printing may have changed, since the sums were rounded too; more where weights were fitted."""
    error_V = np.zeros(len(arrays.values_V))
    for column, name in enumerate(arrays.names):
        places = np.flatnonzero(arrays.columns_V == column) if len(arrays.names) <= MOST_COLUMNS else None
        if places is None:
            break
        error_V[places] = abs(weights.get(name, 0.0)) * printed_error(arrays.values_V[places])
    candidate_V = row_numbers(arrays.value_offsets_C1)
    error_C = np.bincount(candidate_V, error_V, minlength=len(arrays.total_C)) + printed_error(arrays.total_C)
    return np.asarray((4.0 if fitted else 2.0) * error_C + 1e-5 * np.maximum(1.0, np.abs(arrays.total_C)))


def _dense(arrays: NbestArrays) -> Floats | None:
    """The values as a matrix, (C, M); None when there are too many columns, or too few hypotheses to fit weights to."""
    candidates, columns = len(arrays.total_C), len(arrays.names)
    if columns > MOST_COLUMNS or candidates - len(arrays.sentence_I) < 4 * columns:
        return None
    features_CM = np.zeros((candidates, columns))
    candidate_V = row_numbers(arrays.value_offsets_C1)
    features_CM[candidate_V, arrays.columns_V] = arrays.values_V
    return features_CM


def _fitted(arrays: NbestArrays, features_CM: Floats) -> Floats:
    offsets = arrays.candidate_offsets_I1
    list_C = row_numbers(offsets)
    spread_I = np.maximum.reduceat(arrays.total_C, offsets[:-1]) - np.minimum.reduceat(arrays.total_C, offsets[:-1])
    kept_C = (spread_I <= np.median(spread_I))[list_C]
    weights_M = np.zeros(features_CM.shape[1])
    for _ in range(ROUNDS):
        count_I = np.maximum(1, np.bincount(list_C[kept_C], minlength=len(spread_I)))
        centred = [
            column - (np.bincount(list_C[kept_C], column[kept_C], minlength=len(spread_I)) / count_I)[list_C]
            for column in (*features_CM.T, arrays.total_C)
        ]
        table = np.stack(centred, axis=1)[kept_C]
        weights_M = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=1e-10)[0]
        residual_C = arrays.total_C - features_CM @ weights_M
        away_C = np.abs(residual_C - _medians(residual_C, offsets)[list_C])
        kept_C, before_C = away_C <= np.median(away_C), kept_C
        if (kept_C == before_C).all():
            break
    return np.asarray(weights_M)


def _medians(values_C: Floats, offsets_I1: Ints) -> Floats:
    """The median of each list; of two middle values the lower."""
    lists = row_numbers(offsets_I1)
    order = np.lexsort((values_C, lists))
    return np.asarray(values_C[order[(offsets_I1[:-1] + offsets_I1[1:] - 1) // 2]])
