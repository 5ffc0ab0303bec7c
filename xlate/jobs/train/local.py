"""Local training of a block model: events of the training text, float weights first, then the binary ones (TZ07)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from xlate.candidates.store import CandidateStore
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.features.block import MORE_FLOATS
from xlate.jobs.run_weights import made_with, weights_path
from xlate.jobs.systems.blocks.block_stores import BlockStores, block_stores
from xlate.jobs.systems.registry import event_kind
from xlate.jobs.train.measuring import DevBleu, measured_splits, rounded
from xlate.jobs.train.nbest_events import nbest_stores
from xlate.jobs.train.warnings import warn_if_all_zero, warn_if_unmoved, warn_of_few_steps
from xlate.scoring.device import device_of
from xlate.scoring.weights import Weights, centred, load_weights, save_weights, true_occurrences
from xlate.train.checkpoint import Checkpoint
from xlate.train.device_learner import DeviceLearner
from xlate.train.learner import InstanceLearner, LearnerOf
from xlate.train.loop import Phase, Training
from xlate.train.run import Run
from xlate.train.state import PhaseSettings
from xlate.updates.rule import UpdateRule
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of

log = logging.getLogger(__name__)
FEATURES = "families 2"


class LocalTraining:
    """Phases over stored events; what they need is in the work directory, or made there.

    Raises:
        InputError: no prepared work directory, or a split or base run that is not there.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.work = WorkDirectory(Path(config.work)).check()
        self._check_places()

    def made_from(self) -> Mapping[str, Any]:
        """The work directory."""
        return {"work_identity": self.work.identity}

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Trains all phases, translates the dev set, and the test set if asked."""
        stores = self._stores(run.path)
        held = _learn(self.config, self.work, stores, run)
        if held is None:
            return None
        figures = summary_of(stores, held, load_weights(run.weights).sets)
        measured = measured_splits(self.config, self.work, run, held.state.seen)
        return {"work": self.config.work, **figures, **measured, "history": held.state.history}

    def _check_places(self) -> None:
        floats = self.config.loss.floats
        if self.config.loss.name == "uniform" or floats.data == "train":
            return
        if floats.data == "nbest":
            weights_path(Path(str(self.config.base)))
        setting, split = ("loss.floats.split", floats.split) if floats.data == "nbest" else ("loss.floats.data", "dev")
        check_split(self.work, setting, split)

    def _stores(self, folder: Path) -> BlockStores:
        """The stores of the work directory, and those of n-best lists when floats are trained on them."""
        stores = block_stores(self.work, self.config.model)
        if self.config.loss.floats.data != "nbest":
            return stores
        base = Path(str(self.config.base))
        more, identity = nbest_stores(self.work, self.config, base, folder, stores.features)
        named = {f"{name}.nbest": store for name, store in more.items()}
        made_from = identity_of({"on": [stores.identity, identity]})
        return replace(stores, stores={**stores.stores, **named}, identity=made_from)


def check_split(work: WorkDirectory, setting: str, split: str) -> None:
    """Checks that a split to train on is there.

    Raises:
        InputError: it is not, or has no references.
    """
    if not work.has_split(split) or not work.references(split):
        raise InputError(
            f"no {split} set to train on",
            file=work.path,
            seen=f"{setting}={split}",
            expected="a set with references",
            remedy=f"xlate prepare with data.{split}_source=FILE data.{split}_references=[FILE], or data.dev_pairs=N",
        )


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

    names = event_kind(config.model.kind).names(config.model)
    linked = tuple(name in floats and (name not in MORE_FLOATS or MORE_FLOATS[name].local) for name in names)
    neutral = tuple(used and name != "orientation" for name, used in zip(names, linked, strict=True))
    nothing = tuple(False for _ in names)
    chosen = [settings("floats", "linked", linked, False)]
    if "neutral" in event_kind(config.model.kind).sets:
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


def _learn(config: TrainConfig, work: WorkDirectory, stores: BlockStores, run: Run) -> Checkpoint | None:
    """Runs all phases and writes the weights; None when stopped before the end."""
    todo = phases(config, stores)
    warn_of_few_steps(todo, config.loss.batch)
    initial = _initial(config, stores)
    training = Training(
        phases=todo,
        checkpoint=run.checkpoint(),
        identity=identity_of({"phases": [asdict(p.settings) for p in todo], "stores": stores.identity}),
        reporter=run.reporter,
        checkpoint_seconds=run.checkpoint_seconds,
        families=dict(stores.features.ranges),
        learner=learner_of(config),
        after_epoch=DevBleu.of(config, work, stores.features.keys_F, [p.settings for p in todo], run),
    )
    held = training.run(initial, run.stop)
    if not training.finished(held):
        return None
    if any(phase.settings.train_sparse for phase in todo) and config.loss.binary.centred:
        held = replace(held, weights=_centred(held.weights, stores))
    _warn_of_nothing_learned(config, initial, held.weights)
    save_weights(
        run.weights,
        held.weights,
        features={"linked": stores.features},
        extra={"linked.keys": stores.features.keys_F},
        metadata={
            "work": str(config.work),
            "work_identity": work.identity,
            "features": FEATURES,
            **made_with(config.model),
        },
    )
    return held


def _centred(sets: dict[str, Weights], stores: BlockStores) -> dict[str, Weights]:
    """The sets, the binary weights centred by the events they were learned from."""
    count_F = true_occurrences(stores.stores["linked"].arrays, len(stores.features))
    return {**sets, "linked": centred(sets["linked"], stores.features.ranges, count_F)}


def _warn_of_nothing_learned(config: TrainConfig, before: dict[str, Weights], after: Mapping[str, Weights]) -> None:
    loss = config.loss
    if loss.name == "uniform":
        return
    steps = f"loss.floats.epochs={loss.floats.epochs} loss.eta={loss.eta:g}"
    sparse = f"loss.binary.epochs={loss.binary.epochs} loss.binary.eta={loss.binary.eta:g} loss.l1={loss.l1:g}"
    warn_if_unmoved(before, after, f"{steps} {sparse}")
    if config.model.binary:
        warn_if_all_zero(after["linked"].sparse_F, f"{sparse} model.threshold={config.model.threshold}")


def learner_of(config: TrainConfig) -> LearnerOf:
    """The online kernel, or mini-batches on the device."""
    if not config.loss.batch:
        return InstanceLearner
    device = device_of(config.device)
    return lambda s, store, weights, memory: DeviceLearner(s, store, weights, memory, device, config.loss.batch)


def _initial(config: TrainConfig, stores: BlockStores) -> dict[str, Weights]:
    """Zero weights, as the paper starts; -1 on every chosen float when nothing is to be trained."""
    names = event_kind(config.model.kind).names(config.model)
    sets = {name: Weights.zeros(names, len(stores.features)) for name in event_kind(config.model.kind).sets}
    if "neutral" in sets:
        sets["neutral"] = Weights.zeros(names, 0)
    if config.loss.name == "uniform":
        for column, name in enumerate(names):
            for key, weights in sets.items():
                used = name in config.model.floats and not (key == "neutral" and name == "orientation")
                weights.dense_D[column] = -1.0 if used else 0.0
    return sets


def summary_of(stores: BlockStores, held: Checkpoint, sets: Mapping[str, Weights]) -> dict[str, Any]:
    """What a training on events says of itself, apart from the quality of its translations."""
    last = {entry["phase"]: entry for entry in held.state.history}
    linked = last.get("binary") or last.get("floats") or {}
    return {
        "P": linked.get("P"),
        "valid_loss": linked.get("valid_loss"),
        "P_neutral": last.get("neutral", {}).get("P"),
        "features": len(stores.features),
        "active_features": sets["linked"].active,
        "instances": len(stores.stores["linked"]),
        "seen": held.state.seen,
        "weights": {name: rounded(weights) for name, weights in sets.items()},
    }
