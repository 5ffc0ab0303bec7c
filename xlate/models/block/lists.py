"""What models over blocks learn from: n-best lists as arrays, stores of candidates, systems of folds.

Lists have floats, words, and pairs of neighbouring blocks. Pairs do not depend on families, so a text is decoded once
for all of them. Derivations are the readable form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import AnyArray, Bools, Ints, Ints32, Uints
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.block_instances import STORES, BlockInstances, write_stores
from xlate.candidates.lists import Draw, decoded, of_no_steps, with_ids, with_steps
from xlate.candidates.store import CandidateStore
from xlate.config.model_schema import EventModelConfig
from xlate.config.schema import TrainConfig
from xlate.features.block import BigramIndex, more_floats
from xlate.kernels.search.best_paths import Paths
from xlate.models.block.decoder import AnyBlockSystem, blocks_before, path_graph
from xlate.models.block.kind import KEYS, EventKind, frequent_features, with_features
from xlate.models.block.moves import NO_BLOCK
from xlate.models.kind import FoldSystem, ListedModel, ToTune, event_kind, made_of
from xlate.models.run_files import weights_of
from xlate.models.system import AnySystem
from xlate.models.tuned import TunedCosts, TunedSystem, found_paths
from xlate.phrases.matching import Matches, TableRows, collect_events, match_blocks
from xlate.progress import track
from xlate.scoring.weights import Weights
from xlate.search.beam import ended
from xlate.search.settings import DecoderSettings
from xlate.text.vocabulary import EncodedText
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates, Folds, WithoutFold, estimates_of, part_of
from xlate.work.stages import identity_of, run_stage

DEV_STORES = ("linked.dev", "neutral.dev")
NO_KEYS: Uints = np.zeros(0, np.uint64)


def with_units(
    decoder: AnyBlockSystem, words: Sequence[str], draw: Draw | None = None, used_D: Bools | None = None
) -> CandidateBatch:
    """The n-best list of a sentence, or drawn derivations; units are pairs of a block and the one before.

    A float that is not among `used_D` (by default, one without weight) is 0.

    Raises:
        InputError: a sentence without words, or of more than the search can number.
    """
    space, (offsets_N1, labels_L), draws_C = found_paths(decoder, words, draw)
    paths = ended(Paths(offsets_N1, labels_L))
    label_A, first_N = paths.labels_L, paths.offsets_N1[:-1]
    floats_AD = decoder.step_floats(space, path_graph(paths), label_A)
    floats_CD = np.add.reduceat(floats_AD, first_N, axis=0) if len(draws_C) else floats_AD[:0]
    block_A = decoder.blocks_of(space, label_A)
    before_A = np.where(decoder.asks(label_A), blocks_before(block_A, paths), NO_BLOCK)
    parts_K, unit_PU = _units(np.stack([before_A, block_A], axis=1)[label_A >= 0])
    text = space.texts(labels_L)
    used_D = decoder.weights.dense_D != 0 if used_D is None else used_D
    found = decoded(np.where(used_D, floats_CD, 0.0), EncodedText(text.ids_T, text.offsets_S1[offsets_N1]))
    return with_steps(replace(found, draws_C=draws_C), offsets_N1, parts_K, units=unit_PU)


def _units(pairs_L2: Ints32) -> tuple[Ints32, Ints32]:
    """The steps of all paths as numbers of distinct units, (L,), and those as (block before, block), (P, 2)."""
    keys_L = (pairs_L2[:, 0].astype(np.int64) << 32) + pairs_L2[:, 1]
    _, first_P, parts_L = np.unique(keys_L, return_index=True, return_inverse=True)
    return parts_L.reshape(-1).astype(np.int32), pairs_L2[first_P]


@dataclass(frozen=True)
class TunedBlocks(TunedCosts):
    """A system over blocks whose binary features are tuned too; lists have neighbouring blocks as parts."""

    @property
    def trained_D(self) -> Bools:
        """The floats that the system has a weight for, and those that may begin at 0."""
        return super().trained_D[:-1]

    @property
    def uniform(self) -> Weights:
        """Equal weights for all floats, and the binary weights that the system has."""
        held, used_D = self.trained, self.trained_D
        dense_D = np.where(used_D, -1.0 / max(int(used_D.sum()), 1), 0.0)
        return Weights(dense_D, held.sparse_F, held.dense_names)

    @property
    def trained(self) -> Weights:
        held: Weights = self.system.weights
        return held

    # There is no sum of sparse features whose weight would scale theirs.
    weighted = TunedSystem.weighted

    def listing(self, weights: Weights, decoder: AnyBlockSystem, words: Sequence[str]) -> CandidateBatch:  # noqa: ARG002
        """With the ids of the binary features of each step; unused floats are 0."""
        used_D = self.trained_D
        if not words:
            return of_no_steps(len(used_D))
        found = with_ids(with_units(decoder, words, used_D=used_D), decoder.features)
        return replace(found, draws_C=None)


@dataclass(frozen=True)
class BlockStores:
    """The stores by name, and their features.

    `linked` and `neutral` are of the training text, `….heldout` of its held-out sentences, `….dev` of the dev set and
    its references, if there is one.
    """

    stores: dict[str, CandidateStore]
    features: BigramIndex
    identity: str


def block_stores(work: WorkDirectory, model: EventModelConfig) -> BlockStores:
    """Opens the stores of a model's settings, and makes them first if they do not exist.

    They hold all floats of the model's kind, the optional ones it names, and the features of its binary families that
    are above its threshold; it does not matter which of the kind's own floats are trained.
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
        **event_kind(model).identity_settings(whole, model),
        "on": [whole.identity, folds.identity],
        "version": 3,
    }
    if more := more_floats(model.floats):
        settings["more_floats"] = list(more)
    features = frequent_features(work, model)
    name = f"candidates/{identity_of(settings)[:12]}"
    stage = run_stage(work.path, name, settings, lambda folder: _write(work, model, features, folds, folder))
    names = [*STORES, *(DEV_STORES if stage.figures.get("dev") else ())]
    stores = {name: CandidateStore.open(stage.folder / name) for name in names}
    return BlockStores(stores, features, stage.identity)


