"""Local softmax where floating point ends."""

from __future__ import annotations

import math

import pytest
import torch

from xlate.losses.local_softmax import LocalSoftmax

# Of one of two candidates with equal scores, beside the sink.
SHARE = 1 / (2 + math.exp(-4))


@pytest.mark.parametrize(
    ("scores", "truth", "loss", "gradient"),
    [
        ([-1e4, 1e4], [1, -1], 2e4, [-1, 1]),
        ([1e4, 1e4], [1, -1], math.log(2), [-0.5, 0.5]),
        ([-1e4, -1e4], [1, -1], 1e4 - 4, [-1, 0]),
        ([0.0, -math.inf, 0.0], [1, -1, -1], -math.log(SHARE), [SHARE - 1, 0, SHARE]),
    ],
)
def test_extreme_scores(scores: list[float], truth: list[int], loss: float, gradient: list[float]) -> None:
    scores_C = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    value = LocalSoftmax()(scores_C, torch.tensor(truth), torch.tensor([0, len(truth)]))
    value.backward()
    assert float(value.detach()) == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert scores_C.grad.tolist() == pytest.approx(gradient, abs=1e-12)
