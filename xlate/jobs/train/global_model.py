"""xlate train loss=global base=RUN: the global model (TZ07 Eq. 4), from the weights of a run of the local model.

It learns from a split with references, or from the training text, decoded in folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from xlate.config.schema import TrainConfig
from xlate.errors import InputError, refuse_if
from xlate.jobs.train.events import check_split
from xlate.jobs.train.lists import sample
from xlate.jobs.train.recipe import (
    WorkRecipe,
    measured_splits,
    rounded,
    warn_if_unmoved,
)
from xlate.jobs.train.tuning import tuning_text
from xlate.learning.global_model import NAME as GLOBAL
from xlate.learning.global_model import GlobalTraining
from xlate.learning.run import Run
from xlate.learning.settings import GlobalConfig
from xlate.learning.tuning import fingerprint
from xlate.models.block.kind import check_floats_of_base, check_sums, frequent_features, with_features
from xlate.models.block.lists import BlockLists
from xlate.models.kind import check_model_of_base, event_kind, kind_of
from xlate.models.run_files import made_with, weights_of
from xlate.models.system import AnySystem
from xlate.progress import track
from xlate.scoring.weights import Weights, WeightsFile, save_weights
from xlate.search.lattice import LatticeExample
from xlate.search.oracle import oracle_example
from xlate.settings import Json, plain
from xlate.tuners.settings import TuneConfig
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of

# `loss.globally.split` for the training text.
TRAIN = "train"


class GlobalMethod(WorkRecipe):
    """Rounds of decoding a text and of steps over whole derivations, from the weights of the run `base`.

    Every `heldout_every`-th sentence is held out: each round keeps the weights that are best there.

    Raises:
        InputError: no base run, one of another model or work directory, or no such split; for the training text, a
            model that is not over blocks or has a partition.
    """

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        split, self.base = config.loss.globally.split, config.base_run
        if split != TRAIN:
            check_model_of_base(config, self.base)
        elif kind_of(config.model).of_blocks:
            check_sums(config)
            check_floats_of_base(config, self.base)
        else:
            raise InputError(
                "only models over blocks can learn globally from the training text",
                f"model={config.model.name} loss.globally.split={TRAIN}",
                "model=block or model=distortion",
                "loss.globally.split=dev learns from the dev set",
            )
        made = weights_of(self.base).metadata
        refuse_if(
            made.get("work_identity") != self.work.identity,
            "the base run belongs to another work directory",
            made.get("work"),
            str(self.work.path),
            file=self.base,
        )
        if split != TRAIN:
            check_split(self.work, "loss.globally.split", split)

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        refuse_if(
            config.base is None, "the global model needs a run of the local model to start from", "no base", "base=RUN"
        )

    def learn(self, run: Run) -> Json:
        """Trains, writes the weights, and translates the dev set, and the test set if asked."""
        config, loss, g = self.config, self.config.loss, self.config.loss.globally
        text = (folded_text if g.split == TRAIN else text_of_split)(config, self.work, self.base)
        file, system, sentences, opened = text
        last = g.heldout_every - 1
        # Every N-th sentence is held out.
        kept = [row for n, row in enumerate(sentences) if n % g.heldout_every != last]
        held = sentences[last :: g.heldout_every]
        start = system.weights
        made_from = {
            "loss": plain(loss),
            "decoder": plain(config.decoder),
            "seed": config.seed,
            "start": fingerprint(start),
            "on": self.work.identity,
        }
        training = GlobalTraining(
            partial(_lattices, opened, kept, g),
            partial(_lattices, opened, held, g),
            replace(loss, globally=replace(g, seed=config.seed)),
            run.reporter,
            run.checkpoint(identity_of(made_from)),
        )
        weights, epochs = training.run(start, run.stop.__bool__)
        seen = f"loss.globally.rounds={g.rounds} epochs={g.epochs} loss.eta={loss.eta:g}"
        warn_if_unmoved({"weights": start}, {"weights": weights}, seen)
        saved = kind_of(config.model).saved(system.with_weights(weights), file)
        metadata = {**file.metadata, **made_with(config.model)}
        save_weights(run.weights, **saved._asdict(), metadata=metadata)
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


# Decodes a fold with some weights.
Opened = Callable[[int, Weights], AnySystem]
# The initial weights, their model, sentences without empty sides, and the function that decodes them.
GlobalText = tuple[WeightsFile, AnySystem, list[Sentence], Opened]


def _lattices(
    opened: Opened, sentences: Sequence[Sentence], settings: GlobalConfig, weights: Weights
) -> Iterator[LatticeExample]:
    """The lattices of sentences under some weights, fold by fold, with the requested oracle derivations.

    Sentences without any path that has a word of the references have no lattice.
    """
    ordered = track(sorted(sentences, key=attrgetter("fold")), "lattices")
    for fold, some in groupby(ordered, key=attrgetter("fold")):
        system = opened(fold, weights)
        for row in some:
            lattice = system.lattice(row.source)
            example = oracle_example(lattice, row.references, count=settings.oracles, margin=settings.margin)
            if example is not None:
                yield example


def text_of_split(config: TrainConfig, work: WorkDirectory, base: Path) -> GlobalText:
    """The first sentences of a split with references, decoded by the base run's system, which has seen none of them."""
    file, settings = weights_of(base), config.loss.globally
    system = kind_of(config.model).open(base, config, file, work)
    text = tuning_text(TuneConfig(GLOBAL, settings.split), work, config.decoder.max_words)
    rows = zip(text.sources, text.references, strict=True)
    sentences = [Sentence(source, lines) for source, lines in rows if all(lines)][: settings.sentences]
    return file, system, sentences, lambda _, weights: system.with_weights(weights)


def folded_text(config: TrainConfig, work: WorkDirectory, base: Path) -> GlobalText:
    """The training text, or a sample of its sentences drawn by the seed, each fold decoded by a system without it.

    Blocks and features have their numbers in the whole text. Binary features that the base run has not learned start
    at 0.
    """
    kind, settings = event_kind(config.model), config.loss.globally
    features = frequent_features(work, config.model)
    file = with_features(weights_of(base), features.keys_F)
    lists = BlockLists(kind, config, work, base, settings.folds)
    targets, word = work.encoded[1], work.target_vocabulary.word
    sentences = [
        Sentence(work.training_sentence(row), [[word(w) for w in targets[row].tolist()]], int(lists.fold_I[row]))
        for row in sample(len(lists.fold_I), settings.sentences, config.seed).tolist()
    ]

    def opened(fold: int, weights: Weights) -> AnySystem:
        return lists.opened(fold, weights, features, config.decoder).decoder

    return file, kind.open(base, config, file, work), sentences, opened
