"""Lexical accuracy."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.metrics.scores import lexical_statistics

WORDS = st.lists(st.sampled_from("abcd"), max_size=8)


def test_by_hand() -> None:
    stats = lexical_statistics([["a", "b", "b"]], [[["b", "a", "c", "d"]]])
    assert stats.values_SK.tolist() == [[2, 3, 4]]
    assert stats.score() == pytest.approx(100 * 4 / 7)


@given(hypothesis=WORDS, reference=WORDS)
def test_order_of_words_does_not_matter(hypothesis: list[str], reference: list[str]) -> None:
    score = lexical_statistics([hypothesis], [[reference]]).score()
    assert score == lexical_statistics([hypothesis[::-1]], [[sorted(reference)]]).score()
    assert (score == 100.0) == (Counter(hypothesis) == Counter(reference))


@given(hypothesis=WORDS, references=st.lists(WORDS, min_size=1, max_size=3))
def test_the_best_reference_counts(hypothesis: list[str], references: list[list[str]]) -> None:
    if not hypothesis:
        return
    alone = [lexical_statistics([hypothesis], [[reference]]).score() for reference in references]
    assert lexical_statistics([hypothesis], [references]).score() == max(alone)


def test_sentences_are_summed_not_averaged() -> None:
    stats = lexical_statistics([["a"], list("bbbb")], [[["a"]], [list("cccc")]])
    assert stats.score() == pytest.approx(100 * 2 / 10)
