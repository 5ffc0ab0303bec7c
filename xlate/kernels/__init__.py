"""Compiled versions of the hot loops, as functions of plain arrays; only this folder imports numba."""

from xlate.kernels.memory.caching import settle_cache

settle_cache()

from xlate.kernels.memory.compiling import announce  # noqa: E402 - numba reads where to keep its files when it is imported

announce()
