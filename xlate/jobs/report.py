"""xlate report: the table, the plots and the page of one or many runs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xlate.config.identity import defaults_of_training
from xlate.config.schema import ReportConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.report_page import report_html
from xlate.report.identity import flat
from xlate.report.plots import plot_runs
from xlate.report.runs import Run, collect_runs
from xlate.report.sweep_table import SweepTable, sweep_table
from xlate.text.lines import atomic_write

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Report:
    """What is to be said of some runs, and the folder that it is written into."""

    config: ReportConfig
    folder: Path
    found: SweepTable

    @classmethod
    def of(cls, config: ReportConfig) -> Report:
        """The report of all trained runs found under the folders that a configuration names.

        Imported systems have neither settings nor figures to compare: a line says that they are left out.

        Raises:
            InputError: there are no runs or only imported ones, or the folder for the report is inside one of them.
        """
        runs = collect_runs([Path(folder) for folder in config.runs])
        trained = _trained(runs)
        chosen = {run.path: chosen_settings(run.path) for run in trained}
        return cls(config, _folder(config, runs), sweep_table(trained, chosen=chosen))

    def write(self) -> list[Path]:
        """Writes the table, and plots and page if they are asked for; returns the files."""
        written = self.found.table.write(self.folder)
        if self.config.plots:
            written += plot_runs(self.found.settings, self.folder)
        if self.config.html:
            with atomic_write(self.folder / "report.html") as stream:
                stream.write(report_html(self.found, self.config).encode("utf-8"))
            written.append(self.folder / "report.html")
        return written


def chosen_settings(run: Path) -> dict[str, Any]:
    """The settings of a run that are not their defaults, by dotted key; none where its configuration cannot be read."""
    try:
        config = config_of_run(run)
    except InputError:
        return {}
    defaults = defaults_of_training(config)
    return {key: value for key, value in flat(asdict(config)).items() if key not in defaults or value != defaults[key]}


def _trained(runs: Sequence[Run]) -> list[Run]:
    """The runs that were trained; says which others there are."""
    trained = [run for run in runs if run.imported is None]
    imported = ", ".join(f"{run.name} ({run.imported})" for run in runs if run.imported is not None)
    if not trained:
        raise InputError(
            "imported systems alone: nothing was trained or measured of them here",
            file=runs[0].path,
            seen=imported,
            expected="a run of xlate train",
            remedy="translate with them, then xlate score or xlate compare",
        )
    if imported:
        log.info("imported, so without figures of a training, and left out: %s", imported)
    return trained


def _folder(config: ReportConfig, runs: Sequence[Run]) -> Path:
    """Where the report is written, which is never inside a run."""
    held = {run.path.resolve() for run in runs}
    first = Path(config.runs[0])
    beside = _beside(first) if first.resolve() in held else first
    folder = Path(config.out) if config.out else beside
    within = next((path for path in (folder.resolve(), *folder.resolve().parents) if path in held), None)
    if within is not None:
        raise InputError(
            "a report is not written into a run", file=folder, seen=f"inside {within}", expected="a folder beside it"
        )
    return folder


def _beside(run: Path) -> Path:
    """A folder beside a run, named as the run is: relative to the current folder where the run is."""
    # `.`, `..` and links have another name than the folder that they lead to.
    plain = run if run.name and run.name != ".." and not run.is_symlink() else run.resolve()
    return plain.with_name(f"{plain.name}-report")
