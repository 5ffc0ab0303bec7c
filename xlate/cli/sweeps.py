"""What is printed and written at the end of a sweep: its runs, best first, their table, and tables of papers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback

from xlate.cluster import run_tasks
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.progress import span
from xlate.settings import plain

if TYPE_CHECKING:
    from xlate.report.runs import Run

TABLE = "sweep.tsv"
# BLEU of the dev set, or of reranked lists, with its title.
BLEU = {"dev_bleu": "dev BLEU", "heldout_ranked_BLEU": "held-out BLEU", "training_ranked_BLEU": "training BLEU"}
log = logging.getLogger(__name__)


class _Row(NamedTuple):
    """A run of a sweep: its settings, its folder, and the overrides that it was composed with."""

    config: TrainConfig
    folder: Path
    given: Sequence[str]


@dataclass
class _Sweep:
    """A sweep that has begun.

    Attributes:
        folder: where it is.
        jobs: the names of their folders.
        begun: the number of jobs that began here.
        refused: the number of those that were refused.
        rows: the runs that are still to be trained by the tasks of a cluster.
    """

    folder: Path
    begun: int = 0
    refused: int = 0
    jobs: set[str] = field(default_factory=set)
    rows: list[_Row] = field(default_factory=list)


# Hydra says nothing at the end of a sweep with a failing job.
_begun: list[_Sweep] = []


class SweepSummary(Callback):
    """Hydra calls this when a sweep begins, and before and after each of its jobs (conf/hydra/train.yaml)."""

    def on_multirun_start(self, config: Any, **_: Any) -> None:
        """Remembers the folder of the sweep."""
        _begun.append(_Sweep(Path(config.run or config.hydra.sweep.dir)))

    def on_job_start(self, *_: Any, **__: Any) -> None:
        """Counts a job."""
        if _begun:
            _begun[-1].begun += 1

    def on_job_end(self, *_: Any, **given: Any) -> None:
        """Counts a refused job; reports it, except for the first one, which is reported at the end."""
        job_return: JobReturn = given["job_return"]
        error = job_return._return_value
        if _begun and job_return.status is JobStatus.FAILED and isinstance(error, InputError):
            _begun[-1].refused += 1
            if _begun[-1].refused > 1:
                log.error("%s", error)


def add_job(folder: str) -> None:
    """Adds a job to the sweep that has begun; `folder` is its name within that of the sweep."""
    if _begun:
        _begun[-1].jobs.add(folder)


def add_row(config: TrainConfig, folder: Path, given: Sequence[str], *_: object) -> None:
    """Adds a run to those that `train_rows` will train; called like `jobs.train.train.train`."""
    _begun[-1].rows.append(_Row(config, folder, given))


def train_rows() -> None:
    """Trains the runs of the last sweep by the tasks of a cluster: those that need others, after these.

    Raises:
        InputError: the first error of a run; the others are trained nevertheless.
    """
    left, refused = (_begun[-1].rows if _begun else []), list[InputError]()
    if not left:
        return
    from xlate.jobs.train.train import train_row
    from xlate.models.run_files import named_runs

    def trained(made: object) -> None:
        if not isinstance(made, InputError):
            print(made, flush=True)
            return
        if refused:
            log.error("%s", made)
        refused.append(made)

    while left:
        sweep, folders = _begun[-1], {row.folder for row in left}
        # A run may start from others, or use them.
        now = [row for row in left if folders.isdisjoint(map(Path, named_runs(row.config).values()))] or left
        tasks = [(plain(row.config), str(row.folder), list(row.given), str(sweep.folder)) for row in now]
        submitted = sweep.folder / ".submitit"
        run_tasks(now[0].config.cluster, submitted, train_row, tasks, "training: runs", done=trained)
        folders = {row.folder for row in now}
        left = [row for row in left if row.folder not in folders]
    if refused:
        raise refused[0]


def forget_sweeps() -> None:
    """Forgets sweeps that were refused before any of their jobs began."""
    _begun.clear()


def say_sweeps() -> None:
    """Lists the runs of the sweeps that ended; writes their tables, and the tables of papers whose rows they have.

    A sweep whose jobs were all refused is skipped: the runs in its folder are not its own.

    Raises:
        InputError: a sweep had no job at all, and nothing else went wrong.
    """
    while _begun:
        sweep = _begun.pop()
        if not sweep.begun and sys.exc_info()[0] is None:
            raise InputError(
                "a sweep without jobs",
                "no value to sweep over",
                "one or more",
                "list the values, a,b,c: glob(…) does not find experiments in folders",
            )
        if sweep.begun > sweep.refused:
            _say_sweep(sweep.folder, sweep.jobs)


def _say_sweep(folder: Path, jobs: Collection[str]) -> None:
    """Lists the runs of a sweep, and writes finished rows of papers' tables into their pages."""
    from xlate.jobs.report import differing_dev_sets, write_pages
    from xlate.report.runs import Setting, collect_runs
    from xlate.report.tables import best_first

    try:
        found = collect_runs([folder])
    except InputError:  # no run was begun
        return
    # None has such a name if hydra.sweep.subdir was set.
    listed = [run for run in found if run.name in jobs] or found
    settings = best_first([Setting(run.name, [run]) for run in listed])
    runs = [setting.first for setting in settings]
    write_table(folder / TABLE, runs)
    log.info("%s", summary_of(runs, folder))
    if len(found) > len(runs):
        log.info("not in the table: %d runs of other sweeps in this folder", len(found) - len(runs))
    if warning := differing_dev_sets(settings):
        log.warning("%s", warning)
    try:
        for page in write_pages(folder):
            log.info("%s", page)
    except InputError as error:  # rows that differ in more than their seed
        log.info("no paper's table is written: %s", error)


def _bleu_of(runs: Sequence[Run]) -> str:
    """Which BLEU the runs are compared by."""
    return next((name for name in BLEU if any(run.figure(name) is not None for run in runs)), "dev_bleu")


def _columns(runs: Sequence[Run]) -> tuple[str, ...]:
    return (bleu := _bleu_of(runs)), f"{bleu}_interval", "P", "seconds"


def summary_of(runs: Sequence[Run], folder: Path) -> str:
    """The runs of a sweep, best first, as lines; a run's name shows what was varied."""
    count = "1 run" if len(runs) == 1 else f"{len(runs)} runs, best first"
    lines = [f"{folder}: {count}", f"  {BLEU[_bleu_of(runs)]:>13}  {'P':>6}  {'time':>7}  run"]
    for run in runs:
        bleu, width, error, seconds = (run.figure(name) for name in _columns(runs))
        score = "-" if bleu is None else f"{bleu:.2f}" + ("" if width is None else f" ± {width:.2f}")
        shown = [score, "-" if error is None else f"{error:.4f}", "-" if seconds is None else span(seconds)]
        if not run.finished:
            shown[0] = "not finished"
        lines.append(f"  {shown[0]:>13}  {shown[1]:>6}  {shown[2]:>7}  {run.name}")
    return "\n".join([*lines, f"table: {folder / TABLE}; for all settings and curves: xlate report {folder}"])


def write_table(path: Path, runs: Sequence[Run]) -> None:
    """Writes the same with all digits, separated by tabs."""
    from xlate.report.tables import Column, Table
    from xlate.text.lines import write_file

    columns = [Column("run", [run.name for run in runs])]
    columns.append(Column("finished", [str(run.finished).lower() for run in runs]))
    columns += [Column(name, [run.figure(name) for run in runs]) for name in _columns(runs)]
    write_file(path, Table(columns).tsv())
