"""N-best lists under other weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from xlate.array_types import Floats
from xlate.formats.nbest_list import Hypothesis


def rescored(lists: Iterable[list[Hypothesis]], score_C: Floats) -> Iterator[Hypothesis]:
    """Yields the hypotheses with new totals, each list best first; of equals, the one that stood first.

    Args:
        lists: the hypotheses of one sentence after the other, C in all.
        score_C: their new totals, for example `NbestArrays.scores(weights)`.

    Raises:
        ValueError: not as many scores as hypotheses.
    """
    start = 0
    for hypotheses in lists:
        score_H = score_C[start : start + len(hypotheses)]
        if len(score_H) != len(hypotheses):
            raise ValueError(f"{len(score_C)} scores for {start + len(hypotheses)} hypotheses or more")
        for place in np.argsort(-score_H, kind="stable"):
            yield hypotheses[place].with_total(float(score_H[place]))
        start += len(hypotheses)
    if start != len(score_C):
        raise ValueError(f"{len(score_C)} scores for {start} hypotheses")
