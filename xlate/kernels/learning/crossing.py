"""The id of a feature that is a pair: a feature of an instance's context with one of a candidate.

Pairs are computed, not stored: an instance of X context features and a candidate of T ids have X · T of them. Their ids
are hashes, so that several pairs may share a weight, as in Vowpal Wabbit; the more weights there are, the fewer do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xlate.compiled import inlined

# Odd numbers without a pattern, below 2^63: products wrap around alike in numpy, torch and compiled code.
CONTEXT, PART, BOTH = 0x1E3779B97F4A7C15, 0x42B2AE3D27D4EB4F, 0x5851F42D4C957F2D


def crossed_ids(context: Any, part: Any, size: int) -> Any:
    """The ids of pairs among `size` weights, a power of two; arrays or tensors of 64-bit integers, element by element.

    This is what `crossed` computes for one pair.
    """
    return ((((context * CONTEXT) ^ (part * PART)) * BOTH) >> 32) & (size - 1)


@inlined
def crossed(context: int, part: int, size: int) -> int:
    """The id of a pair among `size` weights, a power of two."""
    mixed: int = ((((np.int64(context) * CONTEXT) ^ (np.int64(part) * PART)) * BOTH) >> 32) & (size - 1)  # type: ignore[assignment]
    return mixed
