"""xlate train: from a work directory to a run with weights, figures and a measured dev set."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.candidates.store import CandidateStore
from xlate.config.identity import identity_of_training
from xlate.config.schema import TrainConfig
from xlate.config.stored import to_yaml
from xlate.errors import InputError
from xlate.features.index import BlockNames
from xlate.jobs.evaluate import Measured, measure
from xlate.jobs.models import FLOATS_OF, SETS_OF
from xlate.jobs.phrase_models import KIND as PHRASE
from xlate.jobs.prepare.block_stores import BlockStores, block_stores
from xlate.jobs.prepare.stages import identity_of, peak_megabytes
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.run_weights import made_with, weights_path
from xlate.jobs.train.global_training import base_of_global, learn_globally
from xlate.jobs.train.nbest_events import nbest_stores
from xlate.jobs.train.rerank_runs import KIND as RERANK
from xlate.jobs.train.rerank_runs import train_rerank
from xlate.jobs.train.settings import check_training
from xlate.jobs.train.sparse_runs import train_sparse
from xlate.jobs.train.tuned_runs import train_tuned
from xlate.jobs.train.warnings import warn_if_all_zero, warn_if_unmoved, warn_of_few_steps
from xlate.report.identity import flat
from xlate.report.run_directory import RunDirectory
from xlate.report.tensorboard import TensorBoardReporter
from xlate.scoring.device import device_of
from xlate.scoring.weights import Weights, load_weights, save_weights
from xlate.text.locks import refused_while_written
from xlate.train.checkpoint import Checkpoint
from xlate.train.device_learner import DeviceLearner
from xlate.train.learner import InstanceLearner, LearnerOf
from xlate.train.loop import Phase, Training
from xlate.train.signals import StopFlag
from xlate.train.state import PhaseSettings
from xlate.updates.rule import UpdateRule

log = logging.getLogger(__name__)
FEATURES = "families 2"


@dataclass(frozen=True)
class Outcome:
    """How `train` ended: the figures of a finished run, or the signal that stopped it."""

    summary: dict[str, Any] | None
    interrupted: int | None = None


def train(config: TrainConfig, folder: Path) -> Outcome:
    """Trains a run in `folder`, goes on with one that was interrupted, or returns the figures of a finished one.

    Raises:
        InputError: no prepared work directory, another run in the folder, settings that do not fit each other, or
            another process trains the run.
    """
    check_training(config)
    with refused_while_written(folder, "run"):
        return _train(config, folder)


def _train(config: TrainConfig, folder: Path) -> Outcome:
    if config.model.kind == RERANK:
        return Outcome(*train_rerank(config, folder))
    if config.loss.lists is not None:
        return Outcome(*train_sparse(config, folder))
    if config.loss.tune is not None or config.model.kind == PHRASE:
        return Outcome(*train_tuned(config, folder))
    work = WorkDirectory(Path(config.work)).check()
    _check_places(config, work)
    identity = identity_of_training(config)
    run = RunDirectory.create(folder, to_yaml(config), {**identity, "work_identity": work.identity})
    if run.summary is not None and run.summary.get("finished"):
        log.info("%s is finished", folder)
        return Outcome(run.summary)
    start = time.perf_counter()
    stores = _stores(config, work, folder)
    with StopFlag() as stop:
        reporter = TensorBoardReporter(run)
        try:
            if config.loss.name == "global":
                held = learn_globally(config, work, run, reporter, stop.__bool__)
            else:
                held = _learn(config, work, stores, run, reporter, stop)
            if held is None:
                return Outcome(None, stop.signal)
            dev = measure(config, work, folder, "dev", reporter, held.state.seen)
            summary = _summary(config, stores, held, dev, run, time.perf_counter() - start)
            if config.measure_test:
                test = measure(config, work, folder, "test", reporter, held.state.seen)
                summary |= {} if test is None else test.figures()
            figures = {k: v for k, v in summary.items() if isinstance(v, int | float) and not isinstance(v, bool)}
            reporter.hparams(flat(identity), figures)
        finally:
            reporter.close()
    run.write_summary(summary)
    return Outcome(summary)


def _stores(config: TrainConfig, work: WorkDirectory, folder: Path) -> BlockStores:
    """The candidate stores of the work directory, and those of n-best lists when floats are trained on them."""
    stores = block_stores(work, config.model)
    if config.loss.floats.data != "nbest":
        return stores
    assert config.base is not None
    more, identity = nbest_stores(work, config, Path(config.base), folder, stores.features)
    named = {f"{name}.nbest": store for name, store in more.items()}
    return replace(stores, stores={**stores.stores, **named}, identity=identity_of({"on": [stores.identity, identity]}))


def _check_places(config: TrainConfig, work: WorkDirectory) -> None:
    """Checks what a training of a block model needs beside its settings, before anything is written.

    Raises:
        InputError: a base run that is missing, unfinished or another model's, or a split that is not there.
    """
    loss = config.loss
    if loss.name == "global":
        base_of_global(config, work)
        splits = [("loss.globally.split", loss.globally.split)]
    elif loss.name == "uniform" or loss.floats.data == "train":
        return
    elif loss.floats.data == "nbest":
        weights_path(Path(str(config.base)))
        splits = [("loss.floats.split", loss.floats.split)]
    else:
        splits = [("loss.floats.data", "dev")]
    for name, split in splits:
        if not work.has_split(split) or not work.references(split):
            seen = f"{name}={split}"
            raise InputError(f"no {split} set to train on", file=work.path, seen=seen, expected="a set with references")


def phases(config: TrainConfig, stores: BlockStores) -> list[Phase]:
    """The phases of a training: float weights, those of the neutral model, then the binary weights."""
    loss, floats = config.loss, config.model.floats
    if loss.name == "uniform":
        return []

    def settings(name: str, weights: str, trained: tuple[bool, ...], sparse: bool) -> PhaseSettings:
        return PhaseSettings(
            name=name,
            weights=weights,
            trained=trained,
            train_sparse=sparse,
            use_sparse=sparse,
            epochs=loss.binary.epochs if sparse else loss.floats.epochs,
            eta=loss.eta,
            eta_sparse=loss.binary.eta if sparse else 0.0,
            decay=loss.decay,
            subset=1.0 if sparse else loss.floats.subset,
            patience=loss.patience if sparse else 0,
            seed=config.seed,
            block=loss.block,
            loss=loss.name,
            loss_settings=(("sink", loss.sink),),
            rule=UpdateRule(
                l1=loss.l1 if sparse else 0.0,
                l2=loss.l2 if sparse else 0.0,
                average=loss.average,
                project=loss.project_sign,
            ),
            check_bound=loss.check_bound,
        )

    names = FLOATS_OF[config.model.kind]
    linked = tuple(name in floats for name in names)
    neutral = tuple(name in floats and name != "orientation" for name in names)
    nothing = tuple(False for _ in names)
    chosen = [settings("floats", "linked", linked, False)]
    if "neutral" in SETS_OF[config.model.kind]:
        chosen.append(settings("neutral", "neutral", neutral, False))
    if config.model.binary:
        chosen.append(settings("binary", "linked", linked if loss.binary.joint else nothing, True))
    return [Phase(s, _store(config, stores, s), stores.stores[f"{s.weights}.heldout"]) for s in chosen]


def _store(config: TrainConfig, stores: BlockStores, settings: PhaseSettings) -> CandidateStore:
    """Where a phase finds its instances.

    A language model knows its own training text too well, so its weight comes out too large there; dev sentences, which
    it has not seen, give weights that hold for other text.
    """
    if settings.train_sparse or config.loss.floats.data == "train":
        return stores.stores[settings.weights]
    if config.loss.floats.data == "nbest":
        return stores.stores[f"{settings.weights}.nbest"]
    if f"{settings.weights}.dev" not in stores.stores:
        raise InputError(
            "no dev set to train floats on", seen="loss.floats.data=dev", expected="a work directory with one"
        )
    return stores.stores[f"{settings.weights}.dev"]


def _learn(
    config: TrainConfig,
    work: WorkDirectory,
    stores: BlockStores,
    run: RunDirectory,
    reporter: TensorBoardReporter,
    stop: StopFlag,
) -> Checkpoint | None:
    """Runs all phases and writes the weights; None when stopped before the end."""
    todo = phases(config, stores)
    warn_of_few_steps(todo, config.loss.batch)
    initial = _initial(config, stores)
    training = Training(
        phases=todo,
        checkpoint=run.path / "checkpoint" / "latest.safetensors",
        identity=identity_of({"phases": [asdict(p.settings) for p in todo], "stores": stores.identity}),
        reporter=reporter,
        checkpoint_seconds=config.checkpoint_seconds,
        families=stores.features.ranges,
        learner=_learner(config),
    )
    held = training.run(initial, stop)
    if not training.finished(held):
        return None
    _warn_of_nothing_learned(config, initial, held.weights)
    names = BlockNames(work.blocks, work.source_vocabulary, work.target_vocabulary)
    save_weights(
        run.path / "weights.safetensors",
        held.weights,
        sparse_names={"linked": list(stores.features.names(names))},
        extra={"linked.keys": stores.features.keys_F},
        metadata={
            "work": str(config.work),
            "work_identity": work.identity,
            "features": FEATURES,
            **made_with(config.model),
        },
    )
    return held


def _warn_of_nothing_learned(config: TrainConfig, before: dict[str, Weights], after: Mapping[str, Weights]) -> None:
    loss = config.loss
    if loss.name == "uniform":
        return
    steps = f"loss.floats.epochs={loss.floats.epochs} loss.eta={loss.eta:g}"
    sparse = f"loss.binary.epochs={loss.binary.epochs} loss.binary.eta={loss.binary.eta:g} loss.l1={loss.l1:g}"
    warn_if_unmoved(before, after, f"{steps} {sparse}")
    if config.model.binary:
        warn_if_all_zero(after["linked"].sparse_F, f"{sparse} model.threshold={config.model.threshold}")


def _learner(config: TrainConfig) -> LearnerOf:
    """The online kernel, or mini-batches on the device."""
    if not config.loss.batch:
        if config.device == "cuda":
            log.info("loss.batch=0 is the online kernel, which runs on the CPU; loss.batch=4096 runs on the device")
        return InstanceLearner
    device = device_of(config.device)
    if config.device == "cuda" and device.type == "cpu":
        log.info("no CUDA device here: mini-batches run on the CPU")
    return lambda s, store, weights, memory: DeviceLearner(s, store, weights, memory, device, config.loss.batch)


def _initial(config: TrainConfig, stores: BlockStores) -> dict[str, Weights]:
    """Zero weights, as the paper starts; -1 on every chosen float when nothing is to be trained."""
    names = FLOATS_OF[config.model.kind]
    sets = {name: Weights.zeros(names, len(stores.features)) for name in SETS_OF[config.model.kind]}
    if "neutral" in sets:
        sets["neutral"] = Weights.zeros(names, 0)
    if config.loss.name == "uniform":
        for column, name in enumerate(names):
            for key, weights in sets.items():
                used = name in config.model.floats and not (key == "neutral" and name == "orientation")
                weights.dense_D[column] = -1.0 if used else 0.0
    return sets


def _summary(
    config: TrainConfig, stores: BlockStores, held: Checkpoint, dev: Measured | None, run: RunDirectory, seconds: float
) -> dict[str, Any]:
    last = {entry["phase"]: entry for entry in held.state.history}
    linked = last.get("global") or last.get("binary") or last.get("floats") or {}
    weights = load_weights(run.path / "weights.safetensors").sets
    return {
        "finished": True,
        "work": config.work,
        "P": linked.get("P"),
        "valid_loss": linked.get("valid_loss"),
        "P_neutral": last.get("neutral", {}).get("P"),
        "features": len(stores.features),
        "active_features": weights["linked"].active,
        "instances": len(stores.stores["linked"]),
        "seen": held.state.seen,
        "weights": {
            name: dict(zip(w.dense_names, np.round(w.dense_D, 6).tolist(), strict=True)) for name, w in weights.items()
        },
        **({} if dev is None else dev.figures()),
        "seconds": round(seconds, 2),
        "peak_mb": round(peak_megabytes(), 1),
        "history": held.state.history,
    }
