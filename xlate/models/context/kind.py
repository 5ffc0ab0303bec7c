"""Classifiers in context: what they can do."""

from __future__ import annotations

from xlate.models.kind import Kind


class Context(Kind):
    """Predictions of translations; they translate nothing by themselves."""

    name = "context"
    predicts = True
    impossible = (
        "a run that predicts translations has no decoder",
        "xlate train model=phrase context=feature model.context.run=RUN uses what it learned",
    )
