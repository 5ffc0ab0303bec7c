"""The slope of a loss, compiled: the loss of an instance under its scores, and the direction of descent; and steps on
weights: plain or AdaGrad's, penalties on all weights or on those of a step, averages, weights kept at or below 0.

A slope is a function that any pass over candidates calls through a pointer, once per instance or list, so a new loss
needs no new pass. It is defined next to its loss (`xlate/losses`), in plain Python that numba can compile.

Step t first shrinks all sparse weights, then moves those of an instance. A weight that no instance has touched since
step s has only been shrunk, so `settle` can catch up on the t - s steps at once, when the weight is next used: it
shrinks the weight as often, and adds the weight's values at the end of steps s to t - 1 to the sum that the average is
made of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, Floats, Floats32, Ints, Uints
from xlate.compiled import cfunc, inlined, inner, loop, types

_DOUBLES, _SINGLES, _BITS = types.float64[::1], types.float32[::1], types.uint64[::1]
_SIGNATURE = types.float64(_DOUBLES, _SINGLES, _DOUBLES, types.int64, _DOUBLES, _BITS)

SlopeFunction = Callable[[Floats, Floats32, Floats, int, Floats, Uints], float]


class Slope:
    """A slope function, compiled on first use.

    The function is called as `loss = function(score_X, gain_X, slope_X, size, numbers, state)`:

    - `score_X`, `gain_X`: scores and gains of the `size` candidates; the arrays may be longer.
    - `slope_X`: receives minus the derivative of the loss with respect to each score.
    - `numbers`: the settings of the loss, from its `numbers()`.
    - `state`: one 64-bit number, the random state of losses that sample candidates.
    """

    def __init__(self, function: SlopeFunction) -> None:
        self.function = function

    @cached_property
    def pointer(self) -> Any:
        """The function pointer that compiled passes take."""
        return cfunc(_SIGNATURE, cache=True)(self.function)


@inlined
def best_gain(gain_X: Floats32, size: int) -> int:
    """The candidate with the highest gain; ties go to the first."""
    best = 0
    for x in range(1, size):
        if gain_X[x] > gain_X[best]:
            best = x
    return best


@inlined
def shares(value_X: Floats, size: int) -> float:
    """Replaces values by their shares of Σ exp(value); returns the natural log of that sum."""
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
    """A random number below `size` (SplitMix64)."""
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


@inner
def log_chances(scores: Floats, first: int, last: int, alone: bool) -> None:
    """Replaces scores[first:last], which must not be empty, by ln p.

    p is the softmax of the scores, or with `alone` the logistic function of each score.
    """
    if not alone:
        scores[first:last] -= log_sum_exp(scores, first, last)
        return
    for c in range(first, last):
        scores[c] = min(scores[c], 0.0) - np.log1p(np.exp(-abs(scores[c])))


EPSILON = 1e-8


class Learned(NamedTuple):
    """D dense and F sparse weights in training, and what steps remember about them.

    Attributes:
        dense_D, sparse_F: the weights; sparse ones in single or double precision.
        dense_squares_D, sparse_squares_F: sums of squared gradients, in single precision for sparse ones; empty without
            AdaGrad.
        dense_sum_D, sparse_sum_F: sums of a weight's values at the end of each step from 0 (its initial value) up to,
            but not including, the one it is settled to; empty when nothing is to be settled, and so is `touched_F`.
        touched_F: the step up to which a sparse weight is settled.
        clock_1: `clock_1[0]` counts steps.
    """

    dense_D: Floats
    sparse_F: AnyFloats
    dense_squares_D: Floats
    sparse_squares_F: Floats32
    dense_sum_D: Floats
    sparse_sum_F: Floats
    touched_F: Ints
    clock_1: Ints


class Rule(NamedTuple):
    """How slopes become a step.

    Attributes:
        eta_D, eta: step sizes of dense and of sparse weights; 0 keeps a weight as it is.
        adaptive: AdaGrad: steps are divided by the root of a weight's summed squared gradients.
        l1, l2: penalties on sparse weights. A step takes `eta · l1` off a weight's size, or the share `eta · l2` of it.
        every: penalties act on every weight before each step; otherwise only on the weights of a step, within it.
        settles: whether anything is to be settled: penalties on every weight, or an average.
        project: keep dense weights at or below 0.
    """

    eta_D: Floats
    eta: float
    adaptive: bool
    l1: float
    l2: float
    every: bool
    settles: bool
    project: bool


class Steps(NamedTuple):
    """Which loss a pass minimises, and how.

    Attributes:
        numbers: the settings of the loss, as its slope takes them.
        rule: how slopes become a step.
        use_sparse: whether sparse weights count in scores.
        curvature: add up Σ_k η_k g_k² of the gradients g, for the bound of Theorem A.1.
        negatives: how many of an instance's false candidates to sample, if it has more; each then also represents those
            left out. 0 uses all of them.
        batch: lists per step; their gradients are averaged.
    """

    numbers: Floats
    rule: Rule
    use_sparse: bool = True
    curvature: bool = False
    negatives: int = 0
    batch: int = 1


@inlined
def move_sparse(learned: Learned, rule: Rule, n: int, slope: float) -> None:
    """Moves sparse weight n along a slope, with the penalties that act on the weights of a step."""
    weight, rate = np.float64(learned.sparse_F[n]), rule.eta
    if not rule.every:
        slope = slope - rule.l2 * weight
    if rule.adaptive:
        learned.sparse_squares_F[n] += np.float32(slope * slope)
        rate /= np.sqrt(np.float64(learned.sparse_squares_F[n])) + EPSILON
    weight += rate * slope
    if rule.l1 > 0.0 and not rule.every:
        weight = np.sign(weight) * max(abs(weight) - rate * rule.l1, 0.0)
    learned.sparse_F[n] = weight


@inlined
def move_dense(learned: Learned, rule: Rule, d: int, slope: float, value: float) -> None:
    """Moves dense weight d along a slope of a candidate's score, times the candidate's value of the feature."""
    rate = rule.eta_D[d]
    if rate == 0.0:
        return
    if rule.adaptive:
        learned.dense_squares_D[d] += (slope * value) * (slope * value)
        rate /= np.sqrt(learned.dense_squares_D[d]) + EPSILON
    moved = learned.dense_D[d] + rate * slope * value
    learned.dense_D[d] = min(moved, 0.0) if rule.project else moved


@inner
def settle(learned: Learned, rule: Rule, n: int) -> None:
    """Brings sparse weight n and its sum to the present step."""
    missed = learned.clock_1[0] - learned.touched_F[n]
    if missed == 0:
        return
    learned.touched_F[n] = learned.clock_1[0]
    weight = np.float64(learned.sparse_F[n])
    if weight == 0.0:
        return
    rate = rule.eta
    if rule.adaptive:
        rate /= np.sqrt(np.float64(learned.sparse_squares_F[n])) + EPSILON
    less, keep = (rate * rule.l1, 1.0 - rate * rule.l2) if rule.every else (0.0, 1.0)
    size = abs(weight)
    if less > 0.0:
        whole = min(missed - 1, int(size / less))
        total = (whole + 1) * size - less * (0.5 * whole * (whole + 1))
        size = max(size - missed * less, 0.0)
    elif keep < 1.0:
        kept = keep**missed
        total = size * (1.0 - kept) / (1.0 - keep)
        size *= kept
    else:
        total = missed * size
    sign = 1.0 if weight > 0.0 else -1.0
    learned.sparse_sum_F[n] += sign * total
    learned.sparse_F[n] = sign * size


@loop
def settle_all(learned: Learned, rule: Rule) -> None:
    """Brings every sparse weight to the present step; call it before the penalties change."""
    for n in range(len(learned.touched_F)):
        settle(learned, rule, n)


@inlined
def begin_step(learned: Learned, rule: Rule) -> None:
    """Counts a step, and adds up the dense weights as they were before it."""
    learned.clock_1[0] += 1
    if rule.settles:
        for d in range(len(learned.dense_D)):
            learned.dense_sum_D[d] += learned.dense_D[d]
