"""xlate train loss=global base=RUN: the global model (TZ07 Eq. 4) from the weights of a run of the local one.

It learns from a split with references, or from the training text, decoded in folds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from xlate.candidates.lattice import LatticeExample
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.systems.block_lists import BlockFolds
from xlate.jobs.systems.blocks import check_floats_of_base, check_sums, frequent_features, with_features
from xlate.jobs.systems.kind import Asked, Kind, check_model_of_base
from xlate.jobs.systems.registry import EVENT_KINDS, event_kind, kind_of
from xlate.jobs.train.events import check_split
from xlate.jobs.train.lists import sample
from xlate.jobs.train.recipe import WorkRecipe, measured_splits, not_too_long, rounded, settings_of, warn_if_unmoved
from xlate.models.system import AnySystem
from xlate.progress import track
from xlate.scoring.weights import Weights, WeightsFile, save_weights
from xlate.search.oracle import oracle_example
from xlate.train.global_model import GlobalSettings, GlobalTraining
from xlate.train.run import Run
from xlate.train.tuning import fingerprint
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of

# `loss.globally.split` for the training text.
TRAIN = "train"


class GlobalMethod(WorkRecipe):
    """Rounds of decoding a text and of steps over whole derivations, from the weights of the run `base`.

    Every `heldout_every`-th sentence is held out: each round keeps the weights that are best there.

    Raises:
        InputError: no base run, one of another model or work directory, or no such split.
    """

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        split = config.loss.globally.split
        base = Path(str(config.base))
        if split == TRAIN:
            _check_folded(config, base)
        else:
            check_model_of_base(config, base)
        if weights_of(base).metadata.get("work_identity") != self.work.identity:
            raise InputError("the base run is of another work directory", file=base, expected=str(self.work.path))
        if split != TRAIN:
            check_split(self.work, "loss.globally.split", split)
        self.base = base

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Trains, writes the weights, and translates the dev set, and the test set if asked."""
        config, loss, g = self.config, self.config.loss, self.config.loss.globally
        text = (FoldedText if g.split == TRAIN else TextOfSplit)(config, self.work, self.base)
        sentences, last = text.sentences(), g.heldout_every - 1
        # The last of every so many is held out.
        kept = [row for n, row in enumerate(sentences) if n % g.heldout_every != last]
        held = sentences[last :: g.heldout_every]
        settings = settings_of(
            GlobalSettings,
            g,
            eta=loss.eta,
            eta_sparse=loss.binary.eta,
            project=loss.project_sign,
            seed=config.seed,
        )
        made_from = {
            "loss": asdict(loss),
            "decoder": asdict(config.decoder),
            "seed": config.seed,
            "start": fingerprint(text.start),
            "on": self.work.identity,
        }
        training = GlobalTraining(
            lambda weights: text.lattices(kept, weights),
            lambda weights: text.lattices(held, weights),
            settings,
            run.reporter,
            run.checkpoint(identity_of(made_from)),
        )
        found = training.run(text.start, run.stop.__bool__)
        if found is None:
            return None
        weights, epochs = found
        seen = f"loss.globally.rounds={g.rounds} epochs={g.epochs} loss.eta={loss.eta:g}"
        warn_if_unmoved({"weights": text.start}, {"weights": weights}, seen)
        saved = text.kind.saved(text.system.with_weights(weights), text.file)
        metadata = {**text.file.metadata, **made_with(config.model)}
        save_weights(run.weights, saved.sets, features=saved.features, extra=saved.extra, metadata=metadata)
        steps = len(kept) * g.rounds * g.epochs
        figures = {
            "work": config.work,
            "valid_loss": epochs[-1]["valid_loss"],
            "active_features": sum(one.active for one in saved.sets.values()),
            "seen": steps,
            "weights": {name: rounded(one) for name, one in saved.sets.items()},
        }
        return {**figures, **measured_splits(config, self.work, run, steps), "history": epochs}


class Sentence(NamedTuple):
    """Tokens of a source sentence and of its references, and the fold that it is in."""

    source: list[str]
    references: list[list[str]]
    fold: int = 0


