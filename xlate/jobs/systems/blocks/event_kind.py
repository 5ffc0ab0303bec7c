"""What jobs know of a kind of model that learns from events of the training text."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from xlate.array_types import AnyArray
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.config.source_schema import ONLINE
from xlate.errors import InputError
from xlate.features.bigrams import BigramIndex
from xlate.features.block import MORE_FLOATS, MoreFloats, more_floats
from xlate.jobs.run_weights import made_with, weights_of, weights_path
from xlate.jobs.systems.blocks.base import check_floats_of_base, check_sums, frequent_features, with_features
from xlate.jobs.systems.kind import Asked, Kind
from xlate.jobs.systems.same_model import check_model_of_base
from xlate.jobs.systems.to_tune import Saved, ToTune
from xlate.kernels.features.block_features import BlockArrays
from xlate.models.block.tuned import TunedBlocks
from xlate.models.system import AnySystem
from xlate.models.tuned import TunedCosts, TunedSystem
from xlate.scoring.weights import Weights, WeightsFile
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates, WithoutFold


class EventKind(Kind):
    """A kind of model that learns from events of the training text, too.

    Attributes:
        floats: names of its own floats, which every model of the kind has; a model's settings may add optional ones.
        sets: names of its weight sets.
    """

    of_costs = True
    tunes_from_run = True
    floats: ClassVar[tuple[str, ...]]
    sets: ClassVar[tuple[str, ...]]

    @property
    def choices(self) -> tuple[str, ...]:
        """What `model.floats` may name."""
        return (*self.floats, *MORE_FLOATS)

    def names(self, model: ModelConfig) -> tuple[str, ...]:
        """The floats of a model's settings: the kind's own, trained or not, and the optional ones that are named."""
        return (*self.floats, *more_floats(model.floats))

    @abstractmethod
    def feature_arrays(self, estimates: Estimates, model: ModelConfig, keys_F: AnyArray) -> BlockArrays:
        """What features are computed from, for candidates."""

    @abstractmethod
    def identity_settings(self, estimates: Estimates, model: ModelConfig) -> dict[str, Any]:
        """What the floats depend on, beside blocks and language model."""

    @abstractmethod
    def model(self, estimates: Estimates, weights: WeightsFile, model: ModelConfig) -> Any:
        """The decoder's model of a run's weights.

        Raises:
            InputError: weights of other floats.
        """

    @abstractmethod
    def decoder(self, model: Any, settings: DecoderConfig, asked: Asked = Asked()) -> AnySystem:  # noqa: B008
        """The decoder of a model."""

    def open(
        self,
        run: Path,  # noqa: ARG002
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,
        asked: Asked,
    ) -> AnySystem:
        """The decoder of a run's weights over its work directory."""
        if work is None:
            raise InputError(
                "a run without work directory", seen="work=''", expected=f"that of model={config.model.name}"
            )
        return self.decoder(self.model(Estimates(work), weights, config.model), config.decoder, asked)

    def saved(self, system: AnySystem, file: WeightsFile) -> Saved:
        """The dense weights of the sets one behind the other; sparse features belong to the first."""
        weights, sets, at = system.weights, {}, 0
        for name in self.sets:
            held = file.sets[name]
            dense_D = weights.dense_D[at : at + len(held.dense_D)].copy()
            sparse_F = held.sparse_F if at else weights.sparse_F.copy()
            sets[name] = replace(held, dense_D=dense_D, sparse_F=sparse_F)
            at += len(dense_D)
        return Saved(sets, {} if system.features is None else {self.sets[0]: system.features}, file.extra)

    def check_base(self, config: TrainConfig, base: Path) -> None:
        """It must have the same model; online training needs the floats only."""
        if config.loss.name == ONLINE:
            check_floats_of_base(config, base)
            return
        check_model_of_base(config, base)
        weights_path(base)

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """The dense weights of the base run, and the scale of its sparse ones; online these themselves."""
        assert config.loss.tune is not None
        base, every = Path(str(config.base)), config.loss.name == ONLINE and bool(config.model.binary)
        file = weights_of(base)
        if every:
            check_sums(config)
            file = with_features(file, self.sets[0], frequent_features(work, config.model).keys_F)
        system = self.open(base, config, file, work, Asked())
        costs = self.tuned(system, config.model, config.loss.tune.processes)
        tuned = TunedBlocks(costs, cast(BigramIndex, system.features)) if every else costs
        start = tuned.trained if config.loss.tune.start == "base" else tuned.uniform
        metadata = {**file.metadata, **made_with(config.model)}
        return ToTune(tuned, start, lambda weights: self.saved(tuned.weighted(weights), file), metadata)

    def without_fold(self, config: TrainConfig, whole: TunedSystem, without: WithoutFold) -> TunedSystem:
        """Blocks, counts and language model of the other folds; all numbers are those of the whole text."""
        file = weights_of(Path(str(config.base)))
        if isinstance(whole, TunedBlocks):
            file = with_features(file, self.sets[0], whole.index.keys_F)
            return replace(whole, costs=self._without_fold(config, whole.costs, without, file))
        assert isinstance(whole, TunedCosts)
        return self._without_fold(config, whole, without, file)

    def _without_fold(
        self, config: TrainConfig, whole: TunedCosts, without: WithoutFold, file: WeightsFile
    ) -> TunedCosts:
        return replace(whole, system=self.decoder(self.model(without, file, config.model), config.decoder))

    def tuned(self, system: AnySystem, model: ModelConfig, processes: int) -> TunedCosts:
        """A system to be tuned: its floats that have a weight, and the optional ones that are named."""
        optional = [name in MORE_FLOATS for name in self.names(model)] * len(self.sets)
        return TunedCosts(system, processes, np.array(optional))

    def shared(self, estimates: Estimates, weights: WeightsFile, model: ModelConfig) -> dict[str, Any]:
        """What the models over blocks have in common."""
        first, blocks = self.sets[0], estimates.blocks
        return {
            "blocks": blocks,
            "lm": estimates.lm,
            "source_vocabulary": estimates.work.source_vocabulary,
            "target_vocabulary": estimates.work.target_vocabulary,
            "feature_keys": weights.extra[f"{first}.keys"],
            "feature_weights": self.checked_set(weights, first, model).sparse_F,
            "more": MoreFloats.of(blocks, more_floats(model.floats)),
        }

    def checked_set(self, weights: WeightsFile, name: str, model: ModelConfig) -> Weights:
        """A set of weights with the floats of the model's settings, in their order.

        Raises:
            InputError: it is not there, or has others.
        """
        held, names = weights.sets.get(name), self.names(model)
        if held is None or held.dense_names != names:
            seen = f"{name}: {None if held is None else ' '.join(held.dense_names)}"
            expected = " ".join(names)
            raise InputError(f"not the weights of the {self.name} model", seen=seen, expected=expected)
        return held


def common_search(settings: DecoderConfig, asked: Asked) -> dict[str, Any]:
    """The settings that the searches of all models over blocks have."""
    names = (
        "beam",
        "threshold",
        "options",
        "option_order",
        "end_of_sentence",
        "future_cost",
        "max_phrase",
        "max_words",
    )
    return {**{name: getattr(settings, name) for name in names}, "nbest": asked.nbest, "distinct": asked.distinct}
