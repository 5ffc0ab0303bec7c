"""What jobs know of a kind of model: how a run of it is opened, and what its weights are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from xlate.config.model_schema import ModelConfig
from xlate.config.schema import DecoderConfig, TrainConfig
from xlate.errors import InputError
from xlate.models.system import AnySystem
from xlate.scoring.weights import WeightsFile
from xlate.work.directory import WorkDirectory

if TYPE_CHECKING:
    # Of training, which translating has no need of.
    from xlate.jobs.systems.listed import ListedModel
    from xlate.jobs.systems.to_tune import Saved, ToTune
    from xlate.models.tuned import TunedSystem
    from xlate.work.estimates import WithoutFold


@dataclass(frozen=True)
class Asked:
    """What is asked of a decoder beside its configuration: the size of lists, and the compiled search or not."""

    nbest: int = 1
    distinct: bool = True
    fast: bool = True


class Kind(ABC):
    """A value of `model.kind`.

    Attributes:
        name: that value.
        of_costs: whether the floats are costs, so that weights below 0 are the rule.
        ranks_lists: whether it ranks lists that are given, and translates nothing.
        tunes_from_run: whether tuning goes on from a run of it.
        predicts: whether it says how phrases are translated in context, and translates nothing.
        untrained: whether it translates with weights that are not trained, too.
    """

    name: ClassVar[str]
    of_costs: ClassVar[bool] = False
    ranks_lists: ClassVar[bool] = False
    tunes_from_run: ClassVar[bool] = False
    predicts: ClassVar[bool] = False
    untrained: ClassVar[bool] = False

    @abstractmethod
    def open(
        self, run: Path, config: TrainConfig, weights: WeightsFile, work: WorkDirectory | None, asked: Asked
    ) -> AnySystem:
        """The system of a run's weights under its configuration.

        Raises:
            InputError: weights of something else, a work directory that is missing, or settings out of range.
        """

    @abstractmethod
    def search(self, settings: DecoderConfig, asked: Asked = Asked()) -> Any:
        """The search settings of a configuration.

        Raises:
            InputError: a value outside its range.
        """

    @abstractmethod
    def saved(self, system: AnySystem, file: WeightsFile) -> Saved:
        """The weights of a system in the form of the file that they came from."""

    @abstractmethod
    def check_base(self, config: TrainConfig, base: Path) -> None:
        """Looks whether weights of this kind can be tuned from a run, before anything is written.

        Raises:
            InputError: it is missing, unfinished, or of another model.
        """

    @abstractmethod
    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """What a configuration asks to tune.

        Raises:
            InputError: a run or work directory is missing.
        """

    def without_fold(self, config: TrainConfig, whole: TunedSystem, without: WithoutFold) -> TunedSystem:  # noqa: ARG002
        """What is tuned, made from the training text without a fold, with the sparse features of the whole text.

        Raises:
            InputError: this kind of model cannot be made without a fold here.
        """
        raise InputError(
            "such a model is not trained online on folds of the training text",
            seen=f"model={config.model.name} source.folds={config.source.folds}",
            expected="model=hierarchical, block or distortion",
            remedy="source.folds=0, or lists of the training text: loss=xbleu",
        )

    @abstractmethod
    def check_lists(self, config: TrainConfig) -> None:
        """Looks whether sparse weights of such a model can be learned from lists of the training text.

        Raises:
            InputError: there are none, or the settings or the base run do not allow it.
        """

    @abstractmethod
    def listed(self, config: TrainConfig, work: WorkDirectory, base: Path) -> ListedModel:
        """What is learned from lists of the training text, with the float weights of a run.

        Raises:
            InputError: the run has none, or other ones.
        """

    def check(self, model: ModelConfig) -> None:  # noqa: B027 - most kinds have nothing to check
        """Looks whether the settings of a model fit each other.

        Raises:
            InputError: they do not.
        """

    def based(self, config: TrainConfig) -> TrainConfig:
        """A configuration with what it takes over from its base."""
        return config
