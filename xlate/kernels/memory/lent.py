"""Lends arrays to a kernel, so that compiled code does not count references to them.

Each time that an array is taken out of a tuple, numba counts a reference with an atomic instruction. A kernel with a
dozen arrays in named tuples would spend most of its time on that. The caller must hold the arrays until the kernel
returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

Arrays = TypeVar("Arrays")


def _lend(_typing_context: Any, arrays: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], values[0])

    return arrays(arrays), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for at, inner in enumerate(cast(Any, kind).types):
            part = _without_owner(context, builder, inner, builder.extract_value(value, at))
            value = builder.insert_value(value, part, at)
    return value


lent: Callable[[Arrays], Arrays] = cast(Any, intrinsic(_lend))
"""The same array, or the same (named) tuple of arrays, numbers and such tuples, with no owner."""
