"""The candidate stores of a block model, made once for each work directory and feature settings."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlate.candidates.block_instances import STORES, BlockInstances
from xlate.candidates.store import CandidateStore
from xlate.config.schema import ModelConfig
from xlate.features.block import block_arrays
from xlate.features.index import FeatureIndex
from xlate.phrases.events import collect_events
from xlate.phrases.matching import Matches
from xlate.recipes.stages import Stage, identity_of, read_stage, run_stage
from xlate.recipes.work import WorkDirectory
from xlate.text.encoded import EncodedText

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BlockStores:
    """The stores by name (`linked`, `linked.heldout`, `neutral`, `neutral.heldout`) and the features they speak of."""

    stores: dict[str, CandidateStore]
    features: FeatureIndex
    identity: str


def block_stores(work: WorkDirectory, model: ModelConfig) -> BlockStores:
    """Opens the stores of a model's settings, making them first when they are not there.

    They hold all five floats and, when the model has binary features, the block bigrams above its threshold; which of
    the floats are trained does not matter to them.
    """
    blocks = read_stage(work.path, "blocks")
    heldout_every = blocks.figures["heldout_every"]
    settings: dict[str, Any] = {
        "threshold": model.threshold if model.binary else None,
        "alternatives": model.alternatives,
        "orientation_smoothing": model.orientation_smoothing,
        "on": [blocks.identity, read_stage(work.path, "lm").identity],
        "version": 1,
    }
    features = FeatureIndex.block_bigrams(work.blocks, model.threshold) if model.binary else FeatureIndex.empty()
    name = f"candidates/{identity_of(settings)[:12]}"
    stage = run_stage(work.path, name, settings, lambda folder: _write(work, model, features, heldout_every, folder))
    return BlockStores(_open(stage), features, stage.identity)


def _open(stage: Stage) -> dict[str, CandidateStore]:
    return {name: CandidateStore.open(stage.folder / name) for name in STORES}


def _write(
    work: WorkDirectory, model: ModelConfig, features: FeatureIndex, heldout_every: int, folder: Path
) -> dict[str, Any]:
    matches = Matches.load(work.path / "blocks" / "matches")
    instances = BlockInstances(
        blocks=block_arrays(work.blocks, work.lm, work.target_vocabulary, features.keys_F, model.orientation_smoothing),
        features=len(features),
        lm=work.lm,
        matches=matches,
        events=collect_events(matches),
        target=EncodedText.encode(work.training_tokens("target"), work.lm.vocabulary),
        heldout_every=heldout_every,
        alternatives=model.alternatives,
    )
    sizes = instances.write(folder)
    return {**{name.replace(".", "_"): size for name, size in sizes.items()}, "features": len(features)}
