"""The order in which instances are seen."""

from __future__ import annotations

import zlib

import numpy as np

from xlate.array_types import Ints


def epoch_order(size: int, seed: int, epoch: int, *, name: str = "", block: int | None = None) -> Ints:
    """A random order of `size` instances, the same for the same (seed, name, epoch).

    With `block`, runs of that many neighbouring instances stay together: the runs are shuffled, and the instances
    within each run, so that a store larger than memory is read almost in sequence.
    """
    random = np.random.Generator(np.random.PCG64([seed, zlib.crc32(name.encode()), epoch]))
    if block is None or block >= size:
        return random.permutation(size)
    starts = random.permutation(np.arange(0, size, block))
    return np.concatenate([start + random.permutation(min(block, size - start)) for start in starts])


def spread(size: int, fraction: float) -> Ints:
    """Every so many-th of `size` instances, `fraction` of them in all and at least one when there is any."""
    count = min(size, max(1, round(size * fraction))) if size else 0
    return (np.arange(count) * (size / max(1, count))).astype(np.int64)
