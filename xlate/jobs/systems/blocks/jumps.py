"""The jump costs and Model 1 of the phrase-distortion model, estimated once a work directory."""

from __future__ import annotations

from typing import Any

from xlate.align.model1 import Model1
from xlate.array_types import Floats32
from xlate.arrays.ranges import check_lengths
from xlate.arrays.stored import open_arrays, save_arrays
from xlate.config.model_schema import ModelConfig
from xlate.kernels.counting.lexical import model1_costs
from xlate.phrases.distortion import Distortion
from xlate.phrases.table import phrase_pairs
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates
from xlate.work.stages import Stage, run_stage

# The folders of a distortion stage.
JUMPS, MODEL1 = "jumps", "model1"
MODEL1_KIND = "set of Model 1 costs"


def distortion_stage(estimates: Estimates, model: ModelConfig) -> Stage:
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


def load_distortion(work: WorkDirectory, stage: Stage) -> tuple[Distortion, Floats32]:
    """What the stage holds.

    Raises:
        InputError: a file is missing or damaged, or of other words or blocks than those of the work directory.
    """
    stored = open_arrays(stage.folder / MODEL1, MODEL1_KIND, {"model1_B": ("<f4", 1)}, memory_map=False)
    check_lengths(stored, model1_B=(len(work.blocks),))
    return Distortion.load(stage.folder / JUMPS, len(work.source_vocabulary)), stored["model1_B"]


def _estimate(estimates: Estimates, model: ModelConfig, folder: Any) -> dict[str, Any]:
    work = estimates.work
    source, target, links = estimates.text
    words = len(work.source_vocabulary.words)
    Distortion.count(source, links, words, model.jump_reach, model.jump_smoothing).save(folder / JUMPS)
    model1 = Model1.train(source, target, len(work.target_vocabulary.words), model.model1_iterations)
    model1_B = model1_costs(phrase_pairs(work.blocks.table), model1.table, model1.probability_K, 1e-7)
    save_arrays(folder / MODEL1, MODEL1_KIND, {"model1_B": model1_B})
    return {"model1_pairs": len(model1.keys_K)}
