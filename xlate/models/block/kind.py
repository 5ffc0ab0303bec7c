"""Models over blocks, which also learn from events of the training text: what they share, and the orientation model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from xlate.array_types import Uints
from xlate.config.model_schema import EventModelConfig
from xlate.config.schema import TrainConfig
from xlate.errors import InputError, check_choice, refuse_if
from xlate.features.block import (
    FAMILIES,
    MORE_FLOATS,
    BigramIndex,
    BlockNames,
    MoreFloats,
    more_floats,
)
from xlate.models.block.decoder import AnyBlockSystem, BlockDecoder
from xlate.models.block.model import BlockLexicon, BlockModel
from xlate.models.kind import Kind, Saved, ToTune, check_model_of_base, needed
from xlate.models.run_files import made_with, weights_of
from xlate.models.system import AnySystem
from xlate.scoring.weights import Weights, WeightsFile
from xlate.tuners.settings import ONLINE
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates, WithoutFold

if TYPE_CHECKING:
    # Only for training; translating does not need it.
    from xlate.models.block.lists import BlockLists
    from xlate.models.tuned import TunedCosts, TunedSystem

# The set of weights that binary features have in every model over blocks, and the array of the features' keys.
LINKED, KEYS = "linked", "linked.keys"
# Keys of a model that do not change what its floats mean: those of its events, and of its binary features.
FREE = ("binary", "threshold", "folds", "alternatives", "listed_only", "by_span", "by_target")


class EventKind(Kind):
    """A kind of model over blocks.

    Attributes:
        MODEL, SYSTEM: the classes of its model and of its decoder.
        sets: names of its weight sets.
    """

    of_blocks = True
    MODEL: ClassVar[type[BlockLexicon]]
    SYSTEM: ClassVar[type[AnyBlockSystem]]
    sets: ClassVar[tuple[str, ...]]

    def names(self, model: EventModelConfig) -> tuple[str, ...]:
        """The floats of a model's settings: the kind's own, trained or not, and the optional ones that are named."""
        return (*self.MODEL.own_floats, *more_floats(model.floats))

    def check(self, model: Any) -> None:
        """There are floats, and all features are known."""
        floats = (*self.MODEL.own_floats, *MORE_FLOATS)
        for key, known in (("floats", floats), ("binary", FAMILIES)):
            for name in getattr(model, key):
                check_choice(f"unknown value of model.{key}", name, known)
        expected = f"at least one of {', '.join(floats)}"
        refuse_if(not model.floats, "a model without floats", "model.floats=[]", expected)

    @abstractmethod
    def identity_settings(self, estimates: Estimates, model: EventModelConfig) -> dict[str, Any]:
        """What the floats depend on, in addition to blocks and language model."""

    @abstractmethod
    def own_fields(self, estimates: Estimates, model: EventModelConfig) -> dict[str, Any]:
        """The fields of its model that other models over blocks lack, without weights."""

    def model(
        self, estimates: Estimates, settings: EventModelConfig, keys_F: Uints, sets: Sequence[Weights] = ()
    ) -> BlockLexicon:
        """The model over the estimated blocks, with the binary features of some keys; by default all weights are 0."""
        held = sets or [Weights.zeros(self.names(settings), len(keys_F))] * len(self.sets)
        return self.MODEL(
            blocks=estimates.blocks,
            lm=estimates.lm,
            source_vocabulary=estimates.work.source_vocabulary,
            target_vocabulary=estimates.work.target_vocabulary,
            feature_keys=keys_F,
            feature_weights=held[0].sparse_F,
            more=MoreFloats.of(estimates.blocks, more_floats(settings.floats)),
            **dict(zip(self.MODEL.WEIGHTS, (one.dense_D for one in held), strict=True)),
            **self.own_fields(estimates, settings),
        )

    def system(
        self,
        estimates: Estimates,
        weights: WeightsFile,
        model: EventModelConfig,
        settings: Any,
    ) -> AnySystem:
        """The decoder of a run's weights over the estimated blocks.

        Raises:
            InputError: weights of other floats.
        """
        held = [self.checked_set(weights, name, model) for name in self.sets]
        return self.SYSTEM(self.model(estimates, model, weights.extra[KEYS], held), settings)

    def open(
        self,
        run: Path,  # noqa: ARG002
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,
    ) -> AnySystem:
        return self.system(Estimates(needed(work, config.model)), weights, config.model, config.decoder)

    def saved(self, system: AnySystem, file: WeightsFile) -> Saved:
        weights = system.weights.copy()
        parts = zip(self.sets, np.split(weights.dense_D, len(self.sets)), strict=True)
        sets = {name: replace(file.sets[name], dense_D=dense_D) for name, dense_D in parts}
        sets[LINKED] = replace(sets[LINKED], sparse_F=weights.sparse_F)
        return Saved(sets, {} if system.features is None else {LINKED: system.features}, file.extra)

    def check_base(self, config: TrainConfig, base: Path) -> None:
        """The run must have the same model; online training needs only the same floats."""
        if config.loss.name == ONLINE:
            check_floats_of_base(config, base)
        else:
            super().check_base(config, base)

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """The dense weights of the base run, and the scale of its sparse ones; online, these themselves."""
        from xlate.models.block.lists import TunedBlocks

        base, every = config.base_run, config.loss.name == ONLINE and bool(config.model.binary)
        file = weights_of(base)
        if every:
            check_sums(config)
            features = frequent_features(needed(work, config.model), config.model)
            file = with_features(file, features.keys_F)
        system = self.open(base, config, file, work)
        tuned = self.tuned(system, config.model, config.tune.processes)
        if every:
            tuned = TunedBlocks(tuned.system, tuned.processes, tuned.from_zero_D)
        start = tuned.trained if config.tune.start == "base" else tuned.uniform
        metadata = {**file.metadata, **made_with(config.model)}
        return ToTune(tuned, start, lambda weights: self.saved(tuned.weighted(weights), file), metadata)

    def without_fold(self, config: TrainConfig, whole: TunedSystem, without: WithoutFold) -> TunedCosts:
        """Blocks, counts and language model of the other folds; all numbers are those of the whole text."""
        from xlate.models.block.lists import TunedBlocks
        from xlate.models.tuned import TunedCosts

        file = weights_of(config.base_run)
        assert isinstance(whole, TunedCosts)
        if isinstance(whole, TunedBlocks):
            file = with_features(file, cast(BigramIndex, whole.system.features).keys_F)
        return replace(whole, system=self.system(without, file, config.model, config.decoder))

    def tuned(self, system: AnySystem, model: EventModelConfig, processes: int) -> TunedCosts:
        """A system to be tuned: its floats that have a weight, and the optional ones that are named."""
        from xlate.models.tuned import TunedCosts

        optional = [name in MORE_FLOATS for name in self.names(model)] * len(self.sets)
        return TunedCosts(system, processes, np.array(optional))

    def check_lists(self, config: TrainConfig) -> None:
        """There must be binary features, no partition, and a base run with the floats."""
        expected = "model.binary=[BB] or another"
        refuse_if(not config.model.binary, "no binary features to train", "model.binary=[]", expected)
        check_sums(config)
        if config.base is None:
            raise InputError(
                "no run to take float weights from",
                "base is not set",
                "base=RUN of the same model",
                f"train one first: xlate train model={config.model.name} model.binary=[] run=RUN",
            )
        check_floats_of_base(config, config.base_run)

    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path, folds: int) -> BlockLists:
        from xlate.models.block.lists import BlockLists

        lists = BlockLists(self, config, work, base, folds)
        trained = lists.file.metadata
        refuse_if(
            trained.get("work_identity") != work.identity,
            "the base run was trained on a different work directory",
            trained.get("work"),
            str(work.path),
            "train the float weights on this work directory",
            file=base,
        )
        return lists

    def checked_set(self, weights: WeightsFile, name: str, model: EventModelConfig) -> Weights:
        """A set of weights with the floats of the model's settings, in their order."""
        held, names = weights.sets.get(name), self.names(model)
        if held is None or held.dense_names != names:
            seen = f"{name}: {None if held is None else ' '.join(held.dense_names)}"
            raise InputError(f"not the weights of the {self.name} model", seen, " ".join(names))
        return held


