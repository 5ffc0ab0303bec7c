"""Local softmax: by hand, against plain Python, its gradient, and where floating point ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.losses.instances import Instance, flat, instances, naive_loss
from xlate.losses.local_softmax import LocalSoftmax

INF = math.inf


def loss_and_gradient(given: list[Instance], sink: float = -4.0) -> tuple[float, list[float]]:
    scores_C, gain_C, offsets_I1 = map(torch.as_tensor, flat(given))
    scores_C.requires_grad_()
    loss = LocalSoftmax(sink)(scores_C, gain_C, offsets_I1)
    loss.backward()
    assert scores_C.grad is not None
    return float(loss.detach()), scores_C.grad.tolist()


def test_by_hand() -> None:
    """Scores 0 (true), 0 and ln 3: p = 1 / (1 + 1 + 3 + e^-4)."""
    loss, gradient = loss_and_gradient([[(0.0, True), (0.0, False), (math.log(3), False)]])
    total = 5 + 0.01831563888873418
    assert loss == pytest.approx(math.log(total), rel=1e-14)
    assert gradient == pytest.approx([1 / total - 1, 1 / total, 3 / total], rel=1e-14)


@settings(deadline=None, max_examples=40)
@given(instances(), st.floats(-6, 3))
def test_value_equals_plain_python(given: list[Instance], sink: float) -> None:
    assert loss_and_gradient(given, sink)[0] == pytest.approx(naive_loss(given, sink), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(
    ("instance", "loss", "gradient"),
    [
        ([(3.0, False), (1.0, False)], 0.0, [0, 0]),
        ([(1e4, True), (-1e4, False)], 0.0, [0, 0]),
        ([(-1e4, True), (1e4, False)], 2e4, [-1, 1]),
        ([(1e4, True), (1e4, False)], math.log(2), [-0.5, 0.5]),
        ([(-1e4, True), (-1e4, False)], 1e4 - 4, [-1, 0]),
        ([(0.0, True), (-INF, False)], math.log1p(math.exp(-4)), [1 / (1 + math.exp(-4)) - 1, 0]),
        ([(0.0, True), (-INF, False), (0.0, False)], math.log(2 + math.exp(-4)), [1 / (2 + math.exp(-4)) - 1, 0, None]),
    ],
)
def test_extreme_scores(instance: Instance, loss: float, gradient: list[float | None]) -> None:
    seen, seen_gradient = loss_and_gradient([instance])
    assert seen == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert np.isfinite(seen_gradient).all()
    for one, expected in zip(seen_gradient, gradient, strict=True):
        assert expected is None or one == pytest.approx(expected, abs=1e-12)
