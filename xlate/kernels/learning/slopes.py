"""The slope of a loss, compiled: what it costs to score an instance as it is scored, and which way is down.

A slope is a function that any pass over candidates calls through a pointer, once for each instance or list, so a new
loss needs no new pass. It is written beside the loss it is of (`xlate/losses`), in plain Python that numba can
compile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from xlate.array_types import Floats, Floats32, Uints
from xlate.compiled import cfunc, inlined, loop, types

_DOUBLES, _SINGLES, _BITS = types.float64[::1], types.float32[::1], types.uint64[::1]
_SIGNATURE = types.float64(_DOUBLES, _SINGLES, _DOUBLES, types.int64, _DOUBLES, _BITS)

SlopeFunction = Callable[[Floats, Floats32, Floats, int, Floats, Uints], float]


class Slope:
    """A slope function, compiled when it is first asked for.

    The function is called as `loss = function(score_X, gain_X, slope_X, size, numbers, state)`:

    - `score_X`, `gain_X`: scores and gains of the `size` candidates; the arrays may be longer.
    - `slope_X`: takes minus the derivative of the loss by each score.
    - `numbers`: the settings of the loss, as its `numbers()` gives them.
    - `state`: one number of 64 bits, from which losses that draw candidates by lot draw.
    """

    def __init__(self, function: SlopeFunction) -> None:
        self.function = function

    @cached_property
    def pointer(self) -> Any:
        """What compiled passes take."""
        return cfunc(_SIGNATURE, cache=True)(self.function)


@inlined
def best_gain(gain_X: Floats32, size: int) -> int:
    """The candidate of the highest gain, the first of equals."""
    best = 0
    for x in range(1, size):
        if gain_X[x] > gain_X[best]:
            best = x
    return best


@inlined
def shares(value_X: Floats, size: int) -> float:
    """Turns values into their shares of exp value; returns the natural log of the sum."""
    top = -np.inf
    for x in range(size):
        top = max(top, value_X[x])
    total = 0.0
    for x in range(size):
        value_X[x] = np.exp(value_X[x] - top)
        total += value_X[x]
    for x in range(size):
        value_X[x] /= total
    return float(top + np.log(total))


@inlined
def draw(state: Uints, size: int) -> int:
    """A number below `size` by lot (SplitMix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((z ^ (z >> np.uint64(31))) % np.uint64(size))


@loop
def log_sum_exp(scores: Floats, first: int, last: int) -> float:
    """ln Σ exp of scores[first:last], which must not be empty."""
    top = scores[first]
    for option in range(first + 1, last):
        top = max(top, scores[option])
    total = 0.0
    for option in range(first, last):
        total += np.exp(scores[option] - top)
    return float(top + np.log(total))


@loop
def log_chances(scores: Floats, first: int, last: int, alone: bool) -> None:
    """Puts ln p in the place of scores[first:last], which must not be empty.

    p is the softmax of the scores, or with `alone` the logistic function of each.
    """
    if not alone:
        scores[first:last] -= log_sum_exp(scores, first, last)
        return
    for c in range(first, last):
        scores[c] = min(scores[c], 0.0) - np.log1p(np.exp(-abs(scores[c])))
