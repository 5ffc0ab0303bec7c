"""xlate report runs/…: the table and plots of one or many runs."""

from __future__ import annotations

from xlate.config.schema import ReportConfig

CONFIG = ReportConfig
POSITIONAL = "runs"


def run(config: ReportConfig) -> None:
    """Prints the table of all runs found under the folders given and writes it, with plots and a page."""
    from xlate.jobs.report import report

    for path in report(config):
        print(path)
