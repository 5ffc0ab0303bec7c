"""What every method puts into the summary of a run: measures of its splits, and its dense weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from xlate.config.schema import TrainConfig
from xlate.jobs.evaluate import measure
from xlate.jobs.prepare.work import WorkDirectory
from xlate.models.system import AnySystem
from xlate.scoring.weights import Weights
from xlate.train.run import Run


def measured_splits(
    config: TrainConfig, work: WorkDirectory | None, run: Run, step: int, system: AnySystem | None = None
) -> dict[str, Any]:
    """The measures of the dev set, and with `measure_test` of the test set, as far as there are such sets.

    With `system` it translates, in place of the run's own.
    """
    figures: dict[str, Any] = {}
    for split in ("dev", "test") if config.measure_test else ("dev",):
        measured = measure(config, work, run.path, split, run.reporter, step, system) if work is not None else None
        figures |= {} if measured is None else measured.figures()
    return figures


def rounded(weights: Weights) -> dict[str, float]:
    """The dense weights by name, as a summary has them."""
    return dict(zip(weights.dense_names, np.round(weights.dense_D, 6).tolist(), strict=True))
