"""Sums of exp over lists whose values are huge, or nothing but -inf; ordinary ones: test_list_losses.py."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from xlate.losses.lists import FlatLists

INF = math.inf


def test_huge_and_infinite_values() -> None:
    values = torch.tensor([1e4, 1e4, -1e4, -1e4, -INF, 3.0, -INF, -INF], dtype=torch.float64, requires_grad=True)
    logs = FlatLists(torch.tensor([0, 2, 4, 6, 8, 8])).logsumexp(values)
    assert logs.tolist() == pytest.approx([1e4 + math.log(2), -1e4 + math.log(2), 3.0, -INF, -INF])
    torch.logaddexp(logs, torch.zeros_like(logs)).sum().backward()
    assert values.grad is not None
    sigmoid = 1 / (1 + math.exp(-3))
    np.testing.assert_allclose(values.grad.numpy(), [0.5, 0.5, 0, 0, 0, sigmoid, 0, 0], atol=1e-12)
