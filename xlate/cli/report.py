"""xlate report runs/…: the table and the plots of one or many runs."""

from __future__ import annotations

from pathlib import Path

from xlate.config.schema import ReportConfig

CONFIG = ReportConfig
POSITIONAL = "runs"


def run(config: ReportConfig) -> None:
    """Prints the table of all runs found under the folders given and writes it, with plots, beside them."""
    from xlate.report.plots import plot_runs
    from xlate.report.seeds import seeds_table
    from xlate.report.tables import collect_runs, sweep_table

    runs = collect_runs([Path(folder) for folder in config.runs])
    table = sweep_table(runs)
    table.print()
    folder = Path(config.out) if config.out else Path(config.runs[0])
    written = table.write(folder)
    seeds = seeds_table(runs, "over seeds")
    if seeds is not None:
        seeds.print()
        written += seeds.write(folder, "report-seeds")
    for path in written:
        print(path)
    if config.plots:
        for path in plot_runs(runs, folder):
            print(path)
