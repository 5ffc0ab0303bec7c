"""Lists of the training text for the phrase model: systems of folds, and sparse weights learned from lists."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from xlate.array_types import AnyArray, Ints
from xlate.candidates.batch import CandidateBatch
from xlate.config.model_schema import ClassifierConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.features.phrase_sparse import SparseFeatures
from xlate.features.sparse_subset import features_of_subset
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.systems.context import with_fold_predictions
from xlate.jobs.systems.fold_models import FoldModels
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.listed import FoldSystem, ListedModel
from xlate.jobs.systems.phrase_models import KIND, open_phrase_model, phrase_decoder, unweighted_decoder
from xlate.jobs.systems.predictions import classifier_runs, fold_classifier, predicted_by
from xlate.jobs.systems.to_tune import Saved, ToTune
from xlate.models.phrase.model import SPARSE_REORDERING, PhraseModel
from xlate.models.phrase.store import load_phrase_model
from xlate.models.phrase.tuned import TunedPhrases, with_sums, with_units
from xlate.scoring.weights import Weights
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of


@dataclass(frozen=True)
class PhraseFolds:
    """Phrase systems that have not seen a fold; their models are removed when the fold is decoded."""

    models: FoldModels
    use: ClassifierConfig | None = None

    @property
    def fold_I(self) -> Ints:
        """The fold of each sentence pair."""
        return self.models.fold_I

    @property
    def identity(self) -> str:
        """What the models are made from."""
        runs = classifier_runs(self.use)
        if not runs:
            return self.models.identity
        # Settings of classifiers, how they are used, and not where they lie.
        used = {k: v for k, v in asdict(self.use).items() if k not in ("run", "distortion")} if self.use else {}
        folders = [fold_classifier(run, self.models.work, (0, self.models.folds))[1].name for run in runs]
        return identity_of({"models": self.models.identity, "classifiers": folders, "use": used})

    def opened(self, fold: int, weights: Weights, sparse: Any, search: DecoderConfig, nbest: int) -> FoldSystem:
        """The system without a fold, with the sparse features that its pairs have."""
        with self.models.kept(fold):
            stage = self.models.stage(fold)
            model = load_phrase_model(stage.folder / "model")
        rows = self.models.whole_rows(model.table)
        model = with_fold_predictions(model, self.use, self.models.work, (fold, self.models.folds), rows)
        if sparse is not None:
            features, ids_F = features_of_subset(sparse, model.table, *rows)
            model, weights = replace(model, sparse=features), replace(weights, sparse_F=weights.sparse_F[ids_F])
        sums = model.slots.get(SPARSE_REORDERING)

        def numbered(lists: CandidateBatch) -> CandidateBatch:
            assert lists.unit_PU is not None
            known = lists.unit_PU[:, 0] >= 0
            # A pair of the fold's table by its number in the table of the whole text.
            lists.unit_PU[known, 0] = rows.pair_B[lists.unit_PU[known, 0]]
            return lists

        decoder = phrase_decoder(model, weights, search, Asked(nbest))
        return FoldSystem(decoder, with_units, model.columns[: None if sums is None else sums.start], numbered)

    def discard(self, fold: int) -> None:
        """Removes the model of a fold."""
        self.models.discard(fold)


class PhraseLists(ListedModel):
    """The sparse features of a work directory's phrase model, and the float weights of a run.

    Raises:
        InputError: the run has no weights.
    """

    def __init__(self, config: TrainConfig, work: WorkDirectory, base: Path) -> None:
        self.config, self.work = config, work
        self.theta = weights_of(base).sets[KIND]

    @cached_property
    def model(self) -> PhraseModel:
        """The model of the whole text."""
        return open_phrase_model(Path("."), self.config)

    @property
    def features(self) -> SparseFeatures:
        """Its sparse features."""
        assert self.model.sparse is not None
        return self.model.sparse

    def folds(self, count: int) -> PhraseFolds:
        """The systems of so many folds."""
        models = FoldModels(self.work, self.config.model.reordering or "none", count)
        return PhraseFolds(models, self.config.model.context)

    def weighted(self, theta: Weights, phi_F: AnyArray) -> Weights:
        """Both together, sums of sparse features at 1."""
        return replace(with_sums(theta, self.model), sparse_F=phi_F)

    def to_tune(self, theta: Weights, phi_F: AnyArray) -> ToTune:
        """The floats and the sums of sparse features."""
        assert self.config.loss.tune is not None
        decoder = unweighted_decoder(self.model, self.config.decoder)
        system = TunedPhrases(decoder, self.config.loss.tune.processes, phi_F)

        def saved(weights: Weights) -> Saved:
            return Saved({KIND: replace(weights, sparse_F=phi_F).single()}, {KIND: self.features}, {})

        of_work = {"work": self.config.work, "work_identity": self.work.identity}
        more = {**made_with(self.config.model), **predicted_by(self.config.model.context)}
        return ToTune(system, with_sums(theta, self.model), saved, {**of_work, **more})
