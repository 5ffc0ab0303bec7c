"""Systems whose derivations are made of units with scores: phrase pairs, or hierarchical rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.features.index import FeatureIndex
from xlate.models.derivation import Derivation
from xlate.models.system import Space, System
from xlate.models.unit_model import AnyUnitModel
from xlate.scoring.weights import Weights
from xlate.search.settings import StackSearch
from xlate.text.vocabulary import Vocabulary


class UnitList(Protocol):
    """The best derivations of a sentence as arrays."""

    def derivations(self) -> list[Derivation[Any]]:
        """One by one, best first."""


Model = TypeVar("Model", bound=AnyUnitModel)
Stacks = TypeVar("Stacks", bound=StackSearch)
Listed = TypeVar("Listed", bound=UnitList)


class UnitSystem(System[Space, Stacks], Generic[Model, Space, Stacks, Listed]):
    """A model of units under weights: float features, and sparse ones whose sums are floats, too.

    Args:
        model: units and language model.
        weights_D: in the order of the model's `features`, shape (D,).
        search: settings.
        fast: the compiled search; the readable one, for stack search only, gives the same derivations and scores.
        sparse_F: weights of the model's sparse features; those that are missing at its end are 0.

    Raises:
        InputError: float weights of another shape, more sparse weights than features, weights that are not finite, or
            cube pruning without `fast`.
    """

    PARTS = ("model", "weights_D", "search", "fast", "sparse_F")
    SEARCH: ClassVar[type[StackSearch]]

    def __init__(
        self,
        model: Model,
        weights_D: Floats,
        search: Stacks | None = None,
        fast: bool = True,
        sparse_F: Floats | None = None,
    ) -> None:
        self.model = model
        self._weights_D = np.asarray(weights_D, dtype=np.float64)
        self.search = search or self.SEARCH()  # type: ignore[assignment]  # a class cannot name its parameter's class
        self.fast = fast
        self._sparse_F = np.zeros(0) if sparse_F is None else np.asarray(sparse_F, dtype=np.float64)
        self._check()

    def _check(self) -> None:
        known = 0 if self.features is None else len(self.features)
        if self._weights_D.shape != (self.model.size,) or not np.isfinite(self._weights_D).all():
            expected = f"{self.model.size} finite numbers"
            raise InputError("the weights cannot be used", seen=self._weights_D, expected=expected)
        if len(self._sparse_F) > known or not np.isfinite(self._sparse_F).all():
            seen, expected = f"{len(self._sparse_F)} sparse weights", f"at most {known}, all of them finite"
            raise InputError("the weights cannot be used", seen=seen, expected=expected)
        if self.search.algorithm == "cube" and not self.fast:
            raise InputError("cube pruning has no readable form", expected="the compiled search, or algorithm stack")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Of the float features, sums of sparse ones among them."""
        return self.model.columns

    @property
    def weights_D(self) -> Floats:
        """In the order of the model's `features`, shape (D,)."""
        return self._weights_D

    @property
    def sparse_F(self) -> Floats:
        """Weights of sparse features, (F,) or fewer."""
        return self._sparse_F

    @property
    def features(self) -> FeatureIndex | None:
        """Those of the model."""
        return self.model.sparse_features

    @property
    def target_vocabulary(self) -> Vocabulary:
        """The words of the units."""
        return self.model.target_vocabulary

    def with_weights(self, weights: Weights) -> Self:
        """The same system under other weights."""
        return self.changed(weights_D=weights.dense_D, sparse_F=None if self.features is None else weights.sparse_F)

    @cached_property
    def unlimited(self) -> Self:
        """The system without a limit of options; what it has ranked stays."""
        most = int(np.diff(self.model.unit_offsets_P1).max(initial=1))
        return self if self.search.options >= most else self.with_search(options=most)

    @abstractmethod
    def space_list(self, space: Space) -> Listed:
        """The `nbest` best derivations of a space as arrays."""

    def nbest_list(self, words: Sequence[str]) -> Listed:
        """The `nbest` best derivations of a sentence as arrays; not by the readable search.

        Raises:
            InputError: a sentence without words, or of more than the search can number.
        """
        if not words:
            raise InputError("an empty sentence has no n-best list", expected="one word or more")
        return self.space_list(self.space(words))

    @property
    def readable(self) -> bool:
        """Whether the readable search of all systems looks for derivations."""
        return not self.fast

    def listed(self, space: Space) -> list[Derivation[Any]]:
        """The `nbest` best derivations of a space, best first."""
        return super().listed(space) if self.readable else self.space_list(space).derivations()
