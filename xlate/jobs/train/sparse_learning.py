"""Sparse weights learned from lists of the training text, with float weights fixed or learned beside them."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import UnitFeatures, spread_within_lists, under_templates
from xlate.config.loss_schema import ListsConfig
from xlate.config.schema import TrainConfig
from xlate.jobs.train.jackknife import headroom
from xlate.jobs.train.list_settings import list_settings
from xlate.jobs.train.warnings import warn_if_all_zero
from xlate.metrics.sentence_bleu import sentence_bleu
from xlate.progress import tell, track
from xlate.scoring.device import device_of
from xlate.scoring.weights import Weights, load_weights, save_weights
from xlate.train.list_checkpoint import ListCheckpoint, lists_identity
from xlate.train.list_learner import EpochFigures, ListLearner
from xlate.train.list_learner_device import DeviceListLearner
from xlate.train.reporter import Reporter
from xlate.train.run import Run

log = logging.getLogger(__name__)
PHI = "sparse.safetensors"


@dataclass(frozen=True)
class Learned:
    """Float weights θ, sparse weights φ, and figures of how they were learned."""

    theta: Weights
    phi_F: Floats
    figures: dict[str, Any]


def learned_before(held: Path, theta: Weights, features: UnitFeatures) -> Learned | None:
    """What `learn` wrote into a file, None when there is none."""
    if not held.exists():
        return None
    # Killed in between, a process has left it.
    _checkpoint_of(held).unlink(missing_ok=True)
    file = load_weights(held)
    weights = file.fitting(PHI, features, held)
    return Learned(replace(theta, dense_D=weights.dense_D), weights.sparse_F, file.metadata["figures"])


def learn(
    config: TrainConfig,
    features: UnitFeatures,
    lists: CandidateBatch,
    theta: Weights,
    held: Path,
    run: Run,
    step: int = 0,
) -> Learned | None:
    """Learns sparse weights, and float weights when training is joint, and writes them to `held`; None when stopped.

    `step` is that of the first epoch in the reports.
    """
    assert config.loss.lists is not None
    settings = config.loss.lists
    start = time.perf_counter()
    if settings.sentences is not None and settings.sentences < len(lists):
        lists = lists.select(sample(len(lists), settings.sentences, config.seed))
    spread_D = spread_within_lists(lists.dense_CD, lists.candidate_offsets_I1)
    learner, size = _learner(config, features, lists, theta, spread_D)
    made = time.perf_counter()
    checkpoint = _checkpoint(held, learner, config)
    figures = gone_through(learner, checkpoint, settings, run, step)
    # What was stopped is not taken for the whole when the run goes on: it goes on from the checkpoint.
    if run.stop:
        return None
    phi_F = learner.weights.sparse_F.astype(np.float64)
    run.reporter.histogram("sparse/weights", phi_F[phi_F != 0], step + len(figures))
    warn_if_all_zero(phi_F, f"loss.lists.rate={settings.rate:g} l1={settings.l1:g}, {size} lists")
    summary = {
        "active_features": int(np.count_nonzero(phi_F)),
        "sparse_templates": len(features),
        **list_figures(figures, lists),
        "list_seconds": [round(made - start, 2), round(time.perf_counter() - made, 2)],
    }
    if settings.joint:
        theta = replace(theta, dense_D=learner.weights.dense_D / spread_D)
    learned = replace(theta, sparse_F=phi_F).single()
    save_weights(held, {PHI: learned}, features={PHI: features}, metadata={"figures": summary})
    checkpoint.remove()
    return Learned(theta, phi_F, summary)


def gone_through(
    learner: ListLearner | DeviceListLearner,
    checkpoint: ListCheckpoint,
    settings: ListsConfig,
    run: Run,
    step: int = 0,
    what: str = "sparse",
) -> list[EpochFigures]:
    """Learns until nothing changes or the run is stopped; the figures of every epoch, which are reported, too.

    `step` is that of the first epoch, `what` is learned.
    """
    figures: list[EpochFigures] = []
    epochs = learner.epochs(run.stop.__bool__, checkpoint)
    for epoch in track(epochs, f"{what} weights, epoch", total=settings.epochs + 1, from_zero=True):
        figures.append(epoch)
        tell(loss=epoch.heldout_loss, BLEU=epoch.heldout_bleu)
        _report(epoch, run.reporter, step, what)
    return figures


def list_figures(figures: list[EpochFigures], lists: CandidateBatch) -> dict[str, Any]:
    """What a summary says of epochs over lists: held-out figures before the first and after the best."""
    best = min(figures, key=lambda one: one.heldout_loss)
    return {
        "list_sentences": len(lists),
        "list_epochs": len(figures) - 1,
        "list_heldout_BLEU": round(best.heldout_bleu, 4),
        "list_heldout_BLEU_before": round(figures[0].heldout_bleu, 4),
        "list_heldout_loss": round(best.heldout_loss, 6),
        "list_heldout_loss_before": round(figures[0].heldout_loss, 6),
        **{f"list_{key}": value for key, value in headroom(lists).items()},
    }


def _checkpoint_of(held: Path) -> Path:
    return held.with_suffix(".epochs.safetensors")


def _checkpoint(held: Path, learner: ListLearner | DeviceListLearner, config: TrainConfig) -> ListCheckpoint:
    """Where the learning stands between epochs."""
    made_from = lists_identity(learner.lists, learner.settings, len(learner.weights.sparse_F), config.device)
    return ListCheckpoint(_checkpoint_of(held), made_from, config.checkpoint_seconds)


def _learner(
    config: TrainConfig, sparse: UnitFeatures, lists: CandidateBatch, theta: Weights, spread_D: Floats
) -> tuple[ListLearner | DeviceListLearner, int]:
    """Who learns from the lists, and how many there are."""
    assert config.loss.lists is not None
    settings = config.loss.lists
    batch = under_templates(lists, sparse, None if settings.joint else theta.dense_D, settings.gamma)
    if settings.joint:
        batch = replace(batch, dense_CD=(batch.dense_CD / spread_D).astype(np.float32))
    gain_C = sentence_bleu(batch.gain_CG, settings.gain) / 100.0
    heldout_I = np.arange(len(batch)) % settings.heldout_every == settings.heldout_every - 1
    given = (
        batch.arrays(gain_C, parts=True, dense=settings.joint),
        batch.gain_CG,
        heldout_I,
        len(sparse),
        list_settings(settings, config.seed),
        theta.dense_D * spread_D if settings.joint else None,
    )
    if config.device == "cpu":
        return ListLearner(*given), len(batch)
    return DeviceListLearner(*given, device_of(config.device)), len(batch)


def sample(lists: int, wanted: int | None, seed: int) -> Ints:
    """So many of some lists or sentences by lot, in their order; all of them with None; (W,)."""
    chosen: Ints = np.sort(np.random.default_rng(seed).permutation(lists)[:wanted])
    return chosen


def _report(epoch: EpochFigures, reporter: Reporter, first: int, what: str) -> None:
    step = first + epoch.epoch
    if epoch.epoch:
        reporter.scalar(f"{what}/train_loss", epoch.train_loss, step)
    reporter.scalar(f"{what}/heldout_loss", epoch.heldout_loss, step)
    reporter.scalar(f"{what}/heldout_BLEU", epoch.heldout_bleu, step)
    reporter.scalar(f"{what}/active", epoch.active, step)
    log.info("%s", epoch_words(epoch))


def epoch_words(epoch: EpochFigures) -> str:
    """A line about an epoch; before the first one nothing has been trained on."""
    heldout = f"held out {epoch.heldout_loss:.5f}, BLEU {epoch.heldout_bleu:.2f}"
    if not epoch.epoch:
        return f"before training: {heldout}"
    return f"epoch {epoch.epoch}: loss {epoch.train_loss:.5f}, {heldout}, {epoch.active:,} features"
