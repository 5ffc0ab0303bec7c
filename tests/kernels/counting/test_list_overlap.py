"""Shared n-grams of all pairs of a list, against counting each pair by itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.arrays.ragged import offsets_of
from xlate.kernels.counting.list_overlap import list_overlap

TEXTS = st.lists(st.lists(st.integers(0, 3), max_size=7), max_size=6)


def grams(text: list[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))


@given(TEXTS, st.integers(1, 6))
@settings(max_examples=200, deadline=None)
def test_every_pair_shares_what_both_have(texts: list[list[int]], order: int) -> None:
    flat = np.array([word for text in texts for word in text], dtype=np.int32)
    found = list_overlap(flat, offsets_of([len(text) for text in texts]), order)
    wanted = [[[sum((grams(a, n) & grams(b, n)).values()) for n in range(1, order + 1)] for b in texts] for a in texts]
    assert found.tolist() == wanted
