"""Segment functions against loops, with segments that hold nothing, or nothing but -inf."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.arrays.ragged import offsets_of
from xlate.losses.lists import FlatLists

INF = math.inf
SEGMENTS = st.lists(st.lists(st.floats(-50, 50), max_size=4), max_size=4)


def joined(segments: list[list[float]]) -> tuple[torch.Tensor, torch.Tensor]:
    values = torch.tensor([value for segment in segments for value in segment], dtype=torch.float64)
    return values, torch.as_tensor(offsets_of([len(segment) for segment in segments]))


@settings(deadline=None, max_examples=40)
@given(SEGMENTS)
def test_all_equal_loops(segments: list[list[float]]) -> None:
    values, offsets = joined(segments)
    lists = FlatLists(offsets)
    assert lists.ids_C.tolist() == [i for i, segment in enumerate(segments) for _ in segment]
    first = offsets_of([len(segment) for segment in segments]).tolist()
    best = [first[i] + s.index(max(s)) if s else -1 for i, s in enumerate(segments)]
    assert lists.argmax(values).tolist() == best
    assert lists.sum(values).tolist() == pytest.approx([math.fsum(s) for s in segments], abs=1e-10)
    logs = [math.log(sum(map(math.exp, segment))) if segment else -INF for segment in segments]
    assert lists.logsumexp(values).tolist() == pytest.approx(logs, abs=1e-10)


def test_huge_and_infinite_values() -> None:
    values, offsets = joined([[1e4, 1e4], [-1e4, -1e4], [-INF, 3.0], [-INF, -INF], []])
    values.requires_grad_()
    logs = FlatLists(offsets).logsumexp(values)
    assert logs.tolist() == pytest.approx([1e4 + math.log(2), -1e4 + math.log(2), 3.0, -INF, -INF])
    torch.logaddexp(logs, torch.zeros_like(logs)).sum().backward()
    assert values.grad is not None
    sigmoid = 1 / (1 + math.exp(-3))
    np.testing.assert_allclose(values.grad.numpy(), [0.5, 0.5, 0, 0, 0, sigmoid, 0, 0], atol=1e-12)
