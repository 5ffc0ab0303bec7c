"""What jobs know about a kind of model: how its runs are opened and trained, its weights, and what it cannot do.

This module also has the kinds by name, and opens the systems of runs and of complete grammars.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, cast

from xlate.config.model_schema import ModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError, refuse_if
from xlate.models.run_files import WORK_IDENTITY, located, made_with, weights_of, weights_path
from xlate.models.system import AnySystem
from xlate.scoring.weights import Weights, WeightsFile
from xlate.search.settings import DecoderSettings
from xlate.settings import plain
from xlate.work.directory import WorkDirectory

if TYPE_CHECKING:
    from xlate.array_types import AnyArray, Ints
    from xlate.candidates.batch import CandidateBatch
    from xlate.candidates.lists import UnitFeatures
    from xlate.features.index import FeatureIndex
    from xlate.models.block.kind import EventKind
    from xlate.models.tuned import TunedSystem
    from xlate.work.estimates import WithoutFold


class Saved(NamedTuple):
    """Weights as they are written: the sets, the features of their sparse weights, and other arrays."""

    sets: Mapping[str, Weights]
    features: Mapping[str, FeatureIndex]
    extra: Mapping[str, AnyArray]


@dataclass(frozen=True)
class ToTune:
    """What is tuned, where it starts, how its weights are written, and their metadata."""

    system: TunedSystem
    start: Weights
    saved: Callable[[Weights], Saved]
    metadata: Mapping[str, Any]


class Kind:
    """A value of `model.kind`.

    Attributes:
        name: that value, and for most kinds the name of their set of weights.
        of_blocks: whether it is a model over blocks, which learns from events: its floats are costs, so that weights
            are usually below 0, and tuning continues from a run of it.
        ranks_lists: whether it only ranks given lists, and translates nothing.
        predicts: whether it predicts how phrases are translated in context, and translates nothing.
        scores: whether a run scores the translations of other systems.
        untrained: whether it can also translate with untrained weights.
        free: keys of the model that may differ in a run that tuning continues from.
        impossible: the message for whatever it cannot do, and the command to use instead; None for a model that is
            tuned.
        without_lists: the message where it cannot learn from lists of the training text, and what is expected instead;
            None where `impossible` says it.
    """

    name: ClassVar[str]
    of_blocks = False
    ranks_lists = False
    predicts = False
    scores = False
    untrained = False
    impossible: ClassVar[tuple[str, str] | None] = None
    free: ClassVar[tuple[str, ...]] = ()
    without_lists: ClassVar[tuple[str, str] | None] = None

    def lists(self, model: ModelConfig) -> bool:  # noqa: ARG002
        """Whether a run of it translates, and is no mere part of other systems: then it can be opened."""
        return type(self).open is not Kind.open

    def open(
        self,
        run: Path,
        config: TrainConfig,  # noqa: ARG002
        weights: WeightsFile,  # noqa: ARG002
        work: WorkDirectory | None,  # noqa: ARG002
    ) -> AnySystem:
        """The system of a run's weights under its configuration.

        Raises:
            InputError: weights of something else, a work directory that is missing, or settings out of range; a model
                that translates nothing.
        """
        self._refuse(run)

    def saved(self, system: AnySystem, file: WeightsFile) -> Saved:
        """The weights of a system, in the form of the file they came from."""
        features = {} if system.features is None else {self.name: system.features}
        return Saved({self.name: system.weights.single()}, features, file.extra)

    def check_base(self, config: TrainConfig, base: Path) -> None:
        """Checks that weights of this kind can be tuned from a run, before anything is written.

        Raises:
            InputError: it is missing, unfinished, or of another model.
        """
        if self.impossible is not None:
            self._refuse(base)
        check_model_of_base(config, base, self.free)
        weights_path(base)

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:  # noqa: ARG002
        """What a configuration asks to tune.

        Raises:
            InputError: a run or work directory is missing.
        """
        self._refuse(None)

    def without_fold(self, config: TrainConfig, whole: TunedSystem, without: WithoutFold) -> TunedSystem:  # noqa: ARG002
        """The system to tune, made from the training text without a fold, with the sparse features of the whole text.

        Raises:
            InputError: this kind of model cannot be made without a fold here.
        """
        raise InputError(
            "this kind of model cannot be trained online on folds of the training text",
            f"model={config.model.name} source.folds={config.source.folds}",
            "model=hierarchical, block or distortion",
            "source.folds=0, or lists of the training text: loss=xbleu",
        )

    def check_lists(self, config: TrainConfig) -> None:
        """Checks that sparse weights of such a model can be learned from lists of the training text.

        Raises:
            InputError: there are none, or the settings or the base run do not allow it.
        """
        if self.without_lists is None:
            self._refuse(None)
        what, expected = self.without_lists
        raise InputError(what, f"loss={config.loss.name}", expected)

    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path, folds: int) -> ListedModel:  # noqa: ARG002
        """What is learned from lists of so many folds of the training text, with the float weights of a run.

        Raises:
            InputError: the run has none, or other ones; see `check_lists`.
        """
        raise AssertionError(f"{self.name} learns from no lists, as check_lists says")

    def check(self, model: ModelConfig) -> None:
        """Checks that the settings of a model fit each other.

        Raises:
            InputError: they do not.
        """

    def based(self, config: TrainConfig) -> TrainConfig:
        """A configuration completed with what it inherits from its base."""
        return config

    def _refuse(self, run: Path | None) -> NoReturn:
        assert self.impossible is not None
        what, remedy = self.impossible
        raise InputError(what, f"model.kind={self.name}", "a run of a different model", remedy, file=run)


class Rerank(Kind):
    """Weights over the hypotheses of other systems."""

    name = "rerank"
    ranks_lists = True
    impossible = (
        "a run of model=rerank cannot translate: it ranks the lists of other systems",
        "xlate nbest rescore FILE run=RUN out=FILE",
    )


class FoldSystem(NamedTuple):
    """A system that has not seen a fold.

    Attributes:
        decoder: the system under its weights.
        hypotheses: the list of a sentence, with units as they are numbered in the whole text; `draw=` says how
            candidates are drawn, None takes the best.
        columns: names of the floats.
    """

    decoder: AnySystem
    hypotheses: Callable[..., CandidateBatch]
    columns: Sequence[str]


class ListedModel(ABC):
    """A model of a work directory's training text whose sparse weights are learned from lists of the text.

    Each fold of the text is decoded by a system that has not seen it.
    """

    @property
    @abstractmethod
    def theta(self) -> Weights:
        """Initial float weights."""

    @property
    @abstractmethod
    def features(self) -> UnitFeatures:
        """What is learned."""

    @property
    @abstractmethod
    def fold_I(self) -> Ints:
        """The fold of each sentence pair; all copies of a pair are in one."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What the systems of folds are made from."""

    @abstractmethod
    def opened(self, fold: int, weights: Weights, sparse: Any, search: DecoderSettings) -> FoldSystem:
        """The system without a fold, made if it does not exist.

        Args:
            fold: its number.
            weights: floats, and those of `sparse` when there are any.
            sparse: the features of the whole text, None to decode without them.
            search: settings.
        """

    def discard(self, fold: int) -> None:  # noqa: B027
        """Removes what is no longer needed once all of a fold is decoded; by default nothing."""

    @abstractmethod
    def weighted(self, theta: Weights, phi_F: AnyArray) -> Weights:
        """Float weights and learned ones, in the form that systems of folds take to decode again."""

    @abstractmethod
    def to_tune(self, theta: Weights, phi_F: AnyArray) -> ToTune:
        """Float weights to be tuned, together with the sums of features under learned weights."""


