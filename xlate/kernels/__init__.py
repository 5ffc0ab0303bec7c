"""Fused versions of the hot loops, as functions of plain arrays; only this room imports numba or triton."""

from xlate.kernels.compiling import announce

announce()
