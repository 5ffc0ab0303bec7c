"""Inner compiled functions, which only compiled code calls, as tests call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def from_python(inner: Function) -> Function:
    return cast(Function, njit(lambda *arguments: inner(*arguments)))
