"""xlate train: a run trained by the recipe that its settings ask for, which are checked first.

A training that another run of the sweep has finished is taken from there: tables of a paper repeat rows.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from xlate.config.identity import identity_of_training, sums_of_run
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.source_schema import ONLINE
from xlate.config.stored import read_config, to_yaml
from xlate.config.tune_schema import TUNERS
from xlate.config.varied import varied_settings
from xlate.errors import InputError
from xlate.features.bigrams import FAMILIES
from xlate.features.sparse_sets import check_sparse
from xlate.jobs.context.list_training import ContextListTraining, check_context_lists
from xlate.jobs.context.training import ContextTraining, check_context
from xlate.jobs.ranking.lists import ranking_objective
from xlate.jobs.ranking.texts import given_list
from xlate.jobs.systems.registry import EVENT_KINDS, event_kind, kind_of
from xlate.jobs.train.events import UNIFORM, LocalTraining, Untrained
from xlate.jobs.train.global_model import GlobalMethod
from xlate.jobs.train.lists import ListTraining, check_lists, list_settings
from xlate.jobs.train.online import OnlineTraining, check_online, check_start
from xlate.jobs.train.recipe import Recipe, refuse_if
from xlate.jobs.train.rerank import RankTraining
from xlate.jobs.train.sparse_models import sparse_settings
from xlate.jobs.train.tuning import TunedTraining, optimiser
from xlate.losses.loss import Needs, losses
from xlate.metrics.objective import Objective
from xlate.metrics.score import MEASURES
from xlate.report.run_directory import CONFIG_FILE, MARK, RunDirectory
from xlate.report.runs import collect_runs
from xlate.scoring.device import device_of
from xlate.text.folders import refused_while_written
from xlate.text.opening import checked_name
from xlate.train.global_model import NAME as GLOBAL
from xlate.train.global_model import RULES
from xlate.train.run import Outcome, RunSettings, conduct
from xlate.train.signals import StopFlag

log = logging.getLogger(__name__)
Check = Callable[[TrainConfig], object]
# The run has its own of these.
OWN = (MARK, CONFIG_FILE, "summary.json", "checkpoint", ".*", "*.log")
# Whose classifiers a phrase system uses: dotted keys that name runs.
RUNS = ("run", "distortion")


def train(config: TrainConfig, folder: Path, given: Sequence[str] = (), sweep: Path | None = None) -> Outcome:
    """Trains a run in `folder`, goes on with one that was stopped, or returns the figures of a finished one.

    Args:
        config: the settings.
        folder: of the run.
        given: the arguments of the command line, `key=value`, if any: TensorBoard's table of runs shows those keys.
        sweep: the folder of a sweep that the run is a job of. What a finished job got by the same training is taken.

    Raises:
        InputError: no prepared work directory, another run in the folder, settings that do not fit each other, or
            another process trains the run.
    """
    check_training(config)
    with refused_while_written(folder, "run"):
        return trained(config, folder, given=given, sweep=sweep)


def trained(
    config: TrainConfig,
    folder: Path,
    stop: StopFlag | None = None,
    given: Sequence[str] = (),
    sweep: Path | None = None,
) -> Outcome:
    """The same without looking at settings and other processes; `stop` is that of a training this one is a part of."""
    recipe = recipe_of(config)
    if stop is None:
        _say_device(recipe)
    # A run without settings of its own for something has those of its base.
    used = recipe.config
    settings = RunSettings(
        to_yaml(used), identity_of_training(used), varied_settings(used, given), used.checkpoint_seconds
    )
    return conduct(recipe, folder, settings, stop, lambda run: sweep is not None and take_from_sweep(run, used, sweep))


def _say_device(recipe: Recipe) -> None:
    """Says so where the device that was asked for, or is there, is not the one that the training runs on."""
    config, part = recipe.config, recipe.on_device
    if config.device == "cpu":
        return
    there = device_of(config.device).type == "cuda"
    if there and part is None:
        batches = recipe.by_events and config.loss.name != UNIFORM
        log.info(
            "device=%s: this training runs on the CPU, nothing of it on a GPU%s",
            config.device,
            "; loss.batch=4096 would take mini-batches there" if batches else "",
        )
    elif not there and part is not None:
        log.info("device=%s: no GPU that PyTorch can use, so %s on the CPU", config.device, part)


def recipe_of(config: TrainConfig) -> Recipe:
    """What trains a run.

    Raises:
        InputError: something that the training needs is not there.
    """
    return _recipe(config)[1](config)


def _recipe(config: TrainConfig) -> tuple[Check, Callable[[TrainConfig], Recipe]]:
    """How the settings of a training are checked, and what trains by them."""
    kind, loss = kind_of(config.model.kind), config.loss
    if kind.ranks_lists:
        return _check_rerank, RankTraining
    if kind.predicts and loss.lists is None:
        return _check_classifier, ContextTraining
    if kind.predicts:
        return _check_classifier_lists, lambda config: ContextListTraining(config, trained)
    if config.source.name == ONLINE:
        return check_online, OnlineTraining
    if loss.lists is not None:
        return _check_sparse_lists, lambda config: ListTraining(config, trained)
    if loss.name == GLOBAL:
        return _check_global, GlobalMethod
    if kind.untrained and loss.name == UNIFORM:
        return _check_untrained, Untrained
    if loss.tune is not None or config.model.kind not in EVENT_KINDS:
        return _check_tuning, TunedTraining
    return _check_local, LocalTraining


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
        held = RunDirectory.open(run.path)
        # Measures do not belong to the training, but all that are asked for must be there.
        if _training(held.identity, sums) == asked and set(config.measures) <= set(
            read_config(run.path / CONFIG_FILE, TrainConfig).measures
        ):
            patterns = shutil.ignore_patterns(*OWN)
            shutil.copytree(run.path, checked_name(directory.path), ignore=patterns, dirs_exist_ok=True)
            # The summary, which closes the run, is the last.
            summary = held.summary or {}
            directory.write_summary({**summary, "taken_from": summary.get("taken_from", str(run.path))})
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


def check_training(config: TrainConfig) -> None:
    """Checks the settings of a training against each other.

    Raises:
        InputError: naming the setting, what it is and what it may be.
    """
    device_of(config.device)
    _one_of("measures", config.measures, MEASURES)
    measured = "bleu" in config.measures
    refuse_if(not measured, "runs are compared by BLEU", f"measures={config.measures}", "bleu among them")
    kind = kind_of(config.model.kind)
    kind.check(config.model)
    if config.model.sparse is not None:
        check_sparse(sparse_settings(config.model.sparse))
    refuse_if(
        config.nbest is not None and not (kind.ranks_lists or kind.predicts),
        "lists that are given are ranked",
        f"nbest={config.nbest} model={config.model.name}",
        "model=rerank, or no nbest=",
    )
    _recipe(config)[0](config)


def _check_classifier(config: TrainConfig) -> None:
    _refuse_base(config, "no base, or loss=xbleu, which trains the classifier of a run on")
    check_context(config)


def _check_classifier_lists(config: TrainConfig) -> None:
    check_context_lists(config)
    _check_lists(config)


def _check_untrained(config: TrainConfig) -> None:
    _refuse_base(config, "no base, or a tuner: loss=mira")


def _check_rerank(config: TrainConfig) -> None:
    _refuse_base(config, "no base")
    nbest = config.nbest or ""
    refuse_if(
        config.nbest is None or not config.references,
        "lists of translations and their references are learned from",
        f"nbest={config.nbest}, references={list(config.references)}",
        "both",
        "nbest=FILE references=[FILE,…]",
    )
    given_list(config, nbest)
    if config.loss.lists is not None:
        list_settings(config.loss.lists, config.seed)
        ranking_objective(config)
        return
    tune = config.loss.tune
    if tune is None:
        seen, expected = f"loss={config.loss.name}", "loss=xbleu, or a tuner: " + ", ".join(TUNERS)
        raise InputError("lists are ranked by a loss over lists", seen=seen, expected=expected)
    refuse_if(
        tune.metric != "bleu",
        "lists are ranked for the metric of the model",
        f"loss.tune.metric={tune.metric}",
        f"model.rerank.metric={tune.metric}",
    )
    seen = f"loss.tune.weights={tune.weights}"
    refuse_if(bool(tune.weights), "of lists all weights are learned", seen, "no loss.tune.weights")
    optimiser(tune, np.ones(1, dtype=np.bool_), ranking_objective(config))


def _check_sparse_lists(config: TrainConfig) -> None:
    if config.model.kind in EVENT_KINDS:
        _check_event_model(config.model)
    kind_of(config.model.kind).check_lists(config)
    _check_lists(config)
    start = "uniform" if config.loss.tune is None else config.loss.tune.start
    remedy = "base=RUN begins with the weights of a run"
    told = "float weights are tuned from the start"
    refuse_if(start != "uniform", told, f"loss.tune.start={start}", "uniform", remedy)
    _check_tuning(config, started=True)


def _check_lists(config: TrainConfig) -> None:
    lists = config.loss.lists
    assert lists is not None
    check_lists(lists)
    list_settings(lists, config.seed)
    Objective.of("bleu", lists.gain)
    refuse_if(
        lists.sentences is not None and lists.sentences < lists.heldout_every,
        "too few lists",
        f"loss.lists.sentences={lists.sentences}",
        f"{lists.heldout_every} or more: some are held out",
    )


def _check_tuning(config: TrainConfig, *, started: bool = False) -> None:
    """`started`: there is a run to start from, or one is made."""
    tune = config.loss.tune
    if tune is None:
        raise InputError(
            f"the {config.model.kind} model is trained by tuning",
            seen=f"loss.name={config.loss.name}",
            expected="loss=" + ", ".join(TUNERS),
        )
    refuse_if(
        config.loss.lists is None and tune.name != config.loss.name,
        "two tuners",
        f"loss.name={config.loss.name} loss.tune.name={tune.name}",
        f"one: loss={config.loss.name} or loss={tune.name}",
    )
    optimiser(tune, np.ones(1, dtype=np.bool_), Objective.of(tune.metric, tune.gain))
    refuse_if(
        bool(tune.weights) and tune.start != "base",
        "the weights that are not tuned are those of a run",
        f"loss.tune.weights={tune.weights} loss.tune.start={tune.start}",
        "loss.tune.start=base",
    )
    if not started:
        check_start(config, tune.start)


def _refuse_base(config: TrainConfig, expected: str) -> None:
    """For trainings that have no use for a run to start from."""
    refuse_if(config.base is not None, "this training starts from no run", f"base={config.base}", expected)


def _check_local(config: TrainConfig) -> None:
    """Of the block models, which learn from events."""
    loss = config.loss
    _check_event_model(config.model)
    local = (name for name, kind in losses().items() if kind.needs in (Needs.TRUTH, Needs.GAINS))
    _one_of("loss.name", [loss.name], (*local, UNIFORM, GLOBAL))
    if loss.floats.data != "nbest":
        _refuse_base(config, "no base, or what goes on from a run: loss=mira, another tuner, xbleu or global")
    if loss.name == UNIFORM:
        return
    _check_steps(config)
    no_base = loss.floats.data == "nbest" and config.base is None
    refuse_if(no_base, "no run to decode n-best lists with", "loss.floats.data=nbest", "base=RUN")


def _check_event_model(model: ModelConfig) -> None:
    floats = event_kind(model.kind).choices
    _one_of("model.floats", model.floats, floats)
    _one_of("model.binary", model.binary, tuple(FAMILIES))
    expected = f"at least one of {', '.join(floats)}"
    refuse_if(not model.floats, "a model without floats", "model.floats=[]", expected)


def _check_steps(config: TrainConfig) -> None:
    loss = config.loss
    for name, value in (("loss.l1", loss.l1), ("loss.l2", loss.l2)):
        within, expected = 0 <= value * loss.binary.eta < 1, f"from 0 to below 1/{loss.binary.eta:g}"
        refuse_if(not within, f"{name} is out of range", str(value), expected)
    penalties, bound = f"loss.l1={loss.l1} loss.l2={loss.l2}", loss.check_bound
    refuse_if(bool(loss.l1 and loss.l2), "two penalties", penalties, "one of them")
    told = "the bound of Theorem A.1 knows no penalties"
    seen = f"loss.check_bound=true {penalties}"
    refuse_if(bound and bool(loss.l1 or loss.l2), told, seen, "loss.l1=0 loss.l2=0")
    told = "the bound of Theorem A.1 is about a step an instance"
    seen = f"loss.check_bound=true loss.batch={loss.batch}"
    refuse_if(bound and bool(loss.batch), told, seen, "loss.batch=0, the compiled pass")


def _check_global(config: TrainConfig) -> None:
    if config.model.kind in EVENT_KINDS:
        _check_event_model(config.model)
    told = "the global model starts from a run of the local one"
    refuse_if(config.base is None, told, "no base", "base=RUN")
    _one_of("loss.globally.rule", [config.loss.globally.rule], tuple(RULES))


def _one_of(name: str, values: list[str], allowed: tuple[str, ...]) -> None:
    for value in values:
        refuse_if(value not in allowed, f"unknown value of {name}", value, ", ".join(allowed))
