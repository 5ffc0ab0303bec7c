"""The hierarchical model of a work directory, and its decoder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from xlate.config.model_schema import ModelConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.run_weights import made_with, weights_of, weights_path
from xlate.jobs.systems.kind import Asked, Kind, Saved, ToTune
from xlate.jobs.systems.listed import ListedModel
from xlate.jobs.systems.rule_stage import TABLE, rule_stage
from xlate.models.hierarchical.decoder import HierarchicalDecoder, HierarchicalModel, RuleSearch
from xlate.models.hierarchical.model import COLUMNS, SIZE
from xlate.models.hierarchical.tuned import TunedRules
from xlate.models.system import AnySystem
from xlate.phrases.rule_extraction import RuleSettings
from xlate.phrases.rules import RuleTable
from xlate.scoring.weights import Weights, WeightsFile

KIND = "hierarchical"


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
        model = hierarchical_model(work, config.model)
        return self.decoder(model, weights.sets[KIND], config.decoder, asked)

    def decoder(
        self, model: HierarchicalModel, weights: Weights, settings: DecoderConfig, asked: Asked
    ) -> HierarchicalDecoder:
        """The decoder of a model under weights.

        Raises:
            InputError: the weights are not those of a hierarchical model.
        """
        if weights.dense_names != COLUMNS:
            seen, expected = " ".join(weights.dense_names), " ".join(COLUMNS)
            raise InputError("not the weights of a hierarchical model", seen=seen, expected=expected)
        return HierarchicalDecoder(
            model, np.asarray(weights.dense_D, dtype=np.float64), self.search(settings, asked), asked.fast
        )

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

    def saved(self, system: AnySystem, file: WeightsFile) -> Saved:
        """The one set."""
        return Saved({KIND: system.weights}, {}, file.extra)

    def check_base(self, config: TrainConfig, base: Path) -> None:
        """It must be a hierarchical model of the same rules."""
        trained = config_of_run(base)
        if trained.model.kind != KIND or asdict(trained.model) != asdict(config.model):
            raise InputError(
                "the base run has another model",
                file=base,
                seen=f"model={trained.model.name}, or other settings of it",
                remedy="give both the same model settings",
            )
        weights_path(base)

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """The float weights."""
        assert config.loss.tune is not None
        model = hierarchical_model(work, config.model)
        decoder = HierarchicalDecoder(model, np.zeros(SIZE), self.search(config.decoder))
        tuned = TunedRules(decoder, config.loss.tune.processes)
        start = tuned.uniform
        if config.loss.tune.start == "base":
            start = weights_of(Path(str(config.base))).sets[KIND]
        of_work = {"work": config.work, "work_identity": work.identity if work else None}
        return ToTune(
            tuned, start, lambda weights: Saved({KIND: weights}, {}, {}), {**of_work, **made_with(config.model)}
        )

    def check_lists(self, config: TrainConfig) -> None:  # noqa: ARG002
        """There are no sparse features that lists of the training text could be learned with."""
        _refuse_lists()

    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path) -> ListedModel:  # noqa: ARG002
        """Raises InputError."""
        _refuse_lists()
        raise AssertionError


def _refuse_lists() -> None:
    raise InputError(
        "the hierarchical model learns no sparse features from lists of the training text",
        seen="loss=xbleu",
        expected="loss=mira or another tuner",
    )


def hierarchical_model(work: WorkDirectory | None, settings: ModelConfig) -> HierarchicalModel:
    """The rules and the language model of a work directory; rules are extracted when they are not there.

    Raises:
        InputError: there is no work directory, or settings are out of range.
    """
    if work is None:
        raise InputError("a run without work directory", seen="work=''", expected=f"that of model={settings.name}")
    stage = rule_stage(work, RuleSettings(**asdict(settings.rules)))
    table = RuleTable.load(stage.folder / TABLE, work.words)
    return HierarchicalModel(table, work.source_vocabulary, work.target_vocabulary, work.lm)
