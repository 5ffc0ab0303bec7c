"""The hierarchical model of a work directory, and its decoder."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Ints32
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.config.source_schema import ONLINE
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.features.index import FeatureIndex
from xlate.features.structure import StructureFeatures
from xlate.jobs.run_weights import made_with, weights_of, weights_path
from xlate.jobs.systems.kind import Asked, Kind
from xlate.jobs.systems.listed import ListedModel
from xlate.jobs.systems.rule_stage import TABLE, rule_stage
from xlate.jobs.systems.same_model import check_model_of_base
from xlate.jobs.systems.to_tune import Saved, ToTune
from xlate.jobs.train.sparse_models import structure_features
from xlate.models.hierarchical.decoder import HierarchicalDecoder, HierarchicalModel, RuleSearch
from xlate.models.hierarchical.model import COLUMNS
from xlate.models.hierarchical.tuned import TunedRules
from xlate.models.system import AnySystem
from xlate.models.tuned import TunedSystem
from xlate.phrases.rule_extraction import RuleSettings
from xlate.phrases.table import RuleTable
from xlate.scoring.weights import Weights, WeightsFile
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import WithoutFold

KIND = "hierarchical"
# What the structure features are, in a weights file.
FEATURES = f"{KIND}.features"


class Hierarchical(Kind):
    """Rules in target normal form, translated from left to right."""

    name = KIND

    def open(
        self,
        run: Path,  # noqa: ARG002
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,
        asked: Asked,
    ) -> HierarchicalDecoder:
        """The decoder of a run's weights over the rules of its work directory."""
        model = hierarchical_model(work, config.model, weights.extra.get(FEATURES))
        return self.decoder(model, weights.sets[KIND], config.decoder, asked)

    def decoder(
        self, model: HierarchicalModel, weights: Weights, settings: DecoderConfig, asked: Asked
    ) -> HierarchicalDecoder:
        """The decoder of a model under weights.

        Raises:
            InputError: the weights are not those of a hierarchical model.
        """
        known = 0 if model.structure is None else len(model.structure)
        if weights.dense_names != model.columns or len(weights.sparse_F) != known:
            seen = f"{' '.join(weights.dense_names)} and {len(weights.sparse_F)} sparse weights"
            expected = f"{' '.join(model.columns)} and {known} sparse weights"
            raise InputError("not the weights of a hierarchical model", seen=seen, expected=expected)
        dense_D, sparse_F = (np.asarray(w, dtype=np.float64) for w in (weights.dense_D, weights.sparse_F))
        return HierarchicalDecoder(model, dense_D, self.search(settings, asked), asked.fast, sparse_F)

    def search(self, settings: DecoderConfig, asked: Asked = Asked()) -> RuleSearch:  # noqa: B008
        """The settings that concern this decoder."""
        return RuleSearch(
            algorithm=settings.algorithm,
            beam=settings.stack,
            threshold=settings.threshold,
            pop_limit=settings.pop_limit,
            options=settings.options,
            max_span=settings.max_span,
            future_cost=settings.future_cost,
            max_words=settings.max_words,
            nbest=asked.nbest,
            distinct=asked.distinct,
        )

    def saved(self, system: AnySystem, file: WeightsFile) -> Saved:  # noqa: ARG002
        """The one set."""
        return saved_rules(system.weights, system.features)

    def check_base(self, config: TrainConfig, base: Path) -> None:
        """It must be a hierarchical model of the same rules."""
        check_model_of_base(config, base, free=("structure",))
        weights_path(base)

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """The float weights."""
        assert config.loss.tune is not None
        if config.model.structure is not None and config.loss.name != ONLINE:
            return self._floats_to_tune(config, work)
        from_base = config.loss.tune.start == "base"
        learned = _same_features(config) if from_base else None
        model = hierarchical_model(work, config.model, None if learned is None else learned.extra[FEATURES])
        decoder = HierarchicalDecoder(model, np.zeros(model.size), self.search(config.decoder))
        tuned = TunedRules(decoder, config.loss.tune.processes, tunes_sparse=model.structure is not None)
        start = tuned.uniform
        if learned is not None:
            start = with_sum_in(learned.sets[KIND])
        elif from_base:
            start = with_sum(weights_of(Path(str(config.base))).sets[KIND], model)
        return ToTune(tuned, start, lambda weights: saved_rules(weights, model.structure), _metadata(config, work))

    def without_fold(self, config: TrainConfig, whole: TunedSystem, without: WithoutFold) -> TunedRules:
        """Rules and language model of the other folds, with the structure features of the whole text."""
        assert isinstance(whole, TunedRules)
        model, settings = whole.decoder.model, RuleSettings(**asdict(config.model.rules))
        stage = rule_stage(without.work, settings, without)
        table = RuleTable.load(stage.folder / TABLE, without.work.words)
        model = replace(model, table=table, lm=without.lm)
        return replace(whole, decoder=whole.decoder.changed(model=model))

    def _floats_to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """The float weights of a run that has structure features, the sum of these among them as one more float."""
        assert config.loss.tune is not None
        file = _same_features(config)
        if file is None:
            raise InputError(
                "structure features are numbered when they are met, which only online training does",
                file=None if config.base is None else Path(config.base),
                seen=f"structure=… and loss={config.loss.name}, and no base run with the same features",
                expected="source=online, structure=none, or base=RUN that has learned them",
            )
        model, held = hierarchical_model(work, config.model, file.extra[FEATURES]), file.sets[KIND]
        tuned = TunedRules(self.decoder(model, held, config.decoder, Asked()), config.loss.tune.processes)
        start = replace(held, sparse_F=np.zeros(0)) if config.loss.tune.start == "base" else tuned.uniform

        def saved(weights: Weights) -> Saved:
            return saved_rules(replace(weights, sparse_F=held.sparse_F.astype(np.float64)), model.structure)

        return ToTune(tuned, start, saved, _metadata(config, work))

    def check_lists(self, config: TrainConfig) -> None:  # noqa: ARG002
        """There are no sparse features that lists of the training text could be learned with."""
        _refuse_lists()

    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path) -> ListedModel:  # noqa: ARG002
        """Raises InputError."""
        _refuse_lists()
        raise AssertionError


