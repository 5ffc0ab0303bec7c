"""Accuracy and calibration of predictions, against counting one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.models.context.quality import Quality, reliability

# Instances of (probability, p(e|f), right) each, and how often their phrase was seen.
INSTANCES = [
    (5, [(0.7, 0.2, True), (0.2, 0.7, False), (0.1, 0.1, False)]),
    (9, [(0.5, 0.5, True), (0.5, 0.5, False)]),
    (10, [(0.05, 0.6, True), (0.95, 0.4, False)]),
    (5000, [(0.25, 0.3, False), (0.75, 0.7, True)]),
]


def quality() -> Quality:
    rows = [row for _, candidates in INSTANCES for row in candidates]
    p, share, right = (np.array(column) for column in zip(*rows, strict=True))
    offsets = np.cumsum([0] + [len(candidates) for _, candidates in INSTANCES])
    return Quality(offsets, np.log(p), np.log(share), right.astype(np.bool_), np.array([n for n, _ in INSTANCES]))


def test_accuracy_by_hand() -> None:
    made = quality()
    assert (made.accuracy, made.baseline) == (0.75, 0.75)
    bands = made.by_times()
    assert list(bands) == ["1-9", "10-99", "1000-"]
    assert [tuple(band.values()) for band in bands.values()] == [(2, 1.0, 0.5), (1, 0.0, 1.0), (1, 1.0, 1.0)]


def test_calibration_by_hand() -> None:
    best = quality().best
    assert best.count_B.tolist() == [0, 0, 0, 0, 0, 1, 0, 2, 0, 1]
    assert best.said_B[[5, 7, 9]] == pytest.approx([0.5, 0.725, 0.95])
    assert best.right_B[[5, 7, 9]] == pytest.approx([1.0, 1.0, 0.0])
    assert np.isnan(best.right_B[0])
    assert best.error == pytest.approx((0.5 + 2 * 0.275 + 0.95) / 4)
    assert quality().every.count_B.sum() == 9
    assert math.isnan(reliability(np.zeros(0), np.zeros(0, np.bool_)).error)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_bins_are_those_of_counting(rows: list[tuple[float, bool]]) -> None:
    bins = reliability(np.array([p for p, _ in rows]), np.array([right for _, right in rows]))
    for b in range(10):
        here = [(p, right) for p, right in rows if min(int(p * 10), 9) == b]
        assert bins.count_B[b] == len(here)
        if here:
            assert bins.said_B[b] == pytest.approx(sum(p for p, _ in here) / len(here))
            assert bins.right_B[b] == pytest.approx(sum(right for _, right in here) / len(here))
    assert 0 <= bins.error <= 1
