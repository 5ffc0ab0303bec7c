"""Phrases, estimates and costs of spans against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from xlate.kernels.learning.slopes import log_sum_exp
from xlate.kernels.search.spans import span_futures, span_rows
from xlate.phrases.matching import phrase_finder
from xlate.text.encoded import EncodedText


def test_rows_of_spans_by_dictionary(rng):
    found = 0
    for _ in range(20):
        phrases = sorted({tuple(rng.integers(0, 5, size=rng.integers(1, 5)).tolist()) for _ in range(60)})
        finder = phrase_finder(EncodedText.from_ids(np.array(p, dtype=np.int32) for p in phrases))
        ids_n = rng.integers(0, 6, size=9).astype(np.int32)
        longest = int(rng.integers(1, 6))
        rows = span_rows(finder, ids_n, longest)
        for start in range(9):
            for length in range(1, longest + 1):
                words = tuple(ids_n[start : start + length].tolist())
                known = len(words) == length and 0 not in words and words in phrases
                assert rows[start * longest + length - 1] == (phrases.index(words) if known else -1)
                found += known
    assert found > 50


def best_cutting(start, end, longest, offsets, alone, local) -> float:
    """The best sum over all ways to cut a span into cells that have options."""
    if start == end:
        return 0.0
    ways = []
    for middle in range(start + 1, min(end, start + longest) + 1):
        cell = start * longest + middle - start - 1
        scores = alone[offsets[cell] : offsets[cell + 1]]
        if len(scores):
            share = np.logaddexp.reduce(scores) if local else 0.0
            ways.append(scores.max() - share + best_cutting(middle, end, longest, offsets, alone, local))
    return max(ways)


@pytest.mark.parametrize("local", [False, True])
def test_futures_are_the_best_cutting(rng, local):
    for n, longest in ((1, 1), (4, 2), (6, 6), (7, 3)):
        sizes = [
            int(rng.integers(length == 1, 3)) if start + length <= n else 0
            for start in range(n)
            for length in range(1, longest + 1)
        ]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        alone = rng.normal(size=offsets[-1])
        futures = span_futures(n, longest, offsets, alone, local)
        for start in range(n + 1):
            for end in range(start, n + 1):
                expected = best_cutting(start, end, longest, offsets, alone, local)
                assert futures[start, end] == pytest.approx(expected)


def test_log_sum_exp_of_large_numbers():
    assert log_sum_exp(np.array([9.0, 1000.0, 1000.0, 2000.0]), 1, 3) == pytest.approx(1000 + np.log(2))
