"""How good predictions in context are: how often they are right, and whether their probabilities can be believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, AnyInts, Bools, Floats, Ints
from xlate.search.oracle import best_of_each

BINS = 10
# Source phrases by how often they were extracted from the training text: up to each of these times.
BANDS = (9, 99, 999)


class Reliability(NamedTuple):
    """Predictions by their probability, in ten bins of equal width.

    `count_B` are the predictions of a bin, `said_B` the mean of their probabilities, `right_B` the share of them that
    were right; both are NaN where there are none.
    """

    count_B: Ints
    said_B: Floats
    right_B: Floats

    @property
    def error(self) -> float:
        """The mean distance of probability and share over all predictions (Guo et al. 2017, Eq. 3); NaN of none."""
        if not self.count_B.sum():
            return float("nan")
        return float(np.nansum(self.count_B * np.abs(self.said_B - self.right_B)) / self.count_B.sum())


def reliability(probability_N: AnyFloats, right_N: Bools) -> Reliability:
    """The bins of N predictions; a probability on the border of two belongs to the upper one, 1 to the last."""
    bin_N = np.minimum((np.asarray(probability_N, np.float64) * BINS).astype(np.int64), BINS - 1)
    count_B = np.bincount(bin_N, minlength=BINS)
    with np.errstate(invalid="ignore"):
        said_B, right_B = (np.bincount(bin_N, values_N, BINS) / count_B for values_N in (probability_N, right_N))
    return Reliability(count_B, said_B, right_B)


@dataclass(frozen=True)
class Quality:
    """Predictions of I instances with C candidates, some of which are right.

    Instances are places with a choice, one of whose candidates at least is right and one is not.

    Attributes:
        offsets_I1: where the candidates of each instance begin; none is empty.
        log_C: ln p of each in its context.
        share_C: ln p(e|f), which knows no context.
        right_C: whether it was extracted there.
        times_I: how often the source phrase was extracted.
    """

    offsets_I1: Ints
    log_C: Floats
    share_C: AnyFloats
    right_C: Bools
    times_I: AnyInts

    @property
    def accuracy(self) -> float:
        """The share of instances whose most probable candidate is right; NaN of none."""
        return _mean(self._right_2I[0])

    @property
    def baseline(self) -> float:
        """The same of the most frequent translation of each source phrase."""
        return _mean(self._right_2I[1])

    @property
    def every(self) -> Reliability:
        """Of all candidates."""
        return reliability(np.exp(self.log_C), self.right_C)

    @property
    def best(self) -> Reliability:
        """Of the most probable candidate of each instance."""
        return reliability(np.exp(self.log_C[self._best_I]), self.right_C[self._best_I])

    def by_times(self) -> Mapping[str, Mapping[str, Any]]:
        """The figures of each band of source phrases that has any, the rarest first."""
        band_I = np.searchsorted(BANDS, self.times_I)
        lows = (1, *(most + 1 for most in BANDS))
        names = [f"{low}-{most}" for low, most in zip(lows, BANDS, strict=False)] + [f"{lows[-1]}-"]
        found = {}
        for band in np.unique(band_I).tolist():
            right_2I = self._right_2I[:, band_I == band]
            accuracy, baseline = map(_mean, right_2I)
            found[names[band]] = {
                "instances": right_2I.shape[1],
                "accuracy": accuracy,
                "baseline_accuracy": baseline,
            }
        return found

    def __len__(self) -> int:
        """The number of instances I."""
        return len(self.times_I)

    @cached_property
    def _best_I(self) -> Ints:
        return best_of_each(self.log_C, self.offsets_I1)

    @cached_property
    def _right_2I(self) -> Bools:
        """Whether the most probable candidate of each instance is right, and the most frequent one, (2, I)."""
        return self.right_C[np.stack([self._best_I, best_of_each(self.share_C, self.offsets_I1)])]


def _mean(right_I: Bools) -> float:
    return float(right_I.mean()) if len(right_I) else float("nan")