def _same_features(config: TrainConfig) -> WeightsFile | None:
    """The weights of the base run if it has learned the structure features that are asked for, else None."""
    base, asked = config.base, config.model.structure
    trained = None if base is None else config_of_run(Path(base)).model.structure
    if base is None or asked is None or trained is None or asdict(trained) != asdict(asked):
        return None
    return weights_of(Path(base))


def _metadata(config: TrainConfig, work: WorkDirectory | None) -> dict[str, Any]:
    """What a weights file says of the work directory and the model."""
    return {"work": config.work, "work_identity": work.identity if work else None, **made_with(config.model)}


def _refuse_lists() -> None:
    raise InputError(
        "the hierarchical model learns no sparse features from lists of the training text",
        seen="loss=xbleu",
        expected="loss=mira or another tuner",
    )


def with_sum(weights: Weights, model: HierarchicalModel) -> Weights:
    """Float weights, perhaps of a model without structure features, and 1 for the sum of these, none of them met yet.

    Raises:
        InputError: they are of another model, or have sparse weights already.
    """
    if weights.dense_names[: len(COLUMNS)] != COLUMNS or len(weights.sparse_F):
        seen = f"{' '.join(weights.dense_names)} and {len(weights.sparse_F)} sparse weights"
        raise InputError("the base run cannot be trained on", seen=seen, expected=" ".join(COLUMNS))
    dense_D = np.ones(model.size)
    dense_D[: len(COLUMNS)] = weights.dense_D[: len(COLUMNS)]
    return Weights(dense_D, np.zeros(0), model.columns)


def with_sum_in(weights: Weights) -> Weights:
    """The same model with 1 for the sum of structure features, whose tuned weight goes into their own weights."""
    dense_D = weights.dense_D.copy()
    dense_D[-1] = 1.0
    return replace(weights, dense_D=dense_D, sparse_F=weights.dense_D[-1] * weights.sparse_F.astype(np.float64))


def saved_rules(weights: Weights, features: FeatureIndex | None) -> Saved:
    """Weights as they are written: of the structure features those that have one."""
    if not isinstance(features, StructureFeatures):
        return Saved({KIND: weights}, {}, {})
    sparse_F = features.padded(weights.sparse_F)
    used = np.flatnonzero(sparse_F)
    # Families one behind the other, as readers of weights expect.
    used = used[np.argsort(features.described[used, 0], kind="stable")]
    kept = features.kept(used)
    single = replace(weights, sparse_F=sparse_F[used]).single()
    return Saved({KIND: single}, {KIND: kept}, {FEATURES: kept.described.copy()})


def hierarchical_model(
    work: WorkDirectory | None, settings: ModelConfig, described_F7: Ints32 | None = None
) -> HierarchicalModel:
    """The rules and the language model of a work directory; rules are extracted when they are not there.

    With structure features those that `described_F7` describes are known from the start.

    Raises:
        InputError: there is no work directory, or settings are out of range.
    """
    if work is None:
        raise InputError("a run without work directory", seen="work=''", expected=f"that of model={settings.name}")
    stage = rule_stage(work, RuleSettings(**asdict(settings.rules)))
    table = RuleTable.load(stage.folder / TABLE, work.words)
    model = HierarchicalModel(table, work.source_vocabulary, work.target_vocabulary, work.lm)
    if settings.structure is None:
        return model
    features = structure_features(work, settings.structure)
    if described_F7 is not None:
        features = StructureFeatures(features.templates, described_F7)
    return replace(model, structure=features)
