"""Lists of the training text for the models over blocks: systems of folds, and binary weights learned from lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import AnyArray, Ints, Uints
from xlate.candidates.batch import CandidateBatch
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.errors import InputError
from xlate.features.bigrams import BigramIndex
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.systems.blocks.base import check_floats_of_base, check_sums, frequent_features
from xlate.jobs.systems.blocks.event_kind import EventKind
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.listed import FoldSystem, ListedModel
from xlate.jobs.systems.to_tune import ToTune
from xlate.models.block.lists import with_units
from xlate.models.system import AnySystem
from xlate.phrases.matching import TableRows
from xlate.scoring.weights import Weights, WeightsFile
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates, Folds, WithoutFold
from xlate.work.stages import identity_of


@dataclass(frozen=True)
class BlockFolds:
    """Systems over blocks that have not seen a fold: the estimates that events of a fold are made with.

    Blocks have the numbers that they have in the whole text, so features need no translation.
    """

    kind: EventKind
    work: WorkDirectory
    model: ModelConfig
    count: int
    file: WeightsFile

    @cached_property
    def folds(self) -> Folds:
        """The folds, which are those of events when there are as many."""
        return Folds.of_events(self.work, self.count)

    @property
    def fold_I(self) -> Ints:
        """The fold of each sentence pair."""
        return self.folds.fold_S

    @cached_property
    def identity(self) -> str:
        """The text, its folds, and what floats depend on."""
        whole = Estimates(self.work)
        made = {"kind": self.kind.name, **self.kind.identity_settings(whole, self.model)}
        return identity_of({**made, "on": [whole.identity, self.folds.identity], "version": 1})

    def estimates(self, fold: int) -> WithoutFold:
        """What a fold's system is made of."""
        return WithoutFold(self.work, self.folds, fold, self._rows)

    def opened(self, fold: int, weights: Weights, sparse: Any, search: DecoderConfig, nbest: int) -> FoldSystem:
        """The system without a fold."""
        keys_F = np.zeros(0, dtype=np.uint64) if sparse is None else sparse.keys_F
        asked = Asked(nbest)
        decoder = system_of(self.kind, self.estimates(fold), self.model, self.file, keys_F, search, asked)
        held = weights.sparse_F if len(keys_F) else np.zeros(0)
        return FoldSystem(decoder.with_weights(replace(weights, sparse_F=held)), with_units, weights.dense_names, _same)

    def discard(self, fold: int) -> None:
        """Leaves everything: events are made with it, too."""

    @cached_property
    def _rows(self) -> TableRows:
        return TableRows(self.work.blocks.table)


class BlockLists(ListedModel):
    """The block bigrams of a work directory, and the float weights of a run.

    Binary weights that the run may have are left aside.

    Raises:
        InputError: the run has no weights, or is of another model or work directory.
    """

    def __init__(self, kind: EventKind, config: TrainConfig, work: WorkDirectory, base: Path) -> None:
        self.kind, self.config, self.work = kind, config, work
        self.file = weights_of(base)
        if self.file.metadata.get("work_identity") != work.identity:
            raise InputError(
                "the base run was trained on another work directory",
                file=base,
                seen=self.file.metadata.get("work"),
                expected=str(work.path),
                remedy="train the float weights on this work directory",
            )
        self.theta = self._whole(np.zeros(0, dtype=np.uint64)).weights

    @cached_property
    def features(self) -> BigramIndex:
        """All bigrams of the whole text above the threshold."""
        return frequent_features(self.work, self.config.model)

    def folds(self, count: int) -> BlockFolds:
        """The systems of so many folds."""
        return BlockFolds(self.kind, self.work, self.config.model, count, self.file)

    def weighted(self, theta: Weights, phi_F: AnyArray) -> Weights:
        """Both together."""
        return replace(theta, sparse_F=phi_F.astype(np.float64))

    def to_tune(self, theta: Weights, phi_F: AnyArray) -> ToTune:
        """The floats that a run of the model tunes, and the scale of the learned weights."""
        assert self.config.loss.tune is not None
        system = self._whole(self.features.keys_F).with_weights(self.weighted(theta, phi_F))
        tuned = self.kind.tuned(system, self.config.model, self.config.loss.tune.processes)
        extra = {f"{self.kind.sets[0]}.keys": self.features.keys_F}
        file = replace(self.file, extra=extra)
        of_work = {"work": str(self.config.work), "work_identity": self.work.identity}
        metadata = {**self.file.metadata, **of_work, **made_with(self.config.model)}
        return ToTune(tuned, tuned.trained, lambda weights: self.kind.saved(tuned.weighted(weights), file), metadata)

    def _whole(self, keys_F: Uints) -> AnySystem:
        estimates, config = Estimates(self.work), self.config
        return system_of(self.kind, estimates, config.model, self.file, keys_F, config.decoder, Asked())


def system_of(
    kind: EventKind,
    estimates: Estimates,
    model: ModelConfig,
    file: WeightsFile,
    keys_F: Uints,
    search: DecoderConfig,
    asked: Asked,
) -> AnySystem:
    """A system of some estimates under the floats of a file, with features whose weights are 0."""
    first = kind.sets[0]
    sets = {**file.sets, first: replace(file.sets[first], sparse_F=np.zeros(len(keys_F)))}
    given = replace(file, sets=sets, extra={f"{first}.keys": keys_F})
    return kind.decoder(kind.model(estimates, given, model), search, asked)


def check_block_lists(config: TrainConfig) -> None:
    """Looks whether binary weights can be learned from lists, before anything is written.

    Raises:
        InputError: no binary features, a partition, or no base run with the floats of the model.
    """
    if not config.model.binary:
        raise InputError("no binary features to train", seen="model.binary=[]", expected="model.binary=[BB] or another")
    check_sums(config)
    if config.base is None:
        raise InputError(
            "no run to take float weights from",
            seen="base is not set",
            expected="base=RUN of the same model",
            remedy=f"train one first: xlate train model={config.model.name} model.binary=[] run=RUN",
        )
    check_floats_of_base(config, Path(config.base))


def _same(lists: CandidateBatch) -> CandidateBatch:
    """Blocks of a fold have the numbers of the whole text."""
    return lists
