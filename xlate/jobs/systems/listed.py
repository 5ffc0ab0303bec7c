"""What learning from lists of the training text asks of a kind of model: systems of its folds, and what is learned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from xlate.array_types import AnyArray, Ints
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import DecodedList, UnitFeatures
from xlate.config.schema import DecoderConfig
from xlate.jobs.systems.to_tune import ToTune
from xlate.models.system import AnySystem
from xlate.scoring.weights import Weights


class FoldSystem(NamedTuple):
    """A system that has not seen a fold.

    Attributes:
        decoder: the system under its weights.
        hypotheses: gives the list of a sentence with units; `draw=` is how candidates are drawn, None for the best.
        columns: names of the floats.
        numbered: lists with units as they are numbered in the whole text.
    """

    decoder: AnySystem
    hypotheses: Callable[..., DecodedList]
    columns: Sequence[str]
    numbered: Callable[[CandidateBatch], CandidateBatch]


class FoldSystems(Protocol):
    """Systems of a kind of model, each made from a work directory's training text without one fold."""

    @property
    def fold_I(self) -> Ints:
        """The fold of each sentence pair; all copies of a pair are in one."""

    @property
    def identity(self) -> str:
        """What the systems are made from."""

    def opened(
        self, fold: int, weights: Weights, sparse: UnitFeatures | None, search: DecoderConfig, nbest: int
    ) -> FoldSystem:
        """The system without a fold, made when it is not there.

        Args:
            fold: its number.
            weights: floats, and those of `sparse` when there are any.
            sparse: the features of the whole text, None to decode without.
            search: settings.
            nbest: the size of lists.
        """

    def discard(self, fold: int) -> None:
        """Removes what is of no use when all of a fold is decoded."""


class ListedModel(ABC):
    """A model of the whole text whose sparse weights are learned from lists.

    Attributes:
        theta: float weights to begin with.
    """

    theta: Weights

    @property
    @abstractmethod
    def features(self) -> UnitFeatures:
        """What is learned."""

    @abstractmethod
    def folds(self, count: int) -> FoldSystems:
        """The systems of so many folds."""

    @abstractmethod
    def weighted(self, theta: Weights, phi_F: AnyArray) -> Weights:
        """Float weights and learned ones as systems of folds take them, to decode once more."""

    @abstractmethod
    def to_tune(self, theta: Weights, phi_F: AnyArray) -> ToTune:
        """Float weights to be tuned, together with the sums of features under learned weights."""
