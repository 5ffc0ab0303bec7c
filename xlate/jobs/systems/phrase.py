"""The phrase-based model of a work directory or of an imported system, and its decoder.

What only training needs is imported where it is used, so that translating a line does not wait for it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from xlate.config.model_schema import ModelConfig, PhraseModelConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.errors import InputError
from xlate.jobs.run_places import located_config
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.systems.kind import Asked, Kind
from xlate.jobs.systems.phrase_models import (
    KIND,
    check_words_of_base,
    open_phrase_model,
    phrase_base,
    phrase_decoder,
    phrase_search,
    unweighted_decoder,
)
from xlate.jobs.systems.phrase_stage import MODEL, REORDERINGS
from xlate.jobs.systems.predictions import (
    check_folds,
    check_predicted_by,
    check_same_use,
    check_use,
    predicted_by,
)
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.settings import PhraseSearch
from xlate.models.system import AnySystem
from xlate.scoring.weights import Weights, WeightsFile
from xlate.work.directory import WorkDirectory

if TYPE_CHECKING:
    from xlate.jobs.systems.phrase_lists import PhraseLists
    from xlate.jobs.systems.to_tune import Saved, ToTune

__all__ = ["KIND", "MODEL", "REORDERINGS", "SET", "Phrase", "open_phrase_model"]
SET = KIND


class Phrase(Kind):
    """The phrase-based model with Moses's features."""

    name = KIND

    def open(
        self,
        run: Path,
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,  # noqa: ARG002
        asked: Asked,
    ) -> PhraseDecoder:
        """The decoder of the run's own model, or that of its base or work directory."""
        check_predicted_by(config.model.context, weights)
        model = open_phrase_model(run, config)
        return phrase_decoder(model, weights.fitting(SET, model.sparse, run), config.decoder, asked)

    def search(self, settings: DecoderConfig, asked: Asked = Asked()) -> PhraseSearch:  # noqa: B008
        """The settings that concern this decoder."""
        return phrase_search(settings, asked)

    def saved(self, system: AnySystem, file: WeightsFile) -> Saved:
        """The one set."""
        from xlate.jobs.systems.to_tune import Saved

        weights, index = system.weights, system.features
        return Saved({SET: weights.single()}, {} if index is None else {SET: index}, file.extra)

    def check(self, model: ModelConfig) -> None:
        """Sparse reordering features must have the stack that they look at; a classifier must be trained."""
        from xlate.jobs.train.sparse_models import check_orientations

        check_orientations(model)
        check_use(model.context)

    def check_base(self, config: TrainConfig, base: Path) -> None:
        """It must be a phrase model; with sparse features, one that has the words they are about."""
        assert config.loss.tune is not None
        phrase_base(base, weighted=config.loss.tune.start == "base")
        if config.model.sparse is not None:
            check_words_of_base(config, config.model.sparse)

    def based(self, config: TrainConfig) -> TrainConfig:
        """The work directory of the base, which an imported system does not have, and its reordering model."""
        if config.base is None:
            return config
        base = located_config(Path(config.base))
        model = cast(PhraseModelConfig, config.model)
        return replace(config, work=base.work, model=replace(model, reordering=base.model.reordering))

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """All dense weights, and those of sparse features, if there are any."""
        from xlate.jobs.systems.context import with_predictions
        from xlate.jobs.systems.to_tune import Saved, ToTune
        from xlate.models.phrase.tuned import TunedPhrases, with_sums

        assert config.loss.tune is not None
        if config.base is not None and config.model.sparse is None:
            model = open_phrase_model(Path(config.base), located_config(Path(config.base)))
            model = with_predictions(model, config.model.context, Path(config.work))
        else:
            model = open_phrase_model(Path("."), config)
        sparse = model.sparse
        tuned = TunedPhrases(
            unweighted_decoder(model, config.decoder), config.loss.tune.processes, tunes_sparse=sparse is not None
        )
        start = tuned.uniform
        if config.loss.tune.start == "base":
            start = weights_of(Path(str(config.base))).sets[SET]
            start = with_sums(start, model)
            if sparse is not None:
                start = replace(start, sparse_F=np.zeros(len(sparse)))

        def saved(weights: Weights) -> Saved:
            return (
                Saved({SET: weights}, {}, {}) if sparse is None else Saved({SET: weights.single()}, {SET: sparse}, {})
            )

        of_work = {"work": config.work, "work_identity": work.identity if work else None}
        more = {**made_with(config.model), **predicted_by(config.model.context)}
        return ToTune(tuned, start, saved, {**of_work, **more})

    def check_lists(self, config: TrainConfig) -> None:
        """There must be sparse features, and classifiers of folds; a base must be a phrase model with weights."""
        if config.model.sparse is None:
            raise InputError(
                "no sparse features to train", seen="sparse=none", expected="sparse=local, full or another"
            )
        check_folds(config.model.context)
        if config.base is not None:
            phrase_base(Path(config.base))
            check_same_use(config.model.context, Path(config.base))

    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path) -> PhraseLists:
        """The sparse features."""
        from xlate.jobs.systems.phrase_lists import PhraseLists

        return PhraseLists(config, work, base)
