"""The splits that a run is measured on when it is trained."""

from __future__ import annotations

from typing import Any

from xlate.config.schema import TrainConfig
from xlate.jobs.evaluate import measure
from xlate.jobs.prepare.work import WorkDirectory
from xlate.train.run import Run


def measured_splits(config: TrainConfig, work: WorkDirectory | None, run: Run, step: int) -> dict[str, Any]:
    """The measures of the dev set, and with `measure_test` of the test set, as far as there are such sets."""
    figures: dict[str, Any] = {}
    for split in ("dev", "test") if config.measure_test else ("dev",):
        measured = measure(config, work, run.path, split, run.reporter, step) if work is not None else None
        figures |= {} if measured is None else measured.figures()
    return figures
