"""Matching: against every pair of spans tried one by one, and on the edges.

Orientation bigrams: against comparing every two matches.

Filters: against comparing the sets of substrings, and the examples of the docstrings.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import (
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


def test_long_phrases_cut_from_the_sentences_are_found(rng):
    for _ in range(60):
        source, target = rng.integers(3, 7, size=(2, 9)).tolist()
        cuts = rng.integers((0, 1, 0, 1), (4, 8, 4, 8), size=(12, 4)).tolist()
        table = table_of([(source[s : s + n], target[t : t + m]) for s, n, t, m in cuts])
        found = rows_of(match_blocks(table, encoded([source]), encoded([target])), 0)
        assert found == matches_by_trial(table, source, target)


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


def test_saved_matches_come_back(tmp_path):
    matches = match_blocks(table_of([([3], [3])]), encoded([[3, 3]]), encoded([[3]]))
    matches.save(tmp_path)
    again = Matches.load(tmp_path)
    assert again.rows_M5.tolist() == matches.rows_M5.tolist()
    assert again.offsets_S1.tolist() == matches.offsets_S1.tolist()


def bigrams_of_all(matches):
    """`bigrams_by_trial` of every sentence, with match numbers of the whole text."""
    found = []
    for low, high in pairwise(matches.offsets_S1.tolist()):
        found += [(low + m, o, low + n) for m, o, n in bigrams_by_trial(matches.rows_M5[low:high].tolist())]
    return found


def bigrams_of(events):
    columns = (events.predecessor_E, events.orientation_E, events.successor_E)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@settings(max_examples=60, deadline=None)
@given(tables, corpora)
def test_equal_to_comparing_every_two_matches(table, corpus):
    matches = match_blocks(table, *texts(corpus))
    events = collect_events(matches)
    expected = bigrams_of_all(matches)
    assert bigrams_of(events) == expected
    followed = sorted({m for m, _, _ in expected})
    assert events.group_G.tolist() == followed
    sizes = [sum(m == g for m, _, _ in expected) for g in followed]
    assert np.diff(events.group_offsets_G1).tolist() == sizes
    assert events.group_offsets_G1[0] == 0
    assert events.neutral_X.tolist() == sorted(set(range(len(matches))) - {n for _, _, n in expected})


def groups_of(events):
    """The bigrams of every group as (predecessor, {(orientation, successor)})."""
    rows = bigrams_of(events)
    spans = pairwise(events.group_offsets_G1.tolist())
    return [
        (group, {(o, n) for m, o, n in rows[low:high] if m == group})
        for group, (low, high) in zip(events.group_G.tolist(), spans, strict=True)
    ]


@settings(max_examples=60, deadline=None)
@given(tables, corpora)
def test_groups_by_source_span(table, corpus):
    matches = match_blocks(table, *texts(corpus))
    expected = defaultdict(set)
    for m, o, n in bigrams_of_all(matches):
        expected[m, *matches.rows_M5[n, 1:3].tolist()].add((o, n))
    events = collect_events(matches).by_span(matches)
    assert groups_of(events) == [(m, bigrams) for (m, _, _), bigrams in sorted(expected.items())]
    assert events.group_offsets_G1[-1] == len(events) == sum(map(len, expected.values()))
    assert events.neutral_X.tolist() == collect_events(matches).neutral_X.tolist()


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
