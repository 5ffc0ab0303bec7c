"""xlate train: a run trained by the method that its settings ask for."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from xlate.config.identity import identity_of_training
from xlate.config.schema import TrainConfig
from xlate.config.source_schema import ONLINE
from xlate.config.stored import to_yaml
from xlate.config.varied import varied_settings
from xlate.jobs.context.list_training import ContextListTraining
from xlate.jobs.context.training import ContextTraining
from xlate.jobs.systems.registry import kind_of
from xlate.jobs.train.global_model.method import NAME as GLOBAL
from xlate.jobs.train.global_model.method import GlobalMethod
from xlate.jobs.train.lists import ListTraining
from xlate.jobs.train.local import LocalTraining
from xlate.jobs.train.online_training.method import OnlineTraining
from xlate.jobs.train.rerank import RankTraining
from xlate.jobs.train.same_training import take_from_sweep
from xlate.jobs.train.settings import check_training
from xlate.jobs.train.tuned import TunedTraining
from xlate.jobs.train.untrained import Untrained
from xlate.report.run_directory import RunDirectory
from xlate.scoring.device import device_of
from xlate.text.folders import refused_while_written
from xlate.train.run import Method, Outcome, RunSettings, conduct
from xlate.train.signals import StopFlag

log = logging.getLogger(__name__)
# They learn from events one by one, or in mini-batches.
BY_EVENTS = (LocalTraining, ContextTraining)
UNIFORM = "uniform"


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
    method = method_of(config)
    if stop is None:
        _say_device(method)
    # A run without settings of its own for something has those of its base.
    used = method.config
    settings = RunSettings(
        to_yaml(used),
        identity_of_training(used),
        varied_settings(used, given),
        used.checkpoint_seconds,
    )

    def taken(run: RunDirectory) -> bool:
        return sweep is not None and take_from_sweep(run, used, sweep)

    return conduct(method, folder, settings, stop, taken)


def _say_device(method: ConfiguredMethod) -> None:
    """Says so where the device that was asked for, or is there, is not the one that the training runs on."""
    config = method.config
    if config.device == "cpu":
        return
    part, there = on_device(method), device_of(config.device).type == "cuda"
    if there and part is None:
        batches = isinstance(method, BY_EVENTS) and config.loss.name != UNIFORM
        log.info(
            "device=%s: this training runs on the CPU, nothing of it on a GPU%s",
            config.device,
            "; loss.batch=4096 would take mini-batches there" if batches else "",
        )
    elif not there and part is not None:
        log.info("device=%s: no GPU that PyTorch can use, so %s on the CPU", config.device, part)


def on_device(method: Method) -> str | None:
    """What a training does on the device, the CPU or a GPU, that `device` names; None: all is compiled for the CPU."""
    if isinstance(method, ListTraining):
        return "lists are learned from"
    if isinstance(method, BY_EVENTS) and method.config.loss.batch and method.config.loss.name != UNIFORM:
        return "mini-batches run"
    return None


class ConfiguredMethod(Method, Protocol):
    """A method with the settings that it trains by."""

    config: TrainConfig


def method_of(config: TrainConfig) -> ConfiguredMethod:
    """How a run is trained.

    Raises:
        InputError: something that the training needs is not there.
    """
    if kind_of(config.model.kind).ranks_lists:
        return RankTraining(config)
    if kind_of(config.model.kind).predicts:
        return ContextTraining(config) if config.loss.lists is None else ContextListTraining(config, trained)
    if config.source.name == ONLINE:
        return OnlineTraining(config)
    if config.loss.name == GLOBAL:
        return GlobalMethod(config)
    if config.loss.lists is not None:
        return ListTraining(config, trained)
    if config.loss.tune is not None:
        return TunedTraining(config)
    if kind_of(config.model.kind).untrained:
        return Untrained(config)
    return LocalTraining(config)
