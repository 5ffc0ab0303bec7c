"""Block orientation bigrams: which matching block follows which, and on which side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from xlate.array_types import Ints, Ints8, Ints32
from xlate.kernels.counting.matching import orientation_bigrams
from xlate.phrases.matching import SOURCE_END, SOURCE_START, Matches


@dataclass(frozen=True)
class Events:
    """E orientation bigrams (b', o, b) as match numbers, in the order (predecessor, successor); TZ07 Eq. 2.

    `orientation_E` is LEFT or RIGHT. G distinct predecessors: the bigrams of `group_G[g]` are
    `group_offsets_G1[g]` to `group_offsets_G1[g + 1]`; a datapoint of training is one such group (after `by_span`, a
    group is one predecessor with one source span). `neutral_X` are the matches that have no predecessor.
    """

    predecessor_E: Ints32
    successor_E: Ints32
    orientation_E: Ints8
    group_G: Ints32
    group_offsets_G1: Ints
    neutral_X: Ints32

    def __len__(self) -> int:
        """The number of bigrams E, neutral ones not counted."""
        return len(self.predecessor_E)

    def by_span(self, matches: Matches) -> Events:
        """The same bigrams, grouped by predecessor and source span of the successor instead of by predecessor."""
        rows_E = matches.rows_M5[self.successor_E]
        span_E = rows_E[:, SOURCE_START].astype(np.int64) << 16 | rows_E[:, SOURCE_END]
        order = np.lexsort((span_E, self.predecessor_E))
        predecessor_E, span_E = self.predecessor_E[order], span_E[order]
        new = (np.diff(predecessor_E, prepend=-1) != 0) | (np.diff(span_E, prepend=-1) != 0)
        starts = np.flatnonzero(new)
        return replace(
            self,
            predecessor_E=predecessor_E,
            successor_E=self.successor_E[order],
            orientation_E=self.orientation_E[order],
            group_G=predecessor_E[starts],
            group_offsets_G1=np.append(starts, len(predecessor_E)).astype(np.int64),
        )


def collect_events(matches: Matches) -> Events:
    """Collects the orientation bigrams of all matches.

    b' is the predecessor of b when b begins on the target side where b' ends, and b stands directly right (o = R) or
    directly left (o = L) of b' on the source side.
    """
    predecessor_E, successor_E, orientation_E = orientation_bigrams(
        np.ascontiguousarray(matches.rows_M5), np.ascontiguousarray(matches.offsets_S1)
    )
    starts = np.flatnonzero(np.diff(predecessor_E, prepend=-1))
    has_predecessor = np.zeros(len(matches), dtype=bool)
    has_predecessor[successor_E] = True
    return Events(
        predecessor_E=predecessor_E,
        successor_E=successor_E,
        orientation_E=orientation_E,
        group_G=predecessor_E[starts],
        group_offsets_G1=np.append(starts, len(predecessor_E)).astype(np.int64),
        neutral_X=np.flatnonzero(~has_predecessor).astype(np.int32),
    )
