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
    from xlate.jobs.report_page import report_html
    from xlate.report.plots import plot_runs
    from xlate.report.runs import collect_runs
    from xlate.report.sweep_table import sweep_table
    from xlate.text.lines import atomic_write

    runs = collect_runs([Path(folder) for folder in config.runs])
    folder = _folder(config, [run.path for run in runs])
    found = sweep_table(runs)
    found.print()
    written = found.table.write(folder)
    if config.plots:
        written += plot_runs(found.settings, folder)
    if config.html:
        with atomic_write(folder / "report.html") as stream:
            stream.write(report_html(found, config).encode("utf-8"))
        written.append(folder / "report.html")
    for path in written:
        print(path)


def _folder(config: ReportConfig, runs: list[Path]) -> Path:
    """Where the report is written, which is never inside a run."""
    from xlate.errors import InputError

    held = {run.resolve() for run in runs}
    first = Path(config.runs[0]).resolve()
    beside = first.with_name(f"{first.name}-report") if first in held else Path(config.runs[0])
    folder = Path(config.out) if config.out else beside
    within = next((path for path in (folder.resolve(), *folder.resolve().parents) if path in held), None)
    if within is not None:
        raise InputError(
            "a report is not written into a run", file=folder, seen=f"inside {within}", expected="a folder beside it"
        )
    return folder


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
