"""xlate train loss=global base=RUN: the global model (TZ07 Eq. 4) from the weights of a run of the local one."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xlate.candidates.lattice import LatticeExample
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.prepare.stages import identity_of
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.registry import kind_of
from xlate.jobs.train.local import check_split
from xlate.jobs.train.measuring import measured_splits, rounded
from xlate.jobs.train.warnings import not_too_long, warn_if_unmoved
from xlate.models.system import AnySystem
from xlate.progress import track
from xlate.scoring.weights import Weights, save_weights
from xlate.search.lattice_oracle import oracle_example
from xlate.train.global_model import NAME, EpochFigures, GlobalSettings, GlobalTraining
from xlate.train.run import Run

__all__ = ["NAME", "GlobalMethod"]
log = logging.getLogger(__name__)
# Source and references of each sentence.
Sentences = list[tuple[list[str], list[list[str]]]]


class GlobalMethod:
    """Rounds of decoding a split and of steps over whole derivations, from the weights of the run `base`.

    Every `heldout_every`-th sentence is held out: each round keeps the weights that are best there.

    Raises:
        InputError: no base run, one of another model or work directory, or no such split.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.work = WorkDirectory(Path(config.work)).check()
        self.base = base_of_global(config, self.work)
        check_split(self.work, "loss.globally.split", config.loss.globally.split)

    def made_from(self) -> Mapping[str, Any]:
        """The work directory."""
        return {"work_identity": self.work.identity}

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Trains, writes the weights, and translates the dev set, and the test set if asked."""
        config, kind = self.config, kind_of(self.config.model.kind)
        file = weights_of(self.base)
        system = kind.open(self.base, config, file, self.work, Asked())
        kept, held = self._sentences()
        found = self._rounds(system, kept, held, run).run(system.weights, run.stop.__bool__)
        if found is None:
            return None
        weights, epochs = found
        saved = kind.saved(system.with_weights(weights), file)
        g = config.loss.globally
        seen = f"loss.globally.rounds={g.rounds} epochs={g.epochs} loss.eta={config.loss.eta:g}"
        warn_if_unmoved({"weights": system.weights}, {"weights": weights}, seen)
        metadata = {**file.metadata, **made_with(config.model)}
        save_weights(run.weights, saved.sets, features=saved.features, extra=saved.extra, metadata=metadata)
        steps = len(kept) * g.rounds * g.epochs
        figures = {
            "work": config.work,
            "valid_loss": epochs[-1].heldout,
            "active_features": sum(one.active for one in saved.sets.values()),
            "seen": steps,
            "weights": {name: rounded(one) for name, one in saved.sets.items()},
        }
        measured = measured_splits(config, self.work, run, steps)
        return {**figures, **measured, "history": [_entry(epoch) for epoch in epochs]}

    def _rounds(self, system: AnySystem, kept: Sentences, held: Sentences, run: Run) -> GlobalTraining:
        loss, g = self.config.loss, self.config.loss.globally
        lattices = _Lattices(system, g.oracles, g.margin)
        settings = GlobalSettings(
            rounds=g.rounds,
            epochs=g.epochs,
            rule=g.rule,
            eta=loss.eta,
            eta_sparse=loss.binary.eta,
            pull=g.pull,
            project=loss.project_sign,
            seed=self.config.seed,
        )
        return GlobalTraining(
            lambda weights: lattices.of(kept, weights),
            lambda weights: lattices.of(held, weights),
            settings,
            run.reporter,
            run.checkpoint(),
            _identity(self.config, self.work, system.weights),
        )

    def _sentences(self) -> tuple[Sentences, Sentences]:
        """The sentences to train on and those held out, tokenised; those with an empty side are left out."""
        g, work = self.config.loss.globally, self.work
        lines = [work.source_tokens(line) for line in work.source_lines(g.split)]
        streams = [[work.target_tokens(line) for line in stream] for stream in work.references(g.split)]
        whole = not_too_long([len(line) for line in lines], self.config.decoder.max_words, g.split)
        rows = [(lines[n], [stream[n] for stream in streams]) for n in whole]
        usable = [(line, references) for line, references in rows if line and all(references)][: g.sentences]
        last = g.heldout_every - 1
        kept = [row for n, row in enumerate(usable) if n % g.heldout_every != last]
        return kept, usable[last :: g.heldout_every]


def _entry(epoch: EpochFigures) -> dict[str, Any]:
    """A line of a run's history."""
    place = {"phase": NAME, "round": epoch.round, "epoch": epoch.epoch}
    return {**place, "loss": epoch.loss, "valid_loss": epoch.heldout}


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
    trained = config_of_run(base)
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


class _Lattices:
    """Lattices of sentences under any weights, with the oracle's derivations wanted."""

    def __init__(self, system: AnySystem, oracles: int, margin: float) -> None:
        self.system = system
        self.oracles = oracles
        self.margin = margin

    def of(self, sentences: Sentences, weights: Weights) -> Iterator[LatticeExample]:
        """One example a sentence, but none where no path has a word of the references."""
        system = self.system.with_weights(weights)
        for source, references in track(sentences, "lattices"):
            example = oracle_example(system.lattice(source), references, count=self.oracles, margin=self.margin)
            if example is not None:
                yield example
