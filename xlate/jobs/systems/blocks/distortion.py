"""The phrase-distortion model: blocks whose order is scored by jumps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xlate.array_types import Uints
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.features.block import DISTORTION_FLOATS, distortion_arrays, more_floats
from xlate.jobs.systems.blocks.event_kind import EventKind, common_search
from xlate.jobs.systems.blocks.jumps import distortion_stage, load_distortion
from xlate.jobs.systems.blocks.lists import BlockLists, check_block_lists
from xlate.jobs.systems.kind import Asked
from xlate.kernels.features.block_features import BlockArrays
from xlate.models.distortion.decoder import DistortionDecoder
from xlate.models.distortion.model import DistortionModel
from xlate.models.distortion.settings import DistortionSearch
from xlate.scoring.weights import WeightsFile
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates


class DistortionKind(EventKind):
    """The phrase-distortion model of Tillmann & Zhang 2007, section 5.3."""

    name = "distortion"
    floats = DISTORTION_FLOATS
    sets = ("linked",)

    def feature_arrays(self, estimates: Estimates, model: ModelConfig, keys_F: Uints) -> BlockArrays:
        """Counts of blocks, jump costs and Model 1."""
        distortion, model1_B = load_distortion(estimates.work, distortion_stage(estimates, model))
        words, more = estimates.work.target_vocabulary, more_floats(model.floats)
        given = (estimates.blocks, estimates.lm, words, keys_F, distortion, model1_B, more)
        return distortion_arrays(*given, model.direct_discount)

    def identity_settings(self, estimates: Estimates, model: ModelConfig) -> dict[str, Any]:
        """What was estimated."""
        discount = {"direct_discount": model.direct_discount} if model.direct_discount else {}
        return {"distortion": distortion_stage(estimates, model).identity, **discount}

    def model(self, estimates: Estimates, weights: WeightsFile, model: ModelConfig) -> DistortionModel:
        """Blocks with jump costs under the one weight set."""
        shared = self.shared(estimates, weights, model)
        distortion, model1_B = load_distortion(estimates.work, distortion_stage(estimates, model))
        weights_D = self.checked_set(weights, "linked", model).dense_D
        return DistortionModel(
            **shared,
            weights=weights_D,
            distortion=distortion,
            model1_B=model1_B,
            direct_discount=model.direct_discount,
        )

    def search(self, settings: DecoderConfig, asked: Asked = Asked()) -> DistortionSearch:  # noqa: B008
        """The settings that concern this decoder."""
        return DistortionSearch(
            **common_search(settings, asked),
            max_skips=settings.max_skips,
            window=settings.window,
            coverage_beam=settings.coverage_beam,
            unknown_direct=settings.unknown_direct,
            unknown_model1=settings.unknown_model1,
        )

    def decoder(
        self,
        model: DistortionModel,
        settings: DecoderConfig,
        asked: Asked = Asked(),  # noqa: B008
    ) -> DistortionDecoder:
        """Beam search over jumps."""
        return DistortionDecoder(model, self.search(settings, asked), asked.fast)

    def check_lists(self, config: TrainConfig) -> None:
        """There must be binary features, and a base run with the floats."""
        check_block_lists(config)

    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path) -> BlockLists:
        """The block bigrams."""
        return BlockLists(self, config, work, base)
