"""Estimates of spans, and coverages of any length, against plain Python."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from xlate.kernels.learning.slopes import log_sum_exp
from xlate.kernels.search.phrase_coverage import Spans, expand_cover, is_covered, new_coverages
from xlate.kernels.search.spans import option_words, span_futures


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


@pytest.mark.parametrize("words", [1, 7, 64, 130])
@pytest.mark.parametrize("limit", [-1, 0, 2])
def test_random_walks(words, limit):
    """From coverage to coverage by random edges: bits, gaps, estimates and the list of spans are right."""
    rng = np.random.default_rng([words, limit + 1])
    longest = min(3, words)
    filled = rng.random(words * longest) < 0.7
    filled[::longest] = True
    cell_offsets_C1 = np.concatenate([[0], np.cumsum(filled)])
    future_nn = rng.normal(size=(words + 1, words + 1))
    coverages, known = new_coverages(Spans(words, longest, limit, cell_offsets_C1, future_nn)), {0: 0}
    for _ in range(3):
        cover, covered = 0, 0
        while covered != (1 << words) - 1:
            coverages = expand_cover(expand_cover(coverages, cover), cover)
            described = coverages.covers[cover]
            assert [is_covered(coverages, cover, i) for i in range(words)] == [
                bool(covered >> i & 1) for i in range(words)
            ]
            check_description(described, covered, words, future_nn)
            edges = coverages.edges[described["edges_begin"] : described["edges_end"]]
            assert [(e["begin"], e["end"]) for e in edges] == spans(covered, words, longest, limit, filled)
            edge = edges[rng.integers(len(edges))]
            cover, covered = int(edge["cover"]), covered | (1 << int(edge["end"])) - (1 << int(edge["begin"]))
            assert known.setdefault(covered, cover) == cover
    assert len(set(known.values())) == len(known)


def check_description(described, covered, words, future_nn):
    gaps = [i for i in range(words + 1) if is_open(covered, i, words) != is_open(covered, i - 1, words)]
    pairs = list(zip(gaps[::2], gaps[1::2], strict=True))
    assert described["level"] == covered.bit_count()
    assert described["gap"] == pairs[0][0]
    assert described["between"] == sum(b[0] - a[1] for a, b in pairwise(pairs))
    assert described["future"] == pytest.approx(sum(future_nn[a, b] for a, b in pairs))


def spans(covered, words, longest, limit, filled):
    gap = next(i for i in range(words) if is_open(covered, i, words))
    return [
        (begin, end)
        for begin in range(words)
        for end in range(begin + 1, min(words, begin + longest) + 1)
        if all(is_open(covered, i, words) for i in range(begin, end))
        and (limit < 0 or begin == gap or end - gap <= limit)
        and filled[begin * longest + end - begin - 1]
    ]


def is_open(covered, i, words):
    return 0 <= i < words and not covered >> i & 1


def test_the_words_of_options_are_those_of_target_phrases_and_their_own() -> None:
    ids_T, offsets_Q1 = np.array([10, 11, 12, 20], np.int32), np.array([0, 3, 4])
    target_B, own_X = np.array([1, 0], np.int32), np.array([90, 91, 92], np.int32)
    unit_O, offsets_O1 = np.array([1, -1, 0, -2]), np.array([0, 3, 4, 5, 7])
    words_W = option_words(ids_T, offsets_Q1, target_B, own_X, unit_O, offsets_O1)
    assert words_W.tolist() == [10, 11, 12, 90, 20, 91, 92]
