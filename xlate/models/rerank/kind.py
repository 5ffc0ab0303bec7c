"""Models that rank lists of other systems: what they can do."""

from __future__ import annotations

from xlate.models.kind import Kind


class Rerank(Kind):
    """Weights over the hypotheses of other systems."""

    name = "rerank"
    ranks_lists = True
    impossible = (
        "a run of model=rerank translates nothing: it ranks the lists of other systems",
        "xlate nbest rescore FILE run=RUN out=FILE",
    )