class Block(EventKind):
    """The orientation model of Tillmann & Zhang 2007: blocks with two weight sets."""

    name = "orientation"
    MODEL, SYSTEM = BlockModel, BlockDecoder
    sets = (LINKED, "neutral")

    def identity_settings(self, estimates: Estimates, model: Any) -> dict[str, Any]:  # noqa: ARG002
        divided = {"unigram_per_word": True} if model.unigram_per_word else {}
        return {"orientation_smoothing": model.orientation_smoothing, **divided}

    def own_fields(self, estimates: Estimates, model: Any) -> dict[str, Any]:  # noqa: ARG002
        return {"orientation_smoothing": model.orientation_smoothing, "unigram_per_word": model.unigram_per_word}


def check_floats_of_base(config: TrainConfig, base: Path) -> None:
    """Checks that a run has the floats of a model over blocks; its binary features may be others.

    Raises:
        InputError: it does not, or has no weights.
    """
    check_model_of_base(config, base, FREE, "train the floats of this model first, with model.binary=[]")
    weights_of(base)


def check_sums(config: TrainConfig) -> None:
    """Checks that the scores of a search are sums over features.

    Raises:
        InputError: it has a partition.
    """
    partition = getattr(config.decoder, "partition", "off")
    seen, expected = f"decoder.partition={partition}", "decoder.partition=off"
    refuse_if(partition != "off", "scores with a partition are not sums over features", seen, expected)


def frequent_features(work: WorkDirectory, model: EventModelConfig) -> BigramIndex:
    """The binary features of a model's settings."""
    words = BlockNames(work.blocks, work.source_vocabulary, work.target_vocabulary)
    return BigramIndex.frequent(words, model.binary, model.threshold)


def with_features(file: WeightsFile, keys_F: Uints, *, learned: bool = True) -> WeightsFile:
    """Weights of a run with these binary features; those that it has not learned weigh 0.

    Without `learned` all weigh 0.
    """
    held_keys, held = file.extra.get(KEYS, np.zeros(0, np.uint64)), file.sets[LINKED]
    sparse_F = np.zeros(len(keys_F))
    if learned:
        _, here, there = np.intersect1d(keys_F, held_keys, assume_unique=True, return_indices=True)
        sparse_F[here] = held.sparse_F[there]
    sets = {**file.sets, LINKED: replace(held, sparse_F=sparse_F)}
    return replace(file, sets=sets, extra={KEYS: keys_F})
