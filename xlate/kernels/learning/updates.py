"""Steps on weights: plain or AdaGrad's, penalties on all weights or on those of a step, averages, weights kept below 0.

Step t first shrinks all sparse weights, then moves those of an instance. A weight that no instance has touched since
step s has only been shrunk, so `settle` can make up for the t - s steps at once, when the weight is next looked at:
it shrinks the weight as often, and adds what the weight was at the end of steps s to t - 1 to the sum that the
average is made of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyFloats, Floats, Floats32, Ints
from xlate.compiled import inlined, loop

EPSILON = 1e-8


class Learned(NamedTuple):
    """D dense and F sparse weights in training, and what steps remember of them.

    Attributes:
        dense_D, sparse_F: the weights; sparse ones in single or double precision.
        dense_squares_D, sparse_squares_F: sums of squared gradients, in single precision for sparse ones; empty without
            AdaGrad.
        dense_sum_D, sparse_sum_F: of all values of a weight at the end of steps 0 (where it began) to the one it is
            settled to, that one not counted; empty when nothing is to be settled, and so is `touched_F`.
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
    """How a step is made of slopes.

    Attributes:
        eta_D, eta: step sizes of dense and of sparse weights; 0 keeps a weight as it is.
        adaptive: AdaGrad: steps are divided by the root of a weight's summed squared gradients.
        l1, l2: penalties on sparse weights. A step takes `eta · l1` off a weight's size, or the share `eta · l2` of it.
        every: penalties act on every weight before each step; else on the weights of a step only, within it.
        settles: there is something to settle: penalties on every weight, or an average.
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
    """Moves dense weight d along a slope by a candidate's score times the candidate's value of the feature."""
    rate = rule.eta_D[d]
    if rate == 0.0:
        return
    if rule.adaptive:
        learned.dense_squares_D[d] += (slope * value) * (slope * value)
        rate /= np.sqrt(learned.dense_squares_D[d]) + EPSILON
    moved = learned.dense_D[d] + rate * slope * value
    learned.dense_D[d] = min(moved, 0.0) if rule.project else moved


@loop
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
    """Brings every sparse weight to the present step; to be done before the penalties change."""
    for n in range(len(learned.touched_F)):
        settle(learned, rule, n)


@inlined
def begin_step(learned: Learned, rule: Rule) -> None:
    """Counts a step, and adds up the dense weights as they were before it."""
    learned.clock_1[0] += 1
    if rule.settles:
        for d in range(len(learned.dense_D)):
            learned.dense_sum_D[d] += learned.dense_D[d]
