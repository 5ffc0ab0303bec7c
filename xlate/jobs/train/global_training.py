"""xlate train loss=global base=RUN: the global model (TZ07 Eq. 4) from the weights of a run of the local one."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from xlate.candidates.lattice import LatticeExample
from xlate.config.schema import TrainConfig
from xlate.config.stored import read_config
from xlate.errors import InputError
from xlate.jobs.prepare.stages import identity_of
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.registry import kind_of
from xlate.jobs.train.warnings import not_too_long, warn_if_unmoved
from xlate.models.system import AnySystem
from xlate.progress import track
from xlate.report.run_directory import RunDirectory
from xlate.scoring.weights import Weights, save_weights
from xlate.search.lattice_oracle import oracle_example
from xlate.train.checkpoint import Checkpoint
from xlate.train.global_model import NAME, GlobalSettings, GlobalTraining
from xlate.train.reporter import Reporter
from xlate.train.state import TrainState

__all__ = ["NAME", "base_of_global", "learn_globally"]
log = logging.getLogger(__name__)


def learn_globally(
    config: TrainConfig, work: WorkDirectory, run: RunDirectory, reporter: Reporter, stop: Callable[[], bool]
) -> Checkpoint | None:
    """Trains from the weights of the run `base` on the lattices of a split, and writes the weights; None when stopped.

    Every `heldout_every`-th sentence is held out: each round keeps the weights that are best there.

    Raises:
        InputError: no base run, or one of another model or work directory.
    """
    base, kind = base_of_global(config, work), kind_of(config.model.kind)
    file = weights_of(base)
    system = kind.open(base, config, file, work, Asked())
    g = config.loss.globally
    sentences = _sentences(config, work)
    held = sentences[g.heldout_every - 1 :: g.heldout_every]
    kept = [s for n, s in enumerate(sentences) if n % g.heldout_every != g.heldout_every - 1]
    lattices = _Lattices(system, g.oracles, g.margin)
    settings = GlobalSettings(
        rounds=g.rounds,
        epochs=g.epochs,
        rule=g.rule,
        eta=config.loss.eta,
        eta_sparse=config.loss.binary.eta,
        pull=g.pull,
        project=config.loss.project_sign,
        seed=config.seed,
    )
    start = system.weights
    training = GlobalTraining(
        lambda weights: lattices.of(kept, weights),
        lambda weights: lattices.of(held, weights),
        settings,
        reporter,
        run.checkpoint / "latest.safetensors",
        _identity(config, work, start),
    )
    found = training.run(start, stop)
    if found is None:
        return None
    weights, figures = found
    saved = kind.saved(system, weights, file)
    seen = f"loss.globally.rounds={g.rounds} epochs={g.epochs} loss.eta={config.loss.eta:g}"
    warn_if_unmoved({"weights": start}, {"weights": weights}, seen)
    save_weights(
        run.path / "weights.safetensors",
        saved.sets,
        features=saved.features,
        extra=saved.extra,
        metadata={**file.metadata, **made_with(config.model)},
    )
    history = [
        {"phase": "global", "round": f.round, "epoch": f.epoch, "loss": f.loss, "valid_loss": f.heldout}
        for f in figures
    ]
    return Checkpoint(dict(saved.sets), {}, TrainState(phase=1, seen=len(kept) * g.rounds * g.epochs, history=history))


def _identity(config: TrainConfig, work: WorkDirectory, start: Weights) -> str:
    """What a checkpoint belongs to."""
    weights = hashlib.sha256(start.dense_D.tobytes() + start.sparse_F.tobytes()).hexdigest()
    settings = {"loss": asdict(config.loss), "decoder": asdict(config.decoder), "seed": config.seed}
    return identity_of({**settings, "start": weights, "on": work.identity})


def base_of_global(config: TrainConfig, work: WorkDirectory) -> Path:
    """The run that the global model starts from.

    Raises:
        InputError: there is none, or one of another model or work directory.
    """
    if config.base is None:
        raise InputError("the global model starts from a run of the local one", seen="no base", expected="base=RUN")
    base = Path(config.base)
    trained = read_config(base / "config.yaml", TrainConfig)
    if asdict(trained.model) != asdict(config.model):
        raise InputError(
            "the base run has another model",
            file=base,
            seen=f"kind {trained.model.kind}, floats {trained.model.floats}, binary {trained.model.binary}",
            expected=f"kind {config.model.kind}, floats {config.model.floats}, binary {config.model.binary}",
            remedy="give both the same model settings",
        )
    if weights_of(base).metadata.get("work_identity") != work.identity:
        raise InputError("the base run is of another work directory", file=base, expected=str(work.path))
    return base


def _sentences(config: TrainConfig, work: WorkDirectory) -> list[tuple[list[str], list[list[str]]]]:
    """Source and references of a split, tokenised; those with an empty side are left out."""
    g = config.loss.globally
    lines = [work.source_tokens(line) for line in work.source_lines(g.split)]
    streams = [[work.target_tokens(line) for line in stream] for stream in work.references(g.split)]
    whole = not_too_long([len(line) for line in lines], config.decoder.max_words, g.split)
    rows = [(lines[n], [stream[n] for stream in streams]) for n in whole]
    return [(line, references) for line, references in rows if line and all(references)][: g.sentences]


class _Lattices:
    """Lattices of sentences under any weights, with the oracle's derivations wanted."""

    def __init__(self, system: AnySystem, oracles: int, margin: float) -> None:
        self.system = system
        self.oracles = oracles
        self.margin = margin

    def of(self, sentences: list[tuple[list[str], list[list[str]]]], weights: Weights) -> Iterator[LatticeExample]:
        """One example a sentence, but none where no path has a word of the references."""
        system = self.system.with_weights(weights)
        for source, references in track(sentences, "lattices"):
            example = oracle_example(system.lattice(source), references, count=self.oracles, margin=self.margin)
            if example is not None:
                yield example