def needed(work: WorkDirectory | None, model: ModelConfig) -> WorkDirectory:
    """The work directory of a run.

    Raises:
        InputError: the run has none.
    """
    if work is None:
        raise InputError("a run without a work directory", "work=''", f"that of model={model.name}")
    return work


def made_of(config: TrainConfig, work: WorkDirectory | None) -> dict[str, Any]:
    """What a weights file says about the work directory and the model."""
    return {"work": config.work, "work_identity": work.identity if work else None, **made_with(config.model)}


def check_model_of_base(
    config: TrainConfig,
    base: Path,
    free: Collection[str] = (),
    remedy: str = "use the same model settings for both",
) -> None:
    """Checks that the model of a run has the settings of a configuration, except for its name and the `free` ones.

    Raises:
        InputError: they differ, or the run cannot be read.
    """
    ours, theirs = plain(config.model), plain(config_of_run(base).model)
    keys = ["kind"] if ours["kind"] != theirs["kind"] else [key for key in ours if key not in (*free, "name")]
    differing = [key for key in keys if key not in theirs or ours[key] != theirs[key]]
    seen, expected = (", ".join(f"model.{key}={of.get(key)}" for key in differing) for of in (theirs, ours))
    refuse_if(differing, "the base run has a different model", seen, expected, remedy, file=base)


