"""Runs of sparse features trained from lists of the training text (Auli, Galley & Gao 2014, section 5).

One command: float weights θ are tuned, the training text is decoded in folds, sparse weights φ are learned with θ
fixed, and float weights are tuned again with the sums φ·u as new float features. θ and the lists are kept in the work
directory under what they were made from, so that runs that differ in features or losses share them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.candidates.part_shards import PartShard
from xlate.candidates.spread import spread_within_lists
from xlate.config.schema import ListsConfig, TrainConfig
from xlate.config.stored import to_yaml
from xlate.decode.phrase_model import SPARSE_PLAIN, SPARSE_REORDERING, PhraseModel
from xlate.errors import InputError
from xlate.metrics.sentence_bleu import sentence_bleu
from xlate.progress import track
from xlate.recipes import phrase_models
from xlate.recipes.evaluate import measure
from xlate.recipes.jackknife import Jackknife, headroom
from xlate.recipes.sparse_models import described, packed_weights, unpacked_weights
from xlate.recipes.stages import identity_of, peak_megabytes
from xlate.recipes.translate import weights_of
from xlate.recipes.tuned_runs import train_tuned, tuning_summary
from xlate.recipes.tuned_systems import PhraseSystem
from xlate.recipes.tuning import tune, tuning_text
from xlate.recipes.work import WorkDirectory
from xlate.report.identity import flat
from xlate.report.run_directory import RunDirectory
from xlate.report.tensorboard import TensorBoardReporter
from xlate.scoring.weights import Weights, load_weights, save_weights
from xlate.train.batch_learner import device_of
from xlate.train.reporter import Reporter
from xlate.train.signals import StopFlag
from xlate.updates.part_lists import EpochFigures, ListLearner, ListSettings, part_lists
from xlate.updates.part_lists_device import DeviceListLearner

log = logging.getLogger(__name__)
PHI = "sparse.safetensors"


def train_sparse(
    config: TrainConfig, folder: Path, volatile: tuple[str, ...]
) -> tuple[dict[str, Any] | None, int | None]:
    """Trains a run in `folder`: its summary, or None and the signal that stopped it.

    Raises:
        InputError: not a phrase model, no sparse features, no work directory, settings that do not fit.
    """
    settings = _checked(config)
    work = WorkDirectory(Path(config.work)).check()
    text = tuning_text(_tune_config(config), work)
    identity = {key: value for key, value in asdict(config).items() if key not in volatile}
    identity["work_identity"] = identity_of({"work": work.identity, "text": asdict(text)})
    run = RunDirectory.create(folder, to_yaml(config), {**identity, "base": config.base})
    if run.finished:
        return run.summary, None
    start = time.perf_counter()
    base = Path(config.base) if config.base is not None else None
    if base is None:
        found = _tuned_floats(config, work, volatile)
        if isinstance(found, int):
            return None, found
        base = found
    theta = weights_of(base).sets[phrase_models.SET]
    with StopFlag() as stop:
        lists = Jackknife(work, config.model.reordering or "none", theta, config.decoder, settings)
        if not lists.decode(stop.__bool__):
            return None, stop.signal
        if settings.part is not None:
            summary: dict[str, Any] = {"part": settings.part, "parts": settings.parts, "lists": str(lists.folder)}
            return summary, None
        reporter = TensorBoardReporter(run)
        try:
            model = phrase_models.open_phrase_model(Path("."), config)
            assert model.sparse is not None
            found_weights = _learn(config, model, lists.lists(), theta, run, reporter, stop.__bool__)
            if found_weights is None:
                return None, stop.signal
            theta, phi_F, learned = found_weights
            system = PhraseSystem(model, config.decoder, _tune_config(config).processes, phi_F)
            begin = with_sums(theta, model)
            outcome = tune(_as_tuning(config), system, begin, text, run, reporter, stop)
            if outcome is None:
                return None, stop.signal
            weights, rounds = outcome
            metadata = {"work": config.work, "work_identity": work.identity, **described(model.sparse)}
            extra = packed_weights(phi_F)
            save_weights(run.path / "weights.safetensors", {phrase_models.SET: weights}, extra=extra, metadata=metadata)
            summary = {**tuning_summary(config, weights, rounds, text), **learned, "base": str(base)}
            for split in ("dev", "test") if config.measure_test else ("dev",):
                measured = measure(config, work, folder, split, reporter, len(rounds))
                summary |= {} if measured is None else measured.figures()
            summary |= {"seconds": round(time.perf_counter() - start, 2), "peak_mb": round(peak_megabytes(), 1)}
            figures = {k: v for k, v in summary.items() if isinstance(v, int | float) and not isinstance(v, bool)}
            reporter.hparams(flat(identity), figures)
        finally:
            reporter.close()
    run.write_summary(summary)
    return summary, None


def with_sums(theta: Weights, model: PhraseModel) -> Weights:
    """Float weights of a model without sparse features, and 1 for the sums of sparse features (λ = 1)."""
    dense_D = np.zeros(model.size)
    held = dict(zip(theta.dense_names, theta.dense_D.tolist(), strict=True))
    for place, name in enumerate(model.columns):
        dense_D[place] = held.get(name, 0.0)
    dense_D[model.slots[SPARSE_REORDERING]] = 1.0
    dense_D[model.slots[SPARSE_PLAIN]] = 1.0
    return Weights(dense_D, np.zeros(0), model.columns)


def _checked(config: TrainConfig) -> ListsConfig:
    assert config.loss.lists is not None
    if config.model.kind != phrase_models.KIND:
        raise InputError("sparse features of phrases need the phrase model", seen=config.model.kind, expected="phrase")
    if config.model.sparse is None:
        raise InputError("no sparse features to train", seen="sparse=none", expected="sparse=local, full or another")
    kind = config.model.reordering or "none"
    if config.model.sparse.reordering and not kind.startswith("hier"):
        raise InputError(
            "sparse reordering features need the hierarchical model",
            seen=f"model.reordering={kind}",
            expected="model.reordering=hier or hier5, or model.sparse.reordering=[]",
        )
    check_lists(config.loss.lists)
    return config.loss.lists


def check_lists(settings: ListsConfig) -> None:
    """Checks what the lists are made with; the steps are checked by `ListSettings`.

    Raises:
        InputError: too few folds, parts or held-out lists, or a part there is none of.
    """
    for name, least in (("folds", 2), ("nbest", 2), ("shard", 1), ("processes", 1), ("parts", 1), ("heldout_every", 2)):
        if getattr(settings, name) < least:
            seen = f"loss.lists.{name}={getattr(settings, name)}"
            raise InputError("a setting of the lists is too small", seen=seen, expected=f"{least} or more")
    if settings.part is not None and not 0 <= settings.part < settings.parts:
        seen = f"loss.lists.part={settings.part}"
        raise InputError("no such part of the lists", seen=seen, expected=f"0 to {settings.parts - 1}")


def _tune_config(config: TrainConfig) -> Any:
    assert config.loss.tune is not None
    return config.loss.tune


def _as_tuning(config: TrainConfig) -> TrainConfig:
    assert config.loss.lists is not None
    return replace(config, loss=replace(config.loss, name=config.loss.lists.tuner))


def _tuned_floats(config: TrainConfig, work: WorkDirectory, volatile: tuple[str, ...]) -> Path | int:
    """The run of the float weights, made when it is not there; the signal when stopped."""
    tune = replace(_tune_config(config), start="uniform")
    loss = replace(_as_tuning(config).loss, lists=None, tune=tune)
    plain = replace(
        config, loss=loss, model=replace(config.model, sparse=None), row=None, measure_test=False, run=None, base=None
    )
    key = identity_of({**{k: v for k, v in asdict(plain).items() if k not in volatile}, "on": work.identity})
    folder = work.path / "theta" / key[:16]
    log.info("float weights: %s", folder)
    summary, signal = train_tuned(plain, folder, volatile)
    if summary is None:
        return signal or 1
    return folder


def list_settings(settings: ListsConfig, seed: int) -> ListSettings:
    """The settings of the steps."""
    return ListSettings(
        loss=settings.objective,
        gamma=settings.gamma,
        margin=settings.margin,
        rate=settings.rate,
        adagrad=settings.adagrad,
        dense_rate=settings.dense_rate,
        l1=settings.l1,
        l2=settings.l2,
        batch=settings.batch,
        epochs=settings.epochs,
        tolerance=settings.tolerance,
        pairs=settings.pairs,
        seed=seed,
    )


def _learn(
    config: TrainConfig,
    model: PhraseModel,
    lists: PartShard,
    theta: Weights,
    run: RunDirectory,
    reporter: Reporter,
    stop: Callable[[], bool],
) -> tuple[Weights, NDArray[np.float64], dict[str, Any]] | None:
    """θ and φ, from the run's folder when they were learned before, and figures; None when `stop` said so."""
    assert config.loss.lists is not None
    assert model.sparse is not None
    settings = config.loss.lists
    held = run.checkpoint / PHI
    if held.exists():
        file = load_weights(held)
        weights = unpacked_weights(file, PHI, model.sparse, held)
        return replace(theta, dense_D=weights.dense_D), weights.sparse_F, file.metadata["figures"]
    start = time.perf_counter()
    if settings.sentences is not None and settings.sentences < len(lists.sentence_I):
        lists = lists.take(sample(len(lists.sentence_I), settings.sentences, config.seed))
    spread_D = spread_within_lists(lists.features_CD, lists.candidate_offsets_I1)
    batch = lists.batch(model.sparse, None if settings.joint else theta.dense_D)
    if settings.joint:
        batch = replace(batch, dense_CD=(batch.dense_CD / spread_D).astype(np.float32))
    gain_C = sentence_bleu(batch.gain_CG, settings.gain) / 100.0
    heldout_I = np.arange(len(batch)) % settings.heldout_every == settings.heldout_every - 1
    given = (
        part_lists(batch, gain_C, settings.joint),
        batch.gain_CG,
        heldout_I,
        model.sparse.size,
        list_settings(settings, config.seed),
        theta.dense_D * spread_D if settings.joint else None,
    )
    on_device = config.device != "cpu"
    learner = DeviceListLearner(*given, device_of(config.device)) if on_device else ListLearner(*given)
    made = time.perf_counter()
    figures: list[EpochFigures] = []
    for epoch in track(learner.epochs(stop), "sparse weights", total=settings.epochs + 1):
        figures.append(epoch)
        _report(epoch, reporter)
    # What was stopped is not kept: it would be taken for the whole when the run goes on.
    if stop():
        return None
    phi_F = learner.weights.weight_F.astype(np.float64)
    reporter.histogram("sparse/weights", phi_F[phi_F != 0], len(figures))
    best = min(figures, key=lambda one: one.heldout_loss)
    summary = {
        "active_features": int(np.count_nonzero(phi_F)),
        "sparse_templates": model.sparse.size,
        "list_sentences": len(batch),
        "list_epochs": len(figures) - 1,
        "list_heldout_BLEU": round(best.heldout_bleu, 4),
        "list_heldout_BLEU_before": round(figures[0].heldout_bleu, 4),
        "list_heldout_loss": round(best.heldout_loss, 6),
        "list_heldout_loss_before": round(figures[0].heldout_loss, 6),
        "list_seconds": [round(made - start, 2), round(time.perf_counter() - made, 2)],
        **{f"list_{key}": value for key, value in headroom(lists).items()},
    }
    if settings.joint:
        theta = replace(theta, dense_D=learner.weights.dense_D / spread_D)
    floats = replace(theta, sparse_F=np.zeros(0))
    metadata = {**described(model.sparse), "figures": summary}
    save_weights(held, {PHI: floats}, extra=packed_weights(phi_F), metadata=metadata)
    return theta, phi_F, summary


def sample(lists: int, wanted: int, seed: int) -> NDArray[np.int64]:
    """Some of the lists by lot, in their order."""
    chosen: NDArray[np.int64] = np.sort(np.random.default_rng(seed).permutation(lists)[:wanted])
    return chosen


def _report(epoch: EpochFigures, reporter: Reporter) -> None:
    if epoch.epoch:
        reporter.scalar("sparse/train_loss", epoch.train_loss, epoch.epoch)
    reporter.scalar("sparse/heldout_loss", epoch.heldout_loss, epoch.epoch)
    reporter.scalar("sparse/heldout_BLEU", epoch.heldout_bleu, epoch.epoch)
    reporter.scalar("sparse/active", epoch.active, epoch.epoch)
    log.info(
        "epoch %d: loss %.5f, held out %.5f, BLEU %.2f, %d features",
        epoch.epoch, epoch.train_loss, epoch.heldout_loss, epoch.heldout_bleu, epoch.active,
    )  # fmt: skip
