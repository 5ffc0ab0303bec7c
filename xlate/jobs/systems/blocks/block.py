"""The orientation model: blocks with two weight sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xlate.array_types import Uints
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.features.block import FLOATS, block_arrays, more_floats
from xlate.jobs.systems.blocks.event_kind import EventKind, common_search
from xlate.jobs.systems.blocks.lists import BlockLists, check_block_lists
from xlate.jobs.systems.kind import Asked
from xlate.kernels.features.block_features import BlockArrays
from xlate.models.block.decoder import BlockDecoder
from xlate.models.block.model import BlockModel
from xlate.models.block.settings import BlockSearch
from xlate.scoring.weights import WeightsFile
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates


class Block(EventKind):
    """The orientation model of Tillmann & Zhang 2007."""

    name = "orientation"
    floats = FLOATS
    sets = ("linked", "neutral")

    def feature_arrays(self, estimates: Estimates, model: ModelConfig, keys_F: Uints) -> BlockArrays:
        """Counts of blocks and their orientations."""
        words, more = estimates.work.target_vocabulary, more_floats(model.floats)
        given = estimates.blocks, estimates.lm, words, keys_F, model.orientation_smoothing, more
        return block_arrays(*given, model.unigram_per_word)

    def identity_settings(self, estimates: Estimates, model: ModelConfig) -> dict[str, Any]:  # noqa: ARG002
        """What events hold that depends on this model alone."""
        divided = {"unigram_per_word": True} if model.unigram_per_word else {}
        return {"orientation_smoothing": model.orientation_smoothing, **divided}

    def model(self, estimates: Estimates, weights: WeightsFile, model: ModelConfig) -> BlockModel:
        """Blocks under the linked and neutral weights."""
        shared = self.shared(estimates, weights, model)
        linked, neutral = (self.checked_set(weights, name, model).dense_D for name in self.sets)
        return BlockModel(**shared, linked=linked, neutral=neutral, orientation_smoothing=model.orientation_smoothing)

    def search(self, settings: DecoderConfig, asked: Asked = Asked()) -> BlockSearch:  # noqa: B008
        """The settings that concern this decoder."""
        return BlockSearch(
            **common_search(settings, asked),
            mode=settings.mode,
            min_left_count=settings.min_left_count,
            partition=settings.partition,
            unknown_unigram=settings.unknown_unigram,
            unknown_lexical=settings.unknown_lexical,
        )

    def decoder(self, model: BlockModel, settings: DecoderConfig, asked: Asked = Asked()) -> BlockDecoder:  # noqa: B008
        """Beam search over neighbours that may be exchanged."""
        return BlockDecoder(model, self.search(settings, asked), asked.fast)

    def check_lists(self, config: TrainConfig) -> None:
        """There must be binary features, and a base run with the floats."""
        check_block_lists(config)

    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path) -> BlockLists:
        """The block bigrams."""
        return BlockLists(self, config, work, base)
