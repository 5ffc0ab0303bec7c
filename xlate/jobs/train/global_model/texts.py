"""What the global model learns from: a split with references, or the training text, decoded in folds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from xlate.candidates.lattice import LatticeExample
from xlate.config.loss_schema import GlobalConfig
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.systems.block_lists import BlockFolds
from xlate.jobs.systems.blocks import check_floats_of_base, check_sums, frequent_features, with_features
from xlate.jobs.systems.kind import Asked, Kind, Saved
from xlate.jobs.systems.registry import EVENT_KINDS, event_kind, kind_of
from xlate.jobs.train.sparse_learning import sample
from xlate.jobs.train.warnings import not_too_long
from xlate.models.system import AnySystem
from xlate.progress import track
from xlate.scoring.weights import Weights, WeightsFile
from xlate.search.lattice_oracle import oracle_example
from xlate.work.directory import WorkDirectory

# `loss.globally.split` for the training text.
TRAIN = "train"


class Sentence(NamedTuple):
    """Tokens of a source sentence and of its references, and the fold that it is in."""

    source: list[str]
    references: list[list[str]]
    fold: int = 0


class GlobalText(ABC):
    """A text, and the model whose weights are learned from it.

    Args:
        config: of the run.
        work: its work directory.
        kind: of the model.
        file: the weights to begin with.
        system: the model under them.
    """

    def __init__(
        self, config: TrainConfig, work: WorkDirectory, kind: Kind, file: WeightsFile, system: AnySystem
    ) -> None:
        self.config, self.work, self.system = config, work, system
        self._kind, self._file = kind, file

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

    def saved(self, weights: Weights) -> tuple[Saved, Mapping[str, Any]]:
        """Weights as a run keeps them, and what it says of them."""
        saved = self._kind.saved(self.system.with_weights(weights), self._file)
        return saved, {**self._file.metadata, **made_with(self.config.model)}


class TextOfSplit(GlobalText):
    """A split with references, decoded by the system of the base run."""

    def __init__(self, config: TrainConfig, work: WorkDirectory, base: Path) -> None:
        kind, file = kind_of(config.model.kind), weights_of(base)
        super().__init__(config, work, kind, file, kind.open(base, config, file, work, Asked()))

    def sentences(self) -> list[Sentence]:
        """The first ones of the split."""
        g, work = self.config.loss.globally, self.work
        lines = [work.source_tokens(line) for line in work.source_lines(g.split)]
        streams = [[work.target_tokens(line) for line in stream] for stream in work.references(g.split)]
        whole = not_too_long([len(line) for line in lines], self.config.decoder.max_words, g.split)
        rows = [Sentence(lines[n], [stream[n] for stream in streams]) for n in whole]
        return [row for row in rows if row.source and all(row.references)][: g.sentences]

    def opened(self, fold: int, weights: Weights) -> AnySystem:  # noqa: ARG002
        """The one system, which has seen none of the text."""
        return self.system.with_weights(weights)


class FoldedText(GlobalText):
    """The training text, each fold decoded by a system over blocks that has not seen it.

    Binary features that the base run has not learned begin at 0.

    Raises:
        InputError: a model that is not over blocks, or a base run with other floats.
    """

    def __init__(self, config: TrainConfig, work: WorkDirectory, base: Path) -> None:
        kind, features = event_kind(config.model.kind), frequent_features(work, config.model)
        file = with_features(weights_of(base), kind.sets[0], features.keys_F)
        super().__init__(config, work, kind, file, kind.open(base, config, file, work, Asked()))
        self._features = features
        self._folds = BlockFolds(kind, work, config.model, config.loss.globally.folds, file)

    def sentences(self) -> list[Sentence]:
        """All of them, or so many drawn by the seed."""
        work, fold_I, targets = self.work, self._folds.fold_I, self.work.encoded[1]
        rows = sample(len(fold_I), self.config.loss.globally.sentences, self.config.seed)
        word = work.target_vocabulary.word
        return [
            Sentence(work.training_sentence(row), [[word(w) for w in targets[row].tolist()]], int(fold_I[row]))
            for row in rows.tolist()
        ]

    def opened(self, fold: int, weights: Weights) -> AnySystem:
        """The system without a fold; its blocks and features have the numbers of the whole text."""
        return self._folds.opened(fold, weights, self._features, self.config.decoder, 1).decoder


def check_folded(config: TrainConfig) -> None:
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
    check_floats_of_base(config, Path(str(config.base)))


def parted(sentences: Sequence[Sentence], heldout_every: int) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences to train on and those held out, the last of every so many."""
    last = heldout_every - 1
    kept = [row for n, row in enumerate(sentences) if n % heldout_every != last]
    return kept, list(sentences[last::heldout_every])


def lattices(
    text: GlobalText, sentences: Sequence[Sentence], weights: Weights, settings: GlobalConfig
) -> Iterator[LatticeExample]:
    """The lattices of sentences under some weights, fold by fold, with the oracles' derivations wanted.

    There is none where no path has a word of the references.
    """
    ordered = track(sorted(sentences, key=attrgetter("fold")), "lattices")
    for fold, some in groupby(ordered, key=attrgetter("fold")):
        system = text.opened(fold, weights)
        for row in some:
            lattice = system.lattice(row.source)
            example = oracle_example(lattice, row.references, count=settings.oracles, margin=settings.margin)
            if example is not None:
                yield example
