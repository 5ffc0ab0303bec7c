"""Classifiers in context: what their runs can do, and checks of those that a model's settings name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from xlate.config.model_schema import DISTORTION, ClassifierConfig, ContextUseConfig, ModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run, identity_of_training
from xlate.errors import refuse_if
from xlate.models.kind import Kind
from xlate.models.run_files import weights_path
from xlate.scoring.weights import WeightsFile
from xlate.work.directory import WorkDirectory
from xlate.work.stages import file_hash, identity_of

KIND = "context"
# The metadata of a weights file about the runs whose predictions its weights were tuned with.
PREDICTED_BY, PLACED_BY, JOINED_BY = "predicted_by", "placed_by", "joined_by"


def classifier_config(run: Path) -> TrainConfig:
    """The configuration of a finished run of a classifier.

    Raises:
        InputError: it is missing, unfinished, or of another model.
    """
    config = config_of_run(run)
    wrong, name = config.model.kind != KIND, config.model.name
    refuse_if(wrong, "not a run of a classifier in context", name, "model=context", file=run)
    weights_path(run)
    return config


def predicted(run: Path) -> str:
    """What the classifier of a finished run predicts: `translation` or `distortion`; raises as `classifier_config`."""
    return str(classifier_config(run).model.predicts)


def predicted_by(model: ModelConfig) -> dict[str, str]:
    """What a weights file says about the runs whose predictions its weights were tuned with, nothing without any."""
    return {key: file_hash(weights_path(run)) for key, run in _predicting(model).items()}


def check_predicted_by(model: ModelConfig, weights: WeightsFile) -> None:
    """Checks that the runs that predict are still those that weights were tuned with.

    Raises:
        InputError: one was retrained.
    """
    for key, run in _predicting(model).items():
        refuse_if(
            weights.metadata.get(key) != file_hash(weights_path(run)),
            "the model that predicts is not the one that this run was tuned with",
            "different weights",
            f"those of SHA-256 {weights.metadata.get(key)}",
            "train it as before, or tune again under another name",
            file=run,
        )


def _predicting(model: ModelConfig) -> dict[str, Path]:
    use = model.context
    runs = {JOINED_BY: model.joint}
    if use is not None:
        runs |= {PREDICTED_BY: use.run, PLACED_BY: use.distortion}
    return {key: Path(run) for key, run in runs.items() if run is not None}


def check_use(use: ClassifierConfig | None) -> None:
    """Checks that the classifiers are trained, and predict what they are used for.

    Raises:
        InputError: as `classifier_config`; a second one, or predictions alone, where there are no translations.
    """
    if use is None:
        return
    placed = predicted(Path(use.run)) == DISTORTION
    alone = isinstance(use, ContextUseConfig) and not use.only and use.distortion is None
    seen = f"model.context.run={use.run}, which predicts distortion"
    refuse_if(placed and not alone, "not a classifier of translations", seen, "model.context.run=RUN of one")
    if use.distortion is not None:
        wrong, expected = predicted(Path(use.distortion)) != DISTORTION, "model.predicts=distortion"
        refuse_if(wrong, "not a classifier of distortion", "model.predicts=translation", expected, file=use.distortion)


def check_same_use(use: ClassifierConfig | None, base: Path) -> None:
    """Checks that a base run has the predictions that its float weights are to be used with.

    Raises:
        InputError: it has others, or none.
    """
    other = config_of_run(base).model.context
    refuse_if(
        use != other,
        "the base run uses different predictions",
        "context=none" if other is None else f"model.context.run={other.run}",
        "the same settings of context=…",
        "leave out base=RUN to tune the float weights",
        file=base,
    )


def classifier_runs(use: ClassifierConfig | None) -> list[Path]:
    """The runs of the classifiers that a phrase model uses."""
    if not isinstance(use, ContextUseConfig):
        return []
    return [Path(run) for run in (use.run, use.distortion) if run is not None]


def fold_classifier(run: Path, work: WorkDirectory, left_out: tuple[int, int]) -> tuple[TrainConfig, Path]:
    """How to train a classifier without a fold as that of a run was trained with it, and the folder of that run.

    Raises:
        InputError: as `classifier_config`; or it was trained further over lists of the whole text.
    """
    config = _checked_for_folds(run)
    model = replace(config.model, left_out=left_out[0], left_out_of=left_out[1])
    config = replace(config, work=str(work.path), model=model, run=None, row=None)
    key = identity_of({**identity_of_training(config), "on": work.identity})
    return config, work.path / "context" / key[:16]


def check_folds(use: ClassifierConfig | None) -> None:
    """Checks that classifiers can be trained without a fold, as lists of the training text need them.

    Raises:
        InputError: as `classifier_config`; or one was trained further over lists of the whole text.
    """
    for run in classifier_runs(use):
        _checked_for_folds(run)


def _checked_for_folds(run: Path) -> TrainConfig:
    config = classifier_config(run)
    refuse_if(
        config.loss.lists is not None,
        "a classifier trained further on lists has learned from every fold",
        f"loss={config.loss.name}",
        "one that can be trained without a fold: loss=one_of_many or another loss of single decisions",
        file=run,
    )
    return config


class Context(Kind):
    """Predictions of translations, which translate nothing on their own."""

    name = "context"
    predicts = True
    impossible = (
        "a run that predicts translations has no decoder",
        "xlate train model=phrase context=feature model.context.run=RUN uses what it learned",
    )
