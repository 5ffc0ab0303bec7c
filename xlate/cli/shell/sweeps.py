"""What is said and written at the end of a sweep: its runs, the best first, their table, and tables of papers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.experimental.callback import Callback

from xlate.errors import InputError
from xlate.progress import span

if TYPE_CHECKING:
    from xlate.report.runs import Run

TABLE = "sweep.tsv"
COLUMNS = ("dev_bleu", "dev_bleu_interval", "P", "seconds")
log = logging.getLogger(__name__)


# Folders of sweeps that have begun. Hydra says nothing at the end of one with a failing job.
_begun: list[Path] = []


class SweepSummary(Callback):
    """Hydra calls this when a sweep begins (conf/train.yaml)."""

    def on_multirun_start(self, config: Any, **_: Any) -> None:
        """Keeps in mind where the sweep is."""
        _begun.append(Path(config.run or config.hydra.sweep.dir))


def say_sweeps() -> None:
    """Says which runs the sweeps that ended have; writes their tables, and those of papers that they have rows of."""
    if _begun:
        from xlate.report.runs import collect_runs

    while _begun:
        folder = _begun.pop()
        try:
            runs = best_first(collect_runs([folder]))
        except InputError:  # no run was begun
            continue
        write_table(folder / TABLE, runs)
        log.info("%s", summary_of(runs, folder))
        _write_pages(folder)


def _write_pages(folder: Path) -> None:
    """Writes the rows of papers' tables that are finished into their pages; a sweep without such rows writes none."""
    from xlate.jobs.paper_page import write_pages

    try:
        for page in write_pages(folder):
            log.info("%s", page)
    except InputError as error:  # rows that differ in more than their seed
        log.info("no table of a paper is written: %s", error)


def best_first(runs: Sequence[Run]) -> list[Run]:
    """Finished runs by BLEU of the dev set, and those that are not finished behind them."""
    return sorted(runs, key=lambda run: -(run.figure("dev_bleu") or 0.0) if run.finished else 1.0)


def summary_of(runs: Sequence[Run], folder: Path) -> str:
    """The runs of a sweep, best first, as lines; a run's name says what was varied."""
    count = "1 run" if len(runs) == 1 else f"{len(runs)} runs, the best first"
    lines = [f"{folder}: {count}", f"  {'dev BLEU':>13}  {'P':>6}  {'time':>7}  run"]
    for run in runs:
        bleu, width, error, seconds = (run.figure(name) for name in COLUMNS)
        score = "-" if bleu is None else f"{bleu:.2f}" + ("" if width is None else f" ± {width:.2f}")
        shown = [score, "-" if error is None else f"{error:.4f}", "-" if seconds is None else span(seconds)]
        if not run.finished:
            shown[0] = "not finished"
        lines.append(f"  {shown[0]:>13}  {shown[1]:>6}  {shown[2]:>7}  {run.name}")
    return "\n".join([*lines, f"their table: {folder / TABLE}; with all settings and curves: xlate report {folder}"])


def write_table(path: Path, runs: Sequence[Run]) -> None:
    """Writes the same with all digits, as values between tabs."""
    from xlate.text.lines import write_lines

    def row(run: Run) -> list[str]:
        figures = (run.figure(name) for name in COLUMNS)
        return [run.name, str(run.finished).lower(), *("" if figure is None else repr(figure) for figure in figures)]

    rows = [["run", "finished", *COLUMNS], *map(row, runs)]
    write_lines(path, ("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in cells) for cells in rows))
