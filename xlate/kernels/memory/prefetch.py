"""Asks the processor to bring a value of an array near before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

NEAR = 3


def _prefetch(_context: Any, array: Any, index: Any) -> Any:

    def build(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
        kind = sign.args[0]
        values = context.make_array(kind)(context, builder, arguments[0])
        place = builder.gep(values.data, [context.cast(builder, arguments[1], sign.args[1], types.intp)])
        pointer = builder.bitcast(place, cgutils.voidptr_t)
        number = ir.IntType(32)
        declared = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, declared, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
        builder.call(function, [pointer, number(0), number(NEAR), number(1)])
        return context.get_dummy_value()

    return signature(types.void, array, index), build  # type: ignore[no-untyped-call]


prefetch: Any = intrinsic(_prefetch)
"""prefetch(array, index): the cache line of one item of a contiguous array, in memory order; never faults."""
