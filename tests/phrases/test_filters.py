"""Filters: against comparing the sets of substrings, and the examples of the docstrings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import encoded, phrase_of, sentence, table_of, tables
from xlate.errors import InputError
from xlate.phrases.filters import occurring_blocks, shared_substrings_filter

sentences = st.lists(sentence, max_size=6)


def substrings(words, least=1, most=12):
    spans = [words[i:j] for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    return {tuple(span) for span in spans if least <= len(span) <= most and 0 not in span}


@settings(max_examples=100, deadline=None)
@given(sentences, sentences, st.integers(1, 4), st.integers(0, 3))
def test_shares_a_substring_of_an_allowed_length(source, test, least, more):
    allowed = set().union(*(substrings(words, least, least + more) for words in test))
    expected = [bool(substrings(words, least, least + more) & allowed) for words in source]
    kept = shared_substrings_filter(encoded(source), encoded(test), min_words=least, max_words=least + more)
    assert kept.tolist() == expected


def test_the_example_of_the_docstring():
    das, haus, ist, klein, brennt = range(3, 8)
    kept = shared_substrings_filter(
        encoded([[das, haus, brennt], [klein, ist, das]]), encoded([[das, haus, ist, klein]]), min_words=2
    )
    assert kept.tolist() == [True, False]


def test_unknown_words_are_common_to_nothing():
    assert not shared_substrings_filter(encoded([[0, 3], [0, 0]]), encoded([[0, 3, 0, 0]]), min_words=2).any()


@pytest.mark.parametrize(("least", "most"), [(0, 12), (3, 2)])
def test_impossible_lengths_are_refused(least, most):
    with pytest.raises(InputError, match=f"{least} to {most}"):
        shared_substrings_filter(encoded([[3]]), encoded([[3]]), min_words=least, max_words=most)


@settings(max_examples=100, deadline=None)
@given(tables, sentences)
def test_blocks_whose_source_phrase_occurs(table, test):
    occurring = set().union(*(substrings(words) for words in test))
    expected = [phrase_of(table, b)[0] in occurring for b in range(len(table))]
    assert occurring_blocks(table, encoded(test)).tolist() == expected


def test_a_table_without_blocks_keeps_none():
    nothing = table_of([([3], [3])]).select(np.array([False]))
    assert occurring_blocks(nothing, encoded([[3]])).tolist() == []
