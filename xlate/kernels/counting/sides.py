"""Sentence pairs and phrase pairs as compiled loops take them: arrays of both sides together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Sides(NamedTuple):
    """S sentence pairs: source sentence s is `source_T[source_offsets_S1[s]:source_offsets_S1[s + 1]]`."""

    source_T: NDArray[np.int32]
    source_offsets_S1: NDArray[np.int64]
    target_U: NDArray[np.int32]
    target_offsets_S1: NDArray[np.int64]


class SentenceLinks(NamedTuple):
    """L links of S sentence pairs, sorted by (target, source) in each: those of s begin at `offsets_S1[s]`."""

    source_L: NDArray[np.int32]
    target_L: NDArray[np.int32]
    offsets_S1: NDArray[np.int64]


class PhrasePairs(NamedTuple):
    """B phrase pairs over P source and Q target phrases.

    The words of the source phrase p = `source_B[b]` are `source_T[source_offsets_P1[p]:source_offsets_P1[p + 1]]`, and
    those of the target phrase are found likewise.
    """

    source_B: NDArray[np.int32]
    target_B: NDArray[np.int32]
    source_T: NDArray[np.int32]
    source_offsets_P1: NDArray[np.int64]
    target_U: NDArray[np.int32]
    target_offsets_Q1: NDArray[np.int64]

    def inverse(self) -> PhrasePairs:
        """The same pairs with source and target exchanged."""
        return PhrasePairs(
            self.target_B, self.source_B, self.target_U, self.target_offsets_Q1, self.source_T, self.source_offsets_P1
        )
