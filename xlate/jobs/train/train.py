"""xlate train: checks the settings of a run and trains it with the recipe that they select.

A training that another run of the sweep has finished is copied from there, as tables of a paper repeat rows.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from xlate.cluster import uses_cluster
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_task, identity_of_training, read_config, sums_of_run, to_yaml, varied_settings
from xlate.errors import InputError, refuse_if
from xlate.features.phrase_sparse import check_sparse
from xlate.jobs.train.combination import CombinationTraining
from xlate.jobs.train.contexts import ContextListTraining, ContextTraining
from xlate.jobs.train.events import UNIFORM, LocalTraining, Untrained
from xlate.jobs.train.global_model import GlobalMethod
from xlate.jobs.train.joint import JointTraining
from xlate.jobs.train.lists import ListTraining
from xlate.jobs.train.online import OnlineTraining
from xlate.jobs.train.recipe import EventRecipe, Recipe, device_of
from xlate.jobs.train.rerank import RankTraining
from xlate.jobs.train.transformer import TransformerTraining
from xlate.jobs.train.tuning import TunedTraining
from xlate.learning.global_model import NAME as GLOBAL
from xlate.learning.ranks import ONE, Ranks
from xlate.learning.run import Run, conduct
from xlate.machine import StopFlag
from xlate.models.kind import kind_of
from xlate.report.run_directory import CONFIG_FILE, MARK, AnotherRun, Listener, RunDirectory
from xlate.report.runs import collect_runs
from xlate.settings import Json
from xlate.text.folders import refused_while_written
from xlate.text.opening import checked_name
from xlate.tuners.settings import ONLINE

log = logging.getLogger(__name__)
# The run has its own versions of these files.
OWN = (MARK, CONFIG_FILE, "summary.json", "checkpoint", ".*", "*.log")
# Dotted keys that name the runs whose classifiers a phrase system uses.
RUNS = ("run", "distortion")
# The recipes of models that learn in only one way.
ONE_WAY: dict[str, type[Recipe]] = {
    "rerank": RankTraining,
    "joint": JointTraining,
    "transformer": TransformerTraining,
    "combination": CombinationTraining,
}


def train(
    config: TrainConfig,
    folder: Path,
    given: Sequence[str] = (),
    sweep: Path | None = None,
    listener: Listener | None = None,
) -> Json:
    """Trains a run in `folder`, resumes a stopped one, or returns the figures of a finished one.

    Args:
        config: the settings.
        folder: of the run.
        given: the arguments of the command line, `key=value`, if any: TensorBoard's table of runs shows those keys.
        sweep: the folder of the sweep to which the run belongs. Results of a finished job with the same training are
            copied.
        listener: receives every scalar in place of the function that `config.reporter` names.

    Raises:
        InputError: no prepared work directory, another run in the folder, settings that do not fit each other, or
            another process is training the run.
        Interrupted: a signal stopped the training.
    """
    check_training(config)
    ranks = Ranks.started(device_of(config.device))
    with refused_while_written(folder, "run") if ranks.leads else nullcontext():
        listener = listener or (listener_of(config.reporter) if config.reporter else None)
        try:
            return trained(config, folder, given=given, sweep=sweep, listener=listener, ranks=ranks)
        except AnotherRun as error:
            if sweep is None:
                raise
            # A key with a single value names no folder.
            keys = {argument.partition("=")[0].lstrip("+~") for argument in given}
            both = [f"{key}={there},{here}" for key, there, here in error.differences if key in keys]
            remedy = (
                "name another folder for the sweep, hydra.sweep.dir=FOLDER; a key with one value does not name a folder"
            )
            together = f"sweep over both values, {' '.join(both)}, or " if both else ""
            raise AnotherRun(error.path, error.differences, together + remedy) from error


def train_row(config: Json, folder: str, given: list[str], sweep: str) -> str:
    """Trains a run of a sweep; returns its folder: a task of `cli.sweeps.train_rows`."""
    train(config_of_task(config, TrainConfig), Path(folder), given, Path(sweep))
    return folder


def trained(
    config: TrainConfig,
    folder: Path,
    stop: StopFlag | None = None,
    given: Sequence[str] = (),
    sweep: Path | None = None,
    listener: Listener | None = None,
    ranks: Ranks = ONE,
) -> Json:
    """The same without checking settings and other processes; `stop` is that of the training this one is part of."""
    recipe = _recipe(config)(config)
    recipe.train_part = trained
    if stop is None:
        _say_device(recipe)
    refuse_if(
        ranks.size > 1 and not recipe.over_ranks,
        "this training runs in one process",
        f"{ranks.size} ranks",
        "learning from events or from lists, or one rank",
        "xlate train … without torchrun",
    )
    # A run inherits the settings that it does not set from its base.
    used = recipe.config

    def learn(run: Run) -> Json:
        if listener is not None:
            run.reporter.listener = listener
        return recipe.learn(replace(run, checkpoint_seconds=used.checkpoint_seconds))

    return conduct(
        learn,
        folder,
        to_yaml(used),
        {**identity_of_training(used), **recipe.made_from()},
        varied_settings(used, given),
        stop,
        lambda run: sweep is not None and take_from_sweep(run, used, sweep),
        ranks,
    )


def listener_of(name: str) -> Listener:
    """The function that a dotted name such as `my_module.report` leads to; modules of the current folder are found too.

    Raises:
        InputError: there is no such module or function.
    """
    module, _, function = name.rpartition(".")
    sys.path.append(os.getcwd())
    try:
        found: Listener = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            "no function to report to",
            f"reporter={name}: {error}",
            "MODULE.FUNCTION, a function of tag, value and step",
            "the module must be installed or in the current folder",
        ) from error
    finally:
        sys.path.remove(os.getcwd())
    return found


def _say_device(recipe: Recipe) -> None:
    """Logs a message if the training does not run on the requested or available device."""
    config, part = recipe.config, recipe.on_device
    if config.device == "cpu":
        return
    there = device_of(config.device).type == "cuda"
    if there and part is None:
        batches = isinstance(recipe, EventRecipe) and config.loss.name != UNIFORM
        log.info(
            "device=%s: this training runs only on the CPU%s",
            config.device,
            "; loss.batch=4096 would run mini-batches on the GPU" if batches else "",
        )
    elif not there and part is not None:
        log.info("device=%s: no GPU that PyTorch can use, so %s on the CPU", config.device, part)


def _recipe(config: TrainConfig) -> type[Recipe]:
    """The class of the recipe for the settings, chosen only here: from events, from lists, or with the decoder."""
    kind, loss = kind_of(config.model), config.loss
    if kind.name in ONE_WAY:
        return ONE_WAY[kind.name]
    if kind.predicts:
        return ContextTraining if loss.lists is None else ContextListTraining
    if config.source.name == ONLINE:
        return OnlineTraining
    if loss.lists is not None:
        return ListTraining
    if loss.name == GLOBAL:
        return GlobalMethod
    if kind.untrained and loss.name == UNIFORM:
        return Untrained
    if loss.tune is not None or not kind.of_blocks:
        return TunedTraining
    return LocalTraining


def take_from_sweep(directory: RunDirectory, config: TrainConfig, sweep: Path) -> bool:
    """Copies the results of a finished run of the sweep with the same training, if there is one.

    The same training has the same settings, except for its row of a table, and is made from the same text and weights.
    A training that has already begun is not replaced.

    Args:
        directory: the requested run.
        config: its settings.
        sweep: the folder whose runs are considered, at any depth.

    Returns:
        Whether this finished the run; its summary then has the other run's folder as `taken_from`.
    """
    if directory.records.path.exists() or not sweep.is_dir():
        return False
    sums = cache(sums_of_run)
    asked = _training(directory.identity, sums)
    for run in filter(lambda run: run.finished, collect_runs([sweep])):
        held = RunDirectory.open(run.path)
        # Measures are not part of the training, but all requested ones must be there.
        if _training(held.identity, sums) == asked and set(config.measures) <= set(
            read_config(run.path / CONFIG_FILE, TrainConfig).measures
        ):
            patterns = shutil.ignore_patterns(*OWN)
            shutil.copytree(run.path, checked_name(directory.path), ignore=patterns, dirs_exist_ok=True)
            # The summary, which completes the run, comes last.
            summary = held.summary or {}
            directory.write_summary({**summary, "taken_from": summary.get("taken_from", str(run.path))})
            log.info("%s: copied from %s, which finished the same training", directory.path, run.path)
            return True
    return False


def _training(identity: Mapping[str, Any], sums: Callable[[Path], dict[str, str]]) -> Json:
    """The identity without the row, and with weights in place of the names of runs that predict translations."""
    kept = {key: value for key, value in identity.items() if key != "row"}
    used = (kept.get("model") or {}).get("context")
    if used:
        predicting = {key: sums(Path(used[key])) for key in RUNS if used.get(key)}
        kept["model"] = {**kept["model"], "context": {**used, **predicting}}
    return kept


def check_training(config: TrainConfig) -> None:
    """Checks the settings of a training against each other.

    Raises:
        InputError: names the setting, its value and the allowed values.
    """
    device_of(config.device)
    uses_cluster(config.cluster)
    if config.reporter is not None:
        listener_of(config.reporter)
    seen = f"measures={config.measures}"
    refuse_if("bleu" not in config.measures, "runs need BLEU to be compared", seen, "bleu among them")
    kind = kind_of(config.model)
    kind.check(config.model)
    if (sparse := config.model.sparse) is not None:
        check_sparse(sparse.words, sparse.reordering, sparse.plain)
    refuse_if(
        config.nbest is not None and not (kind.ranks_lists or kind.predicts),
        "nbest= needs a model that ranks lists",
        f"nbest={config.nbest} model={config.model.name}",
        "model=rerank, or no nbest=",
    )
    _recipe(config).check(config)