def _write(
    work: WorkDirectory, model: EventModelConfig, features: BigramIndex, folds: Folds, folder: Path
) -> dict[str, Any]:
    kind, target = event_kind(model), work.training_tokens("target")

    def instances(
        estimates: Estimates, matches: Matches, target: Sequence[list[str]], heldout_S: Bools
    ) -> BlockInstances:
        return BlockInstances(
            blocks=kind.model(estimates, model, features.keys_F).feature_arrays,
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
    pairs = list(_dev_pairs(work))
    if pairs:
        source, references = map(list, zip(*pairs, strict=True))
        sides = (source, work.source_vocabulary), (references, work.target_vocabulary)
        matches = match_blocks(work.blocks.table, *(EncodedText.encode(*side) for side in sides))
        part = instances(Estimates(work), matches, references, np.zeros(len(pairs), bool))
        sizes |= write_stores(folder, [part], DEV_STORES)
    figures = {name.replace(".", "_"): size for name, size in sizes.items()}
    return {**figures, "features": len(features), "dev": bool(pairs)}


def _dev_pairs(work: WorkDirectory) -> Iterator[tuple[list[str], list[str]]]:
    """The dev source paired with each of its references in turn, tokenised; pairs with an empty side become empty."""
    if work.has_split("dev"):
        source = [work.source_tokens(line) for line in work.source_lines("dev")]
        for reference in work.references("dev"):
            for pair in zip(source, map(work.target_tokens, reference), strict=True):
                yield pair if all(pair) else ([], [])


class BlockLists(ListedModel):
    """The block bigrams of a work directory, the float weights of a run, and systems that have not seen a fold.

    Such a system is made from the estimates that the fold's events are made with. Blocks are numbered as in the whole
    text, so features need no translation. Binary weights that the run may have are ignored.

    Raises:
        InputError: the run has no weights, or is of another model.
    """

    def __init__(self, kind: EventKind, config: TrainConfig, work: WorkDirectory, base: Path, folds: int) -> None:
        self.kind, self.config, self.work = kind, config, work
        self.file, self.count = weights_of(base), folds

    @cached_property
    def folds(self) -> Folds:
        """The folds, which are those of events if there are equally many."""
        return Folds.of_events(self.work, self.count)

    @cached_property
    def theta(self) -> Weights:
        """The float weights of the run."""
        return self._whole(NO_KEYS).weights

    @cached_property
    def features(self) -> BigramIndex:
        """All bigrams of the whole text above the threshold."""
        return frequent_features(self.work, self.config.model)

    @property
    def fold_I(self) -> Ints:
        """The fold of each sentence pair."""
        return self.folds.fold_S

    @cached_property
    def identity(self) -> str:
        """The text, its folds, and what floats depend on."""
        whole = Estimates(self.work)
        made = {"kind": self.kind.name, **self.kind.identity_settings(whole, self.config.model)}
        return identity_of({**made, "on": [whole.identity, self.folds.identity], "version": 1})

    def opened(self, fold: int, weights: Weights, sparse: Any, search: DecoderSettings) -> FoldSystem:
        """The system without a fold."""
        keys_F = NO_KEYS if sparse is None else sparse.keys_F
        decoder = self._system(WithoutFold(self.work, self.folds, fold, self.rows), keys_F, search)
        held = weights.sparse_F if len(keys_F) else np.zeros(0)
        return FoldSystem(decoder.with_weights(replace(weights, sparse_F=held)), with_units, weights.dense_names)

    @cached_property
    def rows(self) -> TableRows:
        """Finds the blocks of a fold in the table of the whole text."""
        return TableRows(self.work.blocks.table)

    def weighted(self, theta: Weights, phi_F: AnyArray) -> Weights:
        """Both together."""
        return replace(theta, sparse_F=phi_F.astype(np.float64))

    def to_tune(self, theta: Weights, phi_F: AnyArray) -> ToTune:
        """The floats that a run of the model tunes, and the scale of the learned weights."""
        system = self._whole(self.features.keys_F).with_weights(self.weighted(theta, phi_F))
        tuned = self.kind.tuned(system, self.config.model, self.config.tune.processes)
        extra = {KEYS: self.features.keys_F}
        file = replace(self.file, extra=extra)
        metadata = {**self.file.metadata, **made_of(self.config, self.work)}
        return ToTune(tuned, tuned.trained, lambda weights: self.kind.saved(tuned.weighted(weights), file), metadata)

    def _whole(self, keys_F: Uints) -> AnySystem:
        return self._system(Estimates(self.work), keys_F, self.config.decoder)

    def _system(self, estimates: Estimates, keys_F: Uints, search: DecoderSettings) -> AnySystem:
        file = with_features(self.file, keys_F, learned=False)
        return self.kind.system(estimates, file, self.config.model, search)
