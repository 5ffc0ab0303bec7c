"""Runs that rank given lists: they have weights to look into, and translate nothing."""

from __future__ import annotations

from xlate.jobs.systems.without_decoder import WithoutDecoder


class Rerank(WithoutDecoder):
    """Weights over the hypotheses of other systems."""

    name = "rerank"
    ranks_lists = True
    without = "a run of model=rerank translates nothing: it ranks the lists of other systems"
    remedy = "xlate nbest rescore FILE run=RUN out=FILE"
