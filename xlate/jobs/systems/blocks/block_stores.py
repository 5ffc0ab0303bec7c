"""The candidate stores of a block model, made once for each work directory and feature settings."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.block_instances import STORES, BlockInstances, write_stores
from xlate.candidates.store import CandidateStore
from xlate.config.model_schema import ModelConfig
from xlate.features.bigrams import BigramIndex, BlockNames
from xlate.features.block import more_floats
from xlate.jobs.systems.registry import event_kind
from xlate.phrases.matching import Matches, collect_events, match_blocks
from xlate.progress import track
from xlate.text.encoded import EncodedText
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates, Folds, estimates_of, part_of
from xlate.work.stages import Stage, identity_of, run_stage

log = logging.getLogger(__name__)
DEV_STORES = ("linked.dev", "neutral.dev")


@dataclass(frozen=True)
class BlockStores:
    """The stores by name and the features they speak of.

    `linked` and `neutral` are of the training text, `….heldout` of its held-out sentences, `….dev` of the dev set and
    its references, when there is one.
    """

    stores: dict[str, CandidateStore]
    features: BigramIndex
    identity: str


def block_stores(work: WorkDirectory, model: ModelConfig) -> BlockStores:
    """Opens the stores of a model's settings, making them first when they are not there.

    They hold all floats of the model's kind, the optional ones it names, and those of its binary families that stand
    above its threshold; which of the kind's own floats are trained does not matter to them.
    """
    folds = Folds.of_events(work, model.folds)
    whole = Estimates(work)
    settings: dict[str, Any] = {
        "threshold": model.threshold if model.binary else None,
        "families": sorted(model.binary),
        "alternatives": model.alternatives,
        "listed_only": model.listed_only,
        "by_span": model.by_span,
        "by_target": model.by_target,
        "kind": model.kind,
        **event_kind(model.kind).identity_settings(whole, model),
        "on": [whole.identity, folds.identity],
        "version": 3,
    }
    if more := more_floats(model.floats):
        settings["more_floats"] = list(more)
    words = BlockNames(work.blocks, work.source_vocabulary, work.target_vocabulary)
    features = BigramIndex.frequent(words, model.binary, model.threshold)
    name = f"candidates/{identity_of(settings)[:12]}"
    stage = run_stage(work.path, name, settings, lambda folder: _write(work, model, features, folds, folder))
    return BlockStores(_open(stage), features, stage.identity)


def _open(stage: Stage) -> dict[str, CandidateStore]:
    names = [*STORES, *(DEV_STORES if stage.figures.get("dev") else ())]
    return {name: CandidateStore.open(stage.folder / name) for name in names}


def _write(
    work: WorkDirectory, model: ModelConfig, features: BigramIndex, folds: Folds, folder: Path
) -> dict[str, Any]:
    kind, target = event_kind(model.kind), work.training_tokens("target")

    def instances(estimates: Estimates, matches: Matches, target: list[list[str]], heldout_S: Bools) -> BlockInstances:
        return BlockInstances(
            blocks=kind.feature_arrays(estimates, model, features.keys_F),
            features=len(features),
            lm=estimates.lm,
            matches=matches,
            events=collect_events(matches),
            target=EncodedText.encode(target, estimates.lm.vocabulary),
            heldout_S=heldout_S,
            alternatives=model.alternatives,
            listed_only=model.listed_only,
            by_span=model.by_span,
            by_target=model.by_target,
            dense_names=kind.names(model),
        )

    def parts() -> Iterator[BlockInstances]:
        made = estimates_of(work, folds)
        for fold in track(folds.numbers, "candidates: folds"):
            estimates = made.pop(fold)
            matches = part_of(work.matches, folds.fold_S == fold, estimates.blocks.known_B)
            yield instances(estimates, matches, target, folds.heldout_S)

    sizes = write_stores(folder, parts())
    source, references = _dev_pairs(work)
    if source:
        encoded = (
            EncodedText.encode(source, work.source_vocabulary),
            EncodedText.encode(references, work.target_vocabulary),
        )
        nothing_S = np.zeros(len(source), dtype=bool)
        part = instances(Estimates(work), match_blocks(work.blocks.table, *encoded), references, nothing_S)
        sizes |= write_stores(folder, [part], DEV_STORES)
    figures = {name.replace(".", "_"): size for name, size in sizes.items()}
    return {**figures, "features": len(features), "dev": bool(source)}


def _dev_pairs(work: WorkDirectory) -> tuple[list[list[str]], list[list[str]]]:
    """The dev source beside each of its references in turn, tokenised; pairs with an empty side become empty."""
    if not work.has_split("dev"):
        return [], []
    lines = [work.source_tokens(line) for line in work.source_lines("dev")]
    source, target = [], []
    for reference in work.references("dev"):
        for left, line in zip(lines, reference, strict=True):
            right = work.target_tokens(line)
            usable = bool(left and right)
            source.append(left if usable else [])
            target.append(right if usable else [])
    return source, target
