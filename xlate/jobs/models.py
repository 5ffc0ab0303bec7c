"""The two block models by name: their floats, what their features are computed from, and their decoders."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.align.links import read_links
from xlate.align.model1 import Model1
from xlate.arrays.ranges import check_lengths
from xlate.arrays.stored import open_arrays, save_arrays
from xlate.candidates.block_instances import heldout
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import DecoderConfig
from xlate.errors import InputError
from xlate.features.block import DISTORTION_FLOATS, FLOATS, block_arrays, distortion_arrays
from xlate.jobs.prepare.stages import Stage, read_stage, run_stage
from xlate.jobs.prepare.work import WorkDirectory
from xlate.kernels.counting.model1 import model1_costs
from xlate.kernels.features.block_features import BlockArrays
from xlate.models.block.decoder import BlockDecoder
from xlate.models.block.lexicon import BlockLexicon
from xlate.models.block.model import BlockModel
from xlate.models.block.settings import BlockSearch
from xlate.models.distortion.decoder import DistortionDecoder
from xlate.models.distortion.model import DistortionModel
from xlate.models.distortion.settings import DistortionSearch
from xlate.phrases.distortion import Distortion
from xlate.scoring.weights import Weights, WeightsFile

KINDS = ("orientation", "distortion")
# The folders of a distortion stage.
JUMPS, MODEL1 = "jumps", "model1"
MODEL1_KIND = "set of Model 1 costs"
FLOATS_OF = {"orientation": FLOATS, "distortion": DISTORTION_FLOATS}
SETS_OF = {"orientation": ("linked", "neutral"), "distortion": ("linked",)}


def feature_arrays(work: WorkDirectory, model: ModelConfig, keys_F: NDArray[np.uint64]) -> BlockArrays:
    """What a model's features are computed from, for candidates."""
    if model.kind == "orientation":
        return block_arrays(work.blocks, work.lm, work.target_vocabulary, keys_F, model.orientation_smoothing)
    stage = distortion_stage(work, model)
    distortion, model1_B = load_distortion(work, stage)
    return distortion_arrays(work.blocks, work.lm, work.target_vocabulary, keys_F, distortion, model1_B)


def identity_settings(work: WorkDirectory, model: ModelConfig) -> dict[str, Any]:
    """What the floats of a model depend on, beside blocks and language model."""
    if model.kind == "orientation":
        return {"orientation_smoothing": model.orientation_smoothing}
    return {"distortion": distortion_stage(work, model).identity}


def distortion_stage(work: WorkDirectory, model: ModelConfig) -> Stage:
    """Jump costs without held-out pairs, and Model 1 weights, estimated when a work directory does not have them."""
    settings: dict[str, Any] = {
        "reach": model.jump_reach,
        "smoothing": model.jump_smoothing,
        "iterations": model.model1_iterations,
        "on": [read_stage(work.path, "blocks").identity, read_stage(work.path, "align").identity],
        "version": 1,
    }
    name = f"distortion/{model.jump_reach}-{model.jump_smoothing:g}-{model.model1_iterations}"
    return run_stage(work.path, name, settings, lambda folder: _estimate(work, model, folder))


def load_distortion(work: WorkDirectory, stage: Stage) -> tuple[Distortion, NDArray[np.float32]]:
    """What the stage holds.

    Raises:
        InputError: a file is missing or damaged, or of other words or blocks than those of the work directory.
    """
    stored = open_arrays(stage.folder / MODEL1, MODEL1_KIND, {"model1_B": ("<f4", 1)}, memory_map=False)
    check_lengths(stored, model1_B=(len(work.blocks),))
    return Distortion.load(stage.folder / JUMPS, len(work.source_vocabulary)), stored["model1_B"]


