"""The phrase-based model of a run, of an imported system or of a work directory, and its decoder.

What only training needs is imported where it is used, so that translating a line does not wait for it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from xlate.align.links import Links
from xlate.config.model_schema import PhraseModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import refuse_if
from xlate.models.context.runs import (
    check_folds,
    check_predicted_by,
    check_same_use,
    check_use,
    classifier_runs,
)
from xlate.models.joint.kind import check_joint, load_joint
from xlate.models.kind import Kind, ToTune
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.history import histories_named
from xlate.models.phrase.model import PhraseModel, Reordering, load_phrase_model, save_phrase_model
from xlate.models.run_files import located_config, located_runs, weights_of, weights_path
from xlate.phrases.table import PhraseTable
from xlate.report.run_directory import CONFIG_FILE
from xlate.scoring.weights import WeightsFile
from xlate.text.vocabulary import EncodedText
from xlate.work.directory import WorkDirectory
from xlate.work.stages import Stage, run_stage

if TYPE_CHECKING:
    from xlate.models.phrase.training import PhraseLists
    from xlate.phrases.runs import Runs

# The kind of model, and the name of its set of weights.
KIND = SET = "phrase"
MODEL = "model"


class Phrase(Kind):
    """The phrase-based model with Moses's features."""

    name = KIND

    def open(
        self,
        run: Path,
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,  # noqa: ARG002
    ) -> PhraseDecoder:
        """The decoder of the run's own model, or that of its base or work directory."""
        check_predicted_by(config.model, weights)
        model = open_phrase_model(run, config)
        return PhraseDecoder.opened(model, weights.fitting(SET, model.sparse, run), config.decoder)

    def check(self, model: Any) -> None:
        """Sparse reordering features must have the stack that they use; a classifier must be trained."""
        from xlate.models.sparse_models import check_orientations

        check_orientations(model)
        check_use(model.context)
        check_joint(model.joint)

    def check_base(self, config: TrainConfig, base: Path) -> None:
        """The run must be a phrase model; with sparse features, one that has the words they are about."""
        phrase_base(base, weighted=config.tune.start == "base")
        words = [] if config.model.sparse is None else config.model.sparse.words
        computed = [kind for kind in words if kind.startswith("class")]
        if computed and _imported(config) is not None:
            from xlate.models.sparse_models import no_text_for

            no_text_for(computed[0])

    def based(self, config: TrainConfig) -> TrainConfig:
        """The work directory of the base (an imported system has none), and its reordering model."""
        if config.base is None:
            return config
        base = located_config(config.base_run)
        model = cast(PhraseModelConfig, config.model)
        return replace(config, work=base.work, model=replace(model, reordering=base.model.reordering))

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """All dense weights, and those of sparse features, if there are any; those of a base stay as they are."""
        from xlate.models.phrase.training import weights_to_tune
        from xlate.models.tuned import with_sums

        tune, base = config.tune, Path(config.base or ".")
        own = config.base is None or config.model.sparse is not None
        held = _of_table(Path("."), config) if own else _of_table(base, located_config(base))
        model, start, phi_F = _with_more_floats(held, config), None, None
        if not own and model.sparse is not None:
            phi_F = weights_of(base).fitting(SET, model.sparse, base).sparse_F
        if tune.start == "base":
            start = with_sums(weights_of(base).sets[SET], model)
            if model.sparse is not None:
                start = replace(start, sparse_F=np.zeros(len(model.sparse)))
        decoder = PhraseDecoder(model, np.zeros(model.size), config.decoder, sparse_F=phi_F)
        return weights_to_tune(config, work, decoder, start, phi_F)

    def check_lists(self, config: TrainConfig) -> None:
        """There must be sparse features, and classifiers of folds; a base must be a phrase model with weights."""
        refuse_if(
            config.model.sparse is None, "no sparse features to train", "sparse=none", "sparse=local, full or another"
        )
        refuse_if(
            config.model.histories or config.model.joint,
            "models trained without a fold cannot have features with history",
            f"loss={config.loss.name} model.histories={config.model.histories} model.joint={config.model.joint}",
            "a tuner, such as loss=mira",
            "leave out model.histories and model.joint here, and then tune with them: base=RUN loss=mira",
        )
        check_folds(config.model.context)
        if config.base is not None:
            phrase_base(config.base_run)
            check_same_use(config.model.context, config.base_run)

    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path, folds: int) -> PhraseLists:
        """The sparse features."""
        from xlate.models.phrase.training import PhraseLists

        return PhraseLists(config, work, base, folds)


