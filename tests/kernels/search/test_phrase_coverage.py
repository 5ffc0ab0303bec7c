"""Coverages of any length against Python's own numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from xlate.kernels.search.phrase_coverage import Spans, expand_cover, is_covered, new_coverages


@pytest.mark.parametrize("words", [1, 7, 63, 64, 65, 130])
@pytest.mark.parametrize("limit", [-1, 0, 2, 6])
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
