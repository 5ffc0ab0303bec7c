"""Matching: against every pair of spans tried one by one, and on the edges.

Orientation bigrams: against comparing every two matches.

Filters: against comparing the sets of substrings, and the examples of the docstrings.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import (
    assert_same,
    bigrams_by_trial,
    corpora,
    encoded,
    matches_by_trial,
    phrase_of,
    sentence,
    table_of,
    tables,
    texts,
)
from xlate.errors import InputError
from xlate.phrases.matching import Matches, collect_events, match_blocks, occurring_blocks, shared_substrings_filter


def rows_of(matches: Matches, sentence: int) -> list[tuple[int, ...]]:
    low, high = matches.offsets_S1[sentence : sentence + 2]
    return [tuple(row) for row in matches.rows_M5[low:high].tolist()]


@settings(max_examples=60, deadline=None)
@given(tables, corpora)
def test_equal_to_trying_every_pair_of_spans(table, corpus):
    matches = match_blocks(table, *texts(corpus))
    assert len(matches.offsets_S1) == len(corpus) + 1
    for s, (source, target) in enumerate(corpus):
        assert rows_of(matches, s) == matches_by_trial(table, source, target)


def test_many_options_and_many_target_spans_find_the_same():
    """A source phrase with more blocks than the sentence has spans is looked up from the other side."""
    table = table_of([([3], [t]) for t in range(3, 60)])
    matches = match_blocks(table, encoded([[3]] * 2), encoded([[5, 5], list(range(3, 60)) * 2]))
    assert [row[3] for row in rows_of(matches, 0)] == [0, 1]
    assert len(rows_of(matches, 1)) == 2 * 57


def test_an_empty_table_and_an_empty_text_match_nothing():
    table = table_of([([3], [3])])
    nothing = match_blocks(table.select(np.array([False])), encoded([[3]]), encoded([[3]]))
    assert nothing.offsets_S1.tolist() == [0, 0]
    assert match_blocks(table, encoded([]), encoded([])).offsets_S1.tolist() == [0]


def test_sides_of_unequal_length_and_long_sentences_are_refused():
    table = table_of([([3], [3])])
    with pytest.raises(InputError, match="1 source and 2 target"):
        match_blocks(table, encoded([[3]]), encoded([[3], [3]]))
    with pytest.raises(InputError) as caught:
        match_blocks(table, encoded([[3], [3]]), encoded([[3], [3] * 40_000]))
    assert caught.value.line == 2


def test_a_match_of_long_phrases_is_found_and_comes_back_from_disk(tmp_path):
    phrase = range(3, 12)
    matches = match_blocks(table_of([(phrase, phrase)]), encoded([phrase]), encoded([phrase]))
    assert rows_of(matches, 0) == [(0, 0, 9, 0, 9)]
    matches.save(tmp_path)
    assert_same(Matches.load(tmp_path), matches)


def bigrams_of_all(matches):
    """`bigrams_by_trial` of every sentence, with match numbers of the whole text."""
    found = []
    for low, high in pairwise(matches.offsets_S1.tolist()):
        found += [(low + m, o, low + n) for m, o, n in bigrams_by_trial(matches.rows_M5[low:high].tolist())]
    return found


def bigrams_of(events):
    columns = (events.predecessor_E, events.orientation_E, events.successor_E)
    return list(zip(*(column.tolist() for column in columns), strict=True))


# Two predecessors of one source span, and a predecessor of two that begin at the same word.
NESTED = table_of([(words, words) for words in ([3], [4, 3], [5], [5, 5])]), [([4, 3, 5],) * 2, ([3, 5, 5],) * 2]


@example(*NESTED, False)
@example(*NESTED, True)
@settings(max_examples=100, deadline=None)
@given(tables, corpora, st.booleans())
def test_equal_to_comparing_every_two_matches(table, corpus, by_span):
    """The bigrams, grouped by predecessor or by predecessor and source span, and the matches without one."""
    matches = match_blocks(table, *texts(corpus))
    events, expected = collect_events(matches), bigrams_of_all(matches)
    assert bigrams_of(events) == expected
    groups = defaultdict(set)
    for m, o, n in expected:
        span = matches.rows_M5[n, 1:3].tolist() if by_span else ()
        groups[m, *span].add((m, o, n))
    found = events.by_span(matches) if by_span else events
    rows, ends = bigrams_of(found), found.group_offsets_G1.tolist()
    assert [set(rows[low:high]) for low, high in pairwise(ends)] == [groups[key] for key in sorted(groups)]
    assert found.group_G.tolist() == [m for m, *_ in sorted(groups)]
    assert (ends[0], ends[-1]) == (0, len(found)) == (0, len(expected))
    assert found.neutral_X.tolist() == sorted(set(range(len(matches))) - {n for _, _, n in expected})


sentences = st.lists(sentence, max_size=6)


def substrings(words, least=1):
    spans = [words[i:j] for i in range(len(words)) for j in range(i + least, len(words) + 1)]
    return {tuple(span) for span in spans if 0 not in span}


@settings(max_examples=50, deadline=None)
@given(sentences, sentences, st.integers(1, 4))
def test_shares_a_substring_of_an_allowed_length(source, test, least):
    allowed = set().union(*(substrings(words, least) for words in test))
    expected = [bool(substrings(words, least) & allowed) for words in source]
    assert shared_substrings_filter(encoded(source), encoded(test), min_words=least).tolist() == expected


@pytest.mark.parametrize("least", [0, 13])
def test_impossible_lengths_are_refused(least):
    with pytest.raises(InputError, match="length of common substrings"):
        shared_substrings_filter(encoded([[3]]), encoded([[3]]), min_words=least)


@settings(max_examples=50, deadline=None)
@given(tables, sentences)
def test_blocks_whose_source_phrase_occurs(table, test):
    occurring = set().union(*(substrings(words) for words in test))
    expected = [phrase_of(table, b)[0] in occurring for b in range(len(table))]
    assert occurring_blocks(table, encoded(test)).tolist() == expected
