"""Properties of a model that its weights do not change, made once for the model under all weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")
# Where a model holds them.
LASTING = "_lasting"


class lasting(Generic[Value]):
    """As `functools.cached_property`, but shared by all copies that `Reweighted.reweighted` makes."""

    def __init__(self, made: Callable[[Any], Value]) -> None:
        self.made = made
        self.__doc__ = made.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Takes the name that values are kept under."""
        self.name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...
    @overload
    def __get__(self, model: object, owner: type) -> Value: ...
    def __get__(self, model: object | None, owner: type) -> Self | Value:
        """The value, made when it is first asked for."""
        if model is None:
            return self
        held: dict[str, Value] = model.__dict__.setdefault(LASTING, {})
        if self.name not in held:
            held[self.name] = self.made(model)
        return held[self.name]


class Reweighted:
    """A frozen dataclass that is used under one vector of weights after the other.

    No property that is `lasting` may depend on its weights.
    """

    def reweighted(self, **weights: Any) -> Self:
        """The same under other weights, given by the names of its fields; `lasting` properties are not made again."""
        other: Self = replace(self, **weights)  # type: ignore[type-var]
        other.__dict__[LASTING] = self.__dict__.setdefault(LASTING, {})
        return other
