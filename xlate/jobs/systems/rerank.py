"""Runs that rank given lists: they have weights to look into, and translate nothing."""

from __future__ import annotations

from xlate.jobs.systems.without_decoder import WithoutDecoder


class Rerank(WithoutDecoder):
    """Weights over the hypotheses of other systems."""

    name = "rerank"
    ranks_lists = True
    without = "a run that ranks lists has no decoder"
    remedy = "xlate nbest rescore run=RUN nbest=FILE"
