"""Short names for array types, where those without a number have 64 bits; and empty arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
AnyFloats = NDArray[np.floating]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Ints16 = NDArray[np.int16]
Ints8 = NDArray[np.int8]
AnyInts = NDArray[np.integer]
Uints = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]
AnyArray = NDArray[Any]

NO_FLOATS: Floats = np.zeros(0)
NO_INTS: Ints = np.zeros(0, np.int64)
NO_INTS32: Ints32 = np.zeros(0, np.int32)