def phrase_base(base: Path, *, weighted: bool = True) -> None:
    """Checks that a run is of the phrase model and, with `weighted`, that it has weights.

    Raises:
        InputError: it is not, or has none.
    """
    trained = config_of_run(base)
    refuse_if(
        trained.model.kind != KIND, "the base run has a different model", trained.model.name, "model=phrase", file=base
    )
    if weighted:
        weights_path(base)


def open_phrase_model(run: Path, config: TrainConfig) -> PhraseModel:
    """The model of a run: its own, that of the run it is based on, or that of its work directory.

    With sparse features it is that of the imported system it is based on, if there is one and they are not learned from
    lists of its work directory's text; otherwise that of its work directory.

    Raises:
        InputError: none of them is there.
    """
    return _with_more_floats(_of_table(run, config), config)


def _with_more_floats(model: PhraseModel, config: TrainConfig) -> PhraseModel:
    """The model with the requested features with history and predictions in context."""
    model = replace(model, histories=histories_named(config.model.histories))
    if config.model.joint is not None:
        from xlate.models.joint.feature import joint_feature

        model = replace(model, histories=(*model.histories, joint_feature(load_joint(Path(config.model.joint)))))
    if not classifier_runs(config.model.context):
        return model
    from xlate.models.context.classifiers import with_predictions

    return with_predictions(model, config.model.context, config.work_directory)


def _of_table(run: Path, config: TrainConfig) -> PhraseModel:
    """The model without features with history and predictions in context."""
    if (run / MODEL).exists():
        return load_phrase_model(run / MODEL)
    if config.model.sparse is not None and (imported := _imported(config)) is not None:
        from xlate.models.sparse_models import imported_sparse_features

        model = load_phrase_model(imported / MODEL)
        return replace(model, sparse=imported_sparse_features(config.model.sparse, model))
    # Sparse features are those of the work directory, whichever run the float weights came from.
    if config.base is not None and config.model.sparse is None:
        base = config.base_run
        trained = config_of_run(base)
        refuse_if(
            trained.model.reordering != config.model.reordering,
            "the base run and the run tuned on it differ in their reordering models",
            f"model.reordering={trained.model.reordering}",
            f"model.reordering={config.model.reordering}",
            "restore the configuration of the base run",
            file=base / CONFIG_FILE,
        )
        return _of_table(base, located_config(base, near=config.work))
    work = config.work_directory
    model = load_phrase_model(phrase_stage(work, config.model.reordering or "none").folder / MODEL)
    if config.model.sparse is None:
        return model
    from xlate.models.sparse_models import sparse_features

    sparse = sparse_features(work, config.model.sparse, model.table, model.orientations)
    return replace(model, sparse=sparse)


def _imported(config: TrainConfig) -> Path | None:
    """The imported system a run is based on, directly or through other runs; None if there is none.

    What is learned from lists of a work directory's text is part of that directory's model, whatever it began with.
    """
    while config.base is not None and config.loss.lists is None:
        base = config.base_run
        if (base / MODEL).exists():
            return base
        config = located_runs(base)
    return None


def phrase_stage(work: WorkDirectory, reordering: str) -> Stage:
    """The phrase model of a work directory in its binary form, made if it does not exist."""
    settings: dict[str, Any] = {
        "reordering": reordering,
        "on": work.identities("phrases", "lm"),
        "version": 1,
    }
    return run_stage(work.path, f"phrase/{reordering}", settings, lambda folder: _build(work, reordering, folder))


def _build(work: WorkDirectory, reordering: str, folder: Path) -> dict[str, Any]:
    # Only for training; translating does not need it.
    from xlate.phrases.runs import Runs

    table = work.table
    with Runs(work.plan["memory_mb"], folder) as runs:
        oriented = reordering_model(table, *work.encoded, work.links, reordering, runs=runs)
        model = PhraseModel(table, work.source_vocabulary, work.target_vocabulary, work.lm, oriented)
        save_phrase_model(folder / MODEL, model)
    return {"pairs": len(table)}


def reordering_model(
    table: PhraseTable,
    source: EncodedText,
    target: EncodedText,
    links: Links,
    kind: str,
    max_length: int = 7,
    runs: Runs | None = None,
) -> Reordering | None:
    """The reordering model of an aligned text, None for the kind `none`; `max_length` is that of its phrases.

    With `runs`, counts are kept in its memory, and what is returned may be mapped from its files.

    Raises:
        InputError: an unknown kind, or texts and links that do not fit.
    """
    if kind == "none":
        return None
    # Only for training; translating does not need it.
    from xlate.phrases.occurrences import reordering_counts, reordering_probabilities

    counts_BK2 = reordering_counts(table, source, target, links, kind, max_length, runs)
    probability_BK2 = reordering_probabilities(counts_BK2, scratch=runs)
    return Reordering(kind if kind in ("hier", "hier5") else "wbe", probability_BK2)