# The kinds by name: module and class. Each is imported on demand, because the systems of the others are many.
KINDS = {
    "orientation": ("block.kind", "Block"),
    "distortion": ("distortion", "DistortionKind"),
    "phrase": ("phrase.kind", "Phrase"),
    "hierarchical": ("hierarchical.kind", "Hierarchical"),
    "grammar": ("grammar.kind", "Grammar"),
    "context": ("context.runs", "Context"),
    "joint": ("joint.kind", "Joint"),
    "transformer": ("transformer.kind", "TransformerKind"),
    "lcs": ("lcs", "Lcs"),
    "rerank": ("kind", "Rerank"),
    "combination": ("rerank.combination", "Combination"),
}

# Suffixes of the configurations of complete grammars: joshua.config, cdec.ini and moses.ini.
GRAMMAR_SUFFIXES = (".config", ".ini")


def is_grammar(path: Path) -> bool:
    """Whether a path names the configuration of a complete grammar rather than a run."""
    return path.suffix in GRAMMAR_SUFFIXES and not path.is_dir()


def kind_of(model: ModelConfig) -> Kind:
    """The kind of a model."""
    module, name = KINDS[model.kind]
    kind: Kind = getattr(import_module(f"{__package__}.{module}"), name)()
    return kind


def event_kind(model: ModelConfig) -> EventKind:
    """The kind of a model over blocks.

    Raises:
        InputError: it is of another kind.
    """
    kind = kind_of(model)
    refuse_if(not kind.of_blocks, "unknown value of model.kind", model.kind, "orientation, distortion")
    return cast("EventKind", kind)


def open_system(
    run: Path, config: TrainConfig, given: str | None = None, near: str | None = None
) -> tuple[AnySystem, WorkDirectory | None]:
    """The system of a finished run, and its work directory (an imported run has none).

    The work directory is the `given` one, or is searched for, `near` first; see `run_files.located`.

    Raises:
        InputError: no weights, those of another model, or a work directory that is gone or was rebuilt; a run that
            translates nothing.
    """
    weights, kind, work = weights_of(run, config), kind_of(config.model), None
    # A kind that ranks lists refuses, and has no work directory to search for.
    if not kind.ranks_lists:
        expected = weights.metadata.get(WORK_IDENTITY)
        config = located(run, config, expected, near, given)
        work = config.work_directory if config.work else None
        if work is not None and expected != work.identity:
            raise InputError(
                "the work directory is not the one this run was trained on",
                f"other data or settings, identity {work.identity[:12]}",
                f"the one that {run} was trained on, identity {str(expected)[:12]}",
                f"set work=FOLDER to the right one, prepare it as before, or train {run} under another name",
                file=work.path,
            )
    return kind.open(run, config, weights, work), work
