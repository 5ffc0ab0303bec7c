"""A training that another run of the sweep has finished is taken from there: tables of a paper repeat rows."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from xlate.config.identity import sums_of_run
from xlate.config.schema import TrainConfig
from xlate.config.stored import read_config
from xlate.report.run_directory import CONFIG_FILE, MARK, RunDirectory
from xlate.report.runs import collect_runs
from xlate.text.opening import checked_name

log = logging.getLogger(__name__)

# The run has its own of these.
OWN = (MARK, CONFIG_FILE, "summary.json", "checkpoint", ".*", "*.log")
# Whose classifiers a phrase system uses: dotted keys that name runs.
RUNS = ("run", "distortion")


def take_from_sweep(directory: RunDirectory, config: TrainConfig, sweep: Path) -> bool:
    """Copies what a finished run of the sweep has made by the same training, if there is such a run.

    The same training has the same settings, up to the row of a table that it is for, and is made from the same text
    and weights. A training that has begun is left to go on.

    Args:
        directory: the run that is asked for.
        config: its settings.
        sweep: the folder whose runs are looked at, at any depth.

    Returns:
        Whether the run is finished by it; its summary then has the other run's folder as `taken_from`.
    """
    if directory.records.path.exists() or not sweep.is_dir():
        return False
    sums = cache(sums_of_run)
    asked = _training(directory.identity, sums)
    for run in filter(lambda run: run.finished, collect_runs([sweep])):
        held = RunDirectory.open(run.path).identity
        if _training(held, sums) == asked and _as_measured(run.path, config):
            _take(run.path, directory)
            log.info("%s: the same training is finished in %s and is taken from there", directory.path, run.path)
            return True
    return False


def _training(identity: Mapping[str, Any], sums: Callable[[Path], dict[str, str]]) -> dict[str, Any]:
    """The identity without the row, and with weights in the place of the names of runs that predict translations."""
    kept = {key: value for key, value in identity.items() if key != "row"}
    used = (kept.get("model") or {}).get("context")
    if used:
        predicting = {key: sums(Path(used[key])) for key in RUNS if used.get(key)}
        kept["model"] = {**kept["model"], "context": {**used, **predicting}}
    return kept


def _as_measured(run: Path, config: TrainConfig) -> bool:
    """Whether a run has all measures that are asked for; they do not belong to the training."""
    return set(config.measures) <= set(read_config(run / CONFIG_FILE, TrainConfig).measures)


def _take(run: Path, directory: RunDirectory) -> None:
    """Copies a run's files; the summary, which closes the run, is the last."""
    shutil.copytree(run, checked_name(directory.path), ignore=shutil.ignore_patterns(*OWN), dirs_exist_ok=True)
    summary = RunDirectory.open(run).summary or {}
    directory.write_summary({**summary, "taken_from": summary.get("taken_from", str(run))})
