"""The phrase-distortion model: blocks whose order is scored by jumps, whose costs a work directory holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xlate.align.lexical import Model1
from xlate.array_types import Floats32, Uints
from xlate.arrays.ranges import check_lengths
from xlate.arrays.stored import open_arrays, save_arrays
from xlate.config.model_schema import DistortionModelConfig
from xlate.features.block import DISTORTION_FLOATS, block_arrays, distortion_arrays, more_floats
from xlate.kernels.counting.alignment import model1_costs
from xlate.kernels.features.blocks import BlockArrays
from xlate.models.block.kind import EventKind
from xlate.models.distortion.decoder import DistortionDecoder, DistortionModel
from xlate.phrases.distortion import Distortion
from xlate.phrases.table import phrase_pairs
from xlate.scoring.weights import WeightsFile
from xlate.work.estimates import Estimates
from xlate.work.stages import Stage, run_stage

# The folders of a distortion stage.
JUMPS, MODEL1 = "jumps", "model1"
MODEL1_KIND = "set of Model 1 costs"


class DistortionKind(EventKind):
    """The phrase-distortion model of Tillmann & Zhang 2007, section 5.3."""

    name = "distortion"
    floats = DISTORTION_FLOATS
    sets = ("linked",)

    def feature_arrays(self, estimates: Estimates, model: Any, keys_F: Uints) -> BlockArrays:
        words, more = estimates.work.target_vocabulary, more_floats(model.floats)
        jumps = distortion_arrays(estimates.blocks, *_jump_costs(estimates, model), model.direct_discount)
        return block_arrays(estimates.blocks, estimates.lm, words, keys_F, more, distortion=jumps)

    def identity_settings(self, estimates: Estimates, model: Any) -> dict[str, Any]:
        discount = {"direct_discount": model.direct_discount} if model.direct_discount else {}
        return {"distortion": _stage(estimates, model).identity, **discount}

    def system(
        self,
        estimates: Estimates,
        weights: WeightsFile,
        model: Any,
        settings: Any,
    ) -> DistortionDecoder:
        shared = self._shared(estimates, weights, model)
        distortion, model1_B = _jump_costs(estimates, model)
        blocks = DistortionModel(
            **shared,
            weights=self.checked_set(weights, "linked", model).dense_D,
            distortion=distortion,
            model1_B=model1_B,
            direct_discount=model.direct_discount,
        )
        return DistortionDecoder(blocks, settings)


def _stage(estimates: Estimates, model: DistortionModelConfig) -> Stage:
    """Jump costs and Model 1 weights of a text, estimated when a work directory does not have them."""
    settings: dict[str, Any] = {
        "reach": model.jump_reach,
        "smoothing": model.jump_smoothing,
        "iterations": model.model1_iterations,
        "on": estimates.identity,
        "version": 2,
    }
    name = estimates.folder / "distortion" / f"{model.jump_reach}-{model.jump_smoothing:g}-{model.model1_iterations}"
    return run_stage(estimates.work.path, str(name), settings, lambda folder: _estimate(estimates, model, folder))


def _jump_costs(estimates: Estimates, model: DistortionModelConfig) -> tuple[Distortion, Floats32]:
    """What the stage holds.

    Raises:
        InputError: a file is missing or damaged, or of other words or blocks than those of the work directory.
    """
    work, folder = estimates.work, _stage(estimates, model).folder
    stored = open_arrays(folder / MODEL1, MODEL1_KIND, {"model1_B": ("<f4", 1)}, memory_map=False)
    check_lengths(stored, model1_B=(len(work.blocks),))
    return Distortion.load(folder / JUMPS, len(work.source_vocabulary)), stored["model1_B"]


def _estimate(estimates: Estimates, model: DistortionModelConfig, folder: Path) -> dict[str, Any]:
    work = estimates.work
    source, target, links = estimates.text
    words = len(work.source_vocabulary.words)
    Distortion.count(source, links, words, model.jump_reach, model.jump_smoothing).save(folder / JUMPS)
    model1 = Model1.train(source, target, len(work.target_vocabulary.words), model.model1_iterations)
    model1_B = model1_costs(phrase_pairs(work.blocks.table), model1.table, model1.probability_K, 1e-7)
    save_arrays(folder / MODEL1, MODEL1_KIND, {"model1_B": model1_B})
    return {"model1_pairs": len(model1.keys_K)}
