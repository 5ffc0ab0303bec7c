"""Everything that imports numba: how kernels are compiled, where they are cached, and compiler features they need.

Numba keeps compiled code until the file of a function changes. If you change an option here, empty the caches: the
`__pycache__` folders next to the kernels, or the folder in NUMBA_CACHE_DIR.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from xlate.machine import can_be_written, home, keep_in_scratch

# Numba reads its cache location when it is imported, and raises an error when it cannot write anywhere: next to the
# source, in the user's home, or otherwise in a private folder.
if not can_be_written(Path(__file__).resolve().parent / "__pycache__"):
    keep_in_scratch("NUMBA_CACHE_DIR", "numba", home("XDG_CACHE_HOME", ".cache") / "numba")

from llvmlite import ir
from numba import cfunc as cfunc
from numba import njit
from numba import types as types
from numba.core import cgutils
from numba.core.caching import IndexDataCacheFile
from numba.core.event import Event, Listener, register
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import signature
from numba.extending import intrinsic

_load_index = IndexDataCacheFile._load_index


def _index(file: Any) -> Any:
    try:
        return _load_index(file)  # type: ignore[no-untyped-call]
    except (ImportError, AttributeError):
        # The code was compiled when a tuple's class was in a module that has since moved.
        return {}


IndexDataCacheFile._load_index = _index  # type: ignore[method-assign]


class Compiled(CPUDispatcher):
    """A function that is compiled once for arguments of the same kind.

    Numba would compile it again for arrays that cannot be written, and, when another compiled function calls it, for
    constants and for integers of fewer than 64 bits.
    """

    def typeof_pyval(self, value: Any) -> Any:
        """The type of an argument from Python: of an array that cannot be written, that of any other array."""
        return _writable(super().typeof_pyval(value))

    def get_call_template(self, arguments: Any, named: Any) -> Any:
        """What a call from compiled code leads to; constants and short integers count as integers of 64 bits."""
        named = {name: _widest(kind) for name, kind in dict(named).items()}
        return super().get_call_template(tuple(map(_widest, arguments)), named)


def _widest(kind: Any) -> Any:
    kind = cast(Any, types).unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and cast(Any, kind).signed else kind


def _writable(kind: Any) -> Any:
    if isinstance(kind, types.Array):
        return kind.copy(readonly=False)
    if isinstance(kind, types.BaseTuple):
        parts = [_writable(part) for part in cast(Any, kind)]
        return cast(Any, types.BaseTuple).from_types(parts, getattr(kind, "instance_class", None))
    return kind


class Inner(Compiled):
    """A compiled function without a wrapper for Python, which would otherwise take another fifth of the time."""

    def __call__(self, *_arguments: Any) -> Any:
        """Raises TypeError: without the wrapper, a call would end the process."""
        raise TypeError(f"only compiled code calls {self.py_func.__name__}")


Function = TypeVar("Function", bound=Callable[..., Any])


def _decorator(dispatcher: type[Compiled] = Compiled, **options: Any) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        # Numba would also compile a wrapper for callers in C. Nothing here calls it, and it takes a fifth of the time.
        wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": dispatcher is Inner}
        made = cast(Any, njit)(cache=True, **wrappers, **options)(function)
        made.__class__ = dispatcher
        return cast(Function, made)

    return decorate


loop = _decorator(nogil=True)
"""A function that runs without the interpreter's lock."""
compiled = _decorator()
"""A function that keeps the lock."""
inlined = _decorator(inline="always")
"""A function that numba inlines before it infers types."""
inner = _decorator(Inner)
"""A function that only compiled functions call."""
embedded = _decorator(Inner, forceinline=True)
"""An inner function that LLVM inlines."""
summed = _decorator(Inner, forceinline=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
"""An inner function that LLVM inlines, with sums that it may compute in any order and divisions that raise no error:
both allow vector instructions."""

log = logging.getLogger(__name__)
# Shorter compilations are not logged.
PATIENCE_SECONDS = 2.0


class Announcer(Listener):
    """Logs one line once compiling has taken longer than two seconds, however many loops follow."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._told = False

    def on_start(self, event: Event) -> None:  # noqa: ARG002
        """Called when compiling a loop begins, perhaps while compiling another."""
        now = time.monotonic()
        self._first = now if self._first is None else self._first
        if not self._told and now - self._first > PATIENCE_SECONDS:
            self._told = True
            log.info("compiling loops: once per installation, a few minutes at most")

    def on_end(self, event: Event) -> None:
        """Called when compiling a loop ends."""


register("numba:compile", Announcer())  # type: ignore[no-untyped-call]

# Lends arrays to a kernel, so that compiled code does not count references to them.
#
# Each time an array is taken out of a tuple, numba counts a reference with an atomic instruction. A kernel with a dozen
# arrays in named tuples would spend most of its time on that. The caller must keep the arrays alive until the kernel
# returns.
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
"""The same array, or the same (named) tuple of arrays, numbers and such tuples, without an owner."""

# Asks the processor to load a value of an array into its cache before it is needed.
NEAR = 3


def _prefetch(_context: Any, array: Any, index: Any) -> Any:

    def build(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
        pointer = builder.bitcast(_address(context, builder, sign, arguments), cgutils.voidptr_t)
        number = ir.IntType(32)
        declared = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, declared, "llvm.prefetch.p0i8")  # type: ignore[no-untyped-call]
        builder.call(function, [pointer, number(0), number(NEAR), number(1)])
        return context.get_dummy_value()

    return signature(types.void, array, index), build  # type: ignore[no-untyped-call]


prefetch: Any = intrinsic(_prefetch)
"""prefetch(array, index): the cache line of one item of a contiguous array, in memory order; never faults."""


def _address(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
    """The address of an item, given an array and an index."""
    values = context.make_array(sign.args[0])(context, builder, arguments[0])
    return builder.gep(values.data, [context.cast(builder, arguments[1], sign.args[1], types.intp)])


def _pointer(_context: Any, array: Any, index: Any) -> Any:
    return signature(types.CPointer(array.dtype), array, index), _address  # type: ignore[no-untyped-call]


pointer: Any = intrinsic(_pointer)
"""pointer(array, index): the address of one item of a contiguous array, so that no array is passed in a call."""


def call_through(kind: Any) -> Any:
    """call(address, arguments): calls a function of this signature, compiled by `cfunc`; the arguments are a tuple."""

    def call(_context: Any, address: Any, arguments: Any) -> Any:

        def build(context: Any, builder: Any, sign: Any, values: Any) -> Any:
            types_of = [context.get_value_type(one) for one in kind.args]
            declared = ir.FunctionType(context.get_value_type(kind.return_type), types_of)
            given = [
                context.cast(builder, builder.extract_value(values[1], at), sign.args[1][at], one)
                for at, one in enumerate(kind.args)
            ]
            return builder.call(builder.inttoptr(values[0], declared.as_pointer()), given)

        return signature(kind.return_type, address, arguments), build  # type: ignore[no-untyped-call]

    return intrinsic(call)
