"""Runs of sparse features trained from lists of the training text (Auli, Galley & Gao 2014, section 5).

One command: float weights θ are tuned, the training text is decoded in folds, sparse weights φ are learned with θ
fixed, and float weights are tuned again with the sums φ·u as new float features. With `rounds` the text is decoded
again with φ, and φ learned anew from the lists of all rounds. θ and the lists are kept in the work directory under what
they were made from, so that runs that differ in features or losses share them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from xlate.candidates.pooled_shards import pooled
from xlate.config.identity import identity_of_training
from xlate.config.loss_schema import TunedLossConfig
from xlate.config.model_schema import PhraseModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import to_yaml
from xlate.features.phrase_sparse import SparseFeatures
from xlate.jobs import phrase_models
from xlate.jobs.prepare.stages import identity_of
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.train.jackknife import Jackknife
from xlate.jobs.train.sparse_learning import Learned, learn, learned_before
from xlate.jobs.train.sparse_models import described, packed_weights
from xlate.jobs.train.tuned_runs import measured_summary, numbers_of, phrase_base, train_tuned, tuning_summary
from xlate.jobs.train.tuned_systems import PhraseSystem, with_sums
from xlate.jobs.train.tuning import tune, tuning_text
from xlate.models.phrase.model import PhraseModel
from xlate.report.identity import flat
from xlate.report.run_directory import RunDirectory
from xlate.report.tensorboard import TensorBoardReporter
from xlate.scoring.weights import Weights, save_weights
from xlate.text.locks import awaited
from xlate.train.reporter import Reporter
from xlate.train.signals import StopFlag

log = logging.getLogger(__name__)


def train_sparse(config: TrainConfig, folder: Path) -> tuple[dict[str, Any] | None, int | None]:
    """Trains a run in `folder`: its summary, or None and the signal that stopped it.

    Raises:
        InputError: no work directory, a base run of another model; settings are checked by `check_training`.
    """
    settings = config.loss.lists
    assert settings is not None
    if config.base is not None:
        phrase_base(Path(config.base))
    work = WorkDirectory(Path(config.work)).check()
    text = tuning_text(_tune_config(config), work, config.decoder.max_words)
    identity = identity_of_training(config)
    identity["work_identity"] = identity_of({"work": work.identity, "text": asdict(text)})
    run = RunDirectory.create(folder, to_yaml(config), identity)
    if run.finished:
        return run.summary, None
    start = time.perf_counter()
    base = Path(config.base) if config.base is not None else None
    if base is None:
        found = _tuned_floats(config, work)
        if isinstance(found, int):
            return None, found
        base = found
    theta = weights_of(base).sets[phrase_models.SET]
    with StopFlag() as stop:
        if settings.machine is not None:
            lists = _lists(config, work, theta)
            if not lists.decode(stop.__bool__):
                return None, stop.signal
            return {"machine": settings.machine, "machines": settings.machines, "lists": str(lists.folder)}, None
        reporter = TensorBoardReporter(run)
        try:
            model = phrase_models.open_phrase_model(Path("."), config)
            assert model.sparse is not None
            learned = _learned(config, work, model, theta, run, reporter, stop.__bool__)
            if learned is None:
                return None, stop.signal
            system = PhraseSystem(model, config.decoder, _tune_config(config).processes, learned.phi_F)
            begin = with_sums(learned.theta, model)
            outcome = tune(_as_tuning(config), system, begin, text, run, reporter, stop)
            if outcome is None:
                return None, stop.signal
            weights, rounds = outcome
            metadata = {
                "work": config.work,
                "work_identity": work.identity,
                **described(model.sparse),
                **made_with(config.model),
            }
            extra = packed_weights(learned.phi_F)
            save_weights(run.path / "weights.safetensors", {phrase_models.SET: weights}, extra=extra, metadata=metadata)
            summary = {**tuning_summary(config, weights, rounds, text), **learned.figures, "base": str(base)}
            summary = measured_summary(config, work, folder, reporter, rounds, summary, start)
            reporter.hparams(flat(identity), numbers_of(summary))
        finally:
            reporter.close()
    run.write_summary(summary)
    return summary, None


def _lists(
    config: TrainConfig, work: WorkDirectory, weights: Weights, sparse: SparseFeatures | None = None
) -> Jackknife:
    assert config.loss.lists is not None
    kind = config.model.reordering or "none"
    return Jackknife(work, kind, weights, config.decoder, config.loss.lists, config.seed, sparse)


def _learned(
    config: TrainConfig,
    work: WorkDirectory,
    model: PhraseModel,
    theta: Weights,
    run: RunDirectory,
    reporter: Reporter,
    stop: Callable[[], bool],
) -> Learned | None:
    """What the last round learned, None when stopped; each decodes with what is known and learns from all lists."""
    assert config.loss.lists is not None
    made: list[Jackknife] = []
    found: Learned | None = None
    step = 0
    for number in range(1, config.loss.lists.rounds + 1):
        if found is None:
            lists = _lists(config, work, theta)
        else:
            lists = _lists(config, work, replace(with_sums(found.theta, model), sparse_F=found.phi_F), model.sparse)
        made.append(lists)
        held = run.checkpoint / f"sparse-{number}.safetensors"
        found = learned_before(held, theta, model)
        if found is None:
            if not lists.decode(stop):
                return None
            found = learn(config, model, pooled([one.lists() for one in made]), theta, held, reporter, stop, step)
        if found is None:
            return None
        step += found.figures["list_epochs"] + 1
    return found


def _tune_config(config: TrainConfig) -> Any:
    assert config.loss.tune is not None
    return config.loss.tune


def _as_tuning(config: TrainConfig) -> TrainConfig:
    """The tuning of float weights alone."""
    tune = _tune_config(config)
    return replace(config, loss=TunedLossConfig(tune.name, tune))


def _tuned_floats(config: TrainConfig, work: WorkDirectory) -> Path | int:
    """The run of the float weights, made when it is not there; the signal when stopped."""
    assert isinstance(config.model, PhraseModelConfig)
    model = replace(config.model, sparse=None)
    plain = replace(_as_tuning(config), model=model, row=None, measure_test=False, run=None, base=None)
    key = identity_of({**identity_of_training(plain), "on": work.identity})
    folder = work.path / "theta" / key[:16]
    log.info("float weights: %s", folder)
    with awaited(folder):
        summary, signal = train_tuned(plain, folder)
    if summary is None:
        return signal or 1
    return folder