class GlobalText(ABC):
    """A text, and the model whose weights are learned from it: its kind, the weights to begin with, and the system."""

    kind: Kind
    file: WeightsFile
    system: AnySystem

    def __init__(self, config: TrainConfig, work: WorkDirectory) -> None:
        self.config, self.work, self.settings = config, work, config.loss.globally

    @property
    def start(self) -> Weights:
        """The weights to begin with."""
        return self.system.weights

    @abstractmethod
    def sentences(self) -> list[Sentence]:
        """What is learned from, without sentences that have an empty side."""

    @abstractmethod
    def opened(self, fold: int, weights: Weights) -> AnySystem:
        """The system that decodes a fold, under some weights."""

    def lattices(self, sentences: Sequence[Sentence], weights: Weights) -> Iterator[LatticeExample]:
        """The lattices of sentences under some weights, fold by fold, with the oracles' derivations wanted.

        There is none where no path has a word of the references.
        """
        settings = self.settings
        ordered = track(sorted(sentences, key=attrgetter("fold")), "lattices")
        for fold, some in groupby(ordered, key=attrgetter("fold")):
            system = self.opened(fold, weights)
            for row in some:
                lattice = system.lattice(row.source)
                example = oracle_example(lattice, row.references, count=settings.oracles, margin=settings.margin)
                if example is not None:
                    yield example


class TextOfSplit(GlobalText):
    """A split with references, decoded by the system of the base run, which has seen none of it."""

    def __init__(self, config: TrainConfig, work: WorkDirectory, base: Path) -> None:
        super().__init__(config, work)
        self.kind, self.file = kind_of(config.model.kind), weights_of(base)
        self.system = self.kind.open(base, config, self.file, work, Asked())

    def sentences(self) -> list[Sentence]:
        """The first ones of the split."""
        split, work = self.settings.split, self.work
        lines = [work.source_tokens(line) for line in work.source_lines(split)]
        streams = [[work.target_tokens(line) for line in stream] for stream in work.references(split)]
        whole = not_too_long([len(line) for line in lines], self.config.decoder.max_words, split)
        rows = [Sentence(lines[n], [stream[n] for stream in streams]) for n in whole]
        return [row for row in rows if row.source and all(row.references)][: self.settings.sentences]

    def opened(self, fold: int, weights: Weights) -> AnySystem:  # noqa: ARG002
        return self.system.with_weights(weights)


class FoldedText(GlobalText):
    """The training text, each fold decoded by a system over blocks that has not seen it.

    Binary features that the base run has not learned begin at 0.

    Raises:
        InputError: a model that is not over blocks, or a base run with other floats.
    """

    def __init__(self, config: TrainConfig, work: WorkDirectory, base: Path) -> None:
        super().__init__(config, work)
        self._features = frequent_features(work, config.model)
        kind = event_kind(config.model.kind)
        self.kind, self.file = kind, with_features(weights_of(base), kind.sets[0], self._features.keys_F)
        self.system = kind.open(base, config, self.file, work, Asked())
        self._folds = BlockFolds(kind, work, config.model, self.settings.folds, self.file)

    def sentences(self) -> list[Sentence]:
        """All of them, or so many drawn by the seed."""
        work, fold_I, targets = self.work, self._folds.fold_I, self.work.encoded[1]
        rows = sample(len(fold_I), self.settings.sentences, self.config.seed)
        word = work.target_vocabulary.word
        return [
            Sentence(work.training_sentence(row), [[word(w) for w in targets[row].tolist()]], int(fold_I[row]))
            for row in rows.tolist()
        ]

    def opened(self, fold: int, weights: Weights) -> AnySystem:
        """The system without a fold; its blocks and features have the numbers of the whole text."""
        return self._folds.opened(fold, weights, self._features, self.config.decoder, 1).decoder


def _check_folded(config: TrainConfig, base: Path) -> None:
    """Looks whether a model can learn from lattices of the training text.

    Raises:
        InputError: it is not over blocks, has a partition, or a base run with other floats.
    """
    if config.model.kind not in EVENT_KINDS:
        raise InputError(
            "only models over blocks learn globally from the training text",
            seen=f"model={config.model.name} loss.globally.split={TRAIN}",
            expected="model=block or model=distortion",
            remedy="loss.globally.split=dev learns from the dev set",
        )
    check_sums(config)
    check_floats_of_base(config, base)