def _estimate(work: WorkDirectory, model: ModelConfig, folder: Any) -> dict[str, Any]:
    source, target = work.training_text("source"), work.training_text("target")
    lengths = [np.diff(text.offsets_S1).tolist() for text in (source, target)]
    links = read_links(work.path / "align" / "links.gz", *lengths)
    every = read_stage(work.path, "blocks").number("heldout_every")
    counted_S = ~heldout(np.arange(len(source), dtype=np.int32), every)
    words = len(work.source_vocabulary.words)
    Distortion.count(source, links, counted_S, words, model.jump_reach, model.jump_smoothing).save(folder / JUMPS)
    model1 = Model1.train(source, target, len(work.target_vocabulary.words), model.model1_iterations)
    table = work.blocks.table
    model1_B = model1_costs(
        np.ascontiguousarray(table.source_B),
        np.ascontiguousarray(table.target_B),
        np.ascontiguousarray(table.source_phrases.ids_T),
        np.ascontiguousarray(table.source_phrases.offsets_S1),
        np.ascontiguousarray(table.target_phrases.ids_T),
        np.ascontiguousarray(table.target_phrases.offsets_S1),
        model1.table,
        model1.probability_K,
        1e-7,
    )
    save_arrays(folder / MODEL1, MODEL1_KIND, {"model1_B": model1_B})
    return {"model1_pairs": len(model1.keys_K)}


def decoder_model(work: WorkDirectory, weights: WeightsFile, model: ModelConfig) -> BlockLexicon:
    """The decoder's model of a run's weights."""
    linked = _checked_set(weights, "linked", model)
    shared: dict[str, Any] = {
        "blocks": work.blocks,
        "lm": work.lm,
        "source_vocabulary": work.source_vocabulary,
        "target_vocabulary": work.target_vocabulary,
        "feature_keys": weights.extra["linked.keys"],
        "feature_weights": linked.sparse_F,
    }
    if model.kind == "orientation":
        neutral = _checked_set(weights, "neutral", model).dense_D
        smoothing = model.orientation_smoothing
        return BlockModel(**shared, linked=linked.dense_D, neutral=neutral, orientation_smoothing=smoothing)
    distortion, model1_B = load_distortion(work, distortion_stage(work, model))
    return DistortionModel(**shared, weights=linked.dense_D, distortion=distortion, model1_B=model1_B)


def _checked_set(weights: WeightsFile, name: str, model: ModelConfig) -> Weights:
    """A set of weights with the floats of a model, in their order.

    Raises:
        InputError: an unknown kind of model, or weights of other floats.
    """
    if model.kind not in KINDS:
        raise InputError("unknown value of model.kind", seen=model.kind, expected=", ".join(KINDS))
    held = weights.sets.get(name)
    if held is None or held.dense_names != FLOATS_OF[model.kind]:
        seen = f"{name}: {None if held is None else ' '.join(held.dense_names)}"
        raise InputError(
            f"not the weights of the {model.kind} model", seen=seen, expected=" ".join(FLOATS_OF[model.kind])
        )
    return held


def block_search(
    kind: str, settings: DecoderConfig, *, nbest: int = 1, distinct: bool = True
) -> BlockSearch | DistortionSearch:
    """The settings that concern the decoder of a kind of model.

    Raises:
        InputError: a value outside its range.
    """
    common: dict[str, Any] = {
        "beam": settings.beam,
        "threshold": settings.threshold,
        "options": settings.options,
        "option_order": settings.option_order,
        "end_of_sentence": settings.end_of_sentence,
        "future_cost": settings.future_cost,
        "max_words": settings.max_words,
        "nbest": nbest,
        "distinct": distinct,
    }
    if kind == "distortion":
        limits: dict[str, Any] = {
            "max_skips": settings.max_skips,
            "window": settings.window,
            "coverage_beam": settings.coverage_beam,
            "unknown_direct": settings.unknown_direct,
            "unknown_model1": settings.unknown_model1,
        }
        return DistortionSearch(**common, **limits)
    own: dict[str, Any] = {
        "mode": settings.mode,
        "min_left_count": settings.min_left_count,
        "partition": settings.partition,
        "unknown_unigram": settings.unknown_unigram,
        "unknown_lexical": settings.unknown_lexical,
    }
    return BlockSearch(**common, **own)


def make_decoder(
    model: BlockLexicon, settings: DecoderConfig, *, nbest: int = 1, distinct: bool = True, fast: bool = True
) -> BlockDecoder | DistortionDecoder:
    """The decoder of a model, with the settings that concern it."""
    kind = "distortion" if isinstance(model, DistortionModel) else "orientation"
    search = block_search(kind, settings, nbest=nbest, distinct=distinct)
    if isinstance(model, DistortionModel):
        assert isinstance(search, DistortionSearch)
        return DistortionDecoder(model, search, fast)
    assert isinstance(model, BlockModel)
    assert isinstance(search, BlockSearch)
    return BlockDecoder(model, search, fast)
