"""Numbers that are no literals: numba compiles a function anew for each constant that it is called with."""

from __future__ import annotations

import numpy as np

from xlate.compiled import inlined


@inlined
def whole(number: int) -> int:
    """The same number, as one of 64 bits.

    A constant, or a variable that begins as one, is known as such to what it is given to, and so is a number of 32
    bits: a second version of a large function takes seconds to compile, and does the same.
    """
    return int(np.int64(number))
