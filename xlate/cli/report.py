"""xlate report runs/…: the table and plots of one or many runs; and the pages of a sweep over an experiment."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback

from xlate.config.schema import ReportConfig

CONFIG = ReportConfig
POSITIONAL = "runs"
log = logging.getLogger(__name__)


def run(config: ReportConfig) -> None:
    """Prints the table of all runs found under the folders given and writes it, with plots and a page."""
    from xlate.jobs.report import Report

    report = Report.of(config)
    report.found.print()
    for path in report.write():
        print(path)


class PaperPages(Callback):
    """Hydra calls this when all jobs of a sweep have run (conf/train.yaml)."""

    def on_multirun_end(self, config: Any, **_: Any) -> None:
        """Writes the tables of the papers whose rows the sweep trained; a sweep without such rows writes none."""
        from xlate.errors import InputError
        from xlate.jobs.paper_page import write_pages

        try:
            pages = write_pages(Path(config.hydra.sweep.dir))
        except InputError as error:  # a sweep whose every job failed has no runs
            log.info("no table written: %s", error)
            return
        for page in pages:
            log.info("%s", page)
