"""Orientation bigrams: against comparing every two matches, and one sentence by hand."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
from hypothesis import given, settings

from tests.phrases.small_corpora import bigrams_by_trial, corpora, encoded, phrase_of, table_of, tables, texts
from xlate.kernels.orientation import LEFT, RIGHT
from xlate.phrases.events import collect_events
from xlate.phrases.matching import match_blocks


def bigrams_of_all(matches):
    """`bigrams_by_trial` of every sentence, with match numbers of the whole text."""
    found = []
    for low, high in pairwise(matches.offsets_S1.tolist()):
        found += [(low + m, o, low + n) for m, o, n in bigrams_by_trial(matches.rows_M5[low:high].tolist())]
    return found


def bigrams_of(events):
    columns = (events.predecessor_E, events.orientation_E, events.successor_E)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@settings(max_examples=150, deadline=None)
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


def test_a_sentence_with_a_swap_by_hand():
    # a=3 b=4 c=5 | A=3 C=5 B=4: B follows A's neighbour C on its left.
    table = table_of([([3], [3]), ([4], [4]), ([5], [5])])
    matches = match_blocks(table, encoded([[3, 4, 5]]), encoded([[3, 5, 4]]))
    source_words = [phrase_of(table, b)[0] for b in matches.block_M]
    assert source_words == [(3,), (5,), (4,)]
    events = collect_events(matches)
    assert bigrams_of(events) == [(1, LEFT, 2)]
    assert events.neutral_X.tolist() == [0, 1]


def test_the_orientations_of_figure_1():
    """TZ07, Figure 1: four blocks with the orientations N, L, N, R."""
    b1, b2, b3, b4 = range(4)
    table = table_of([([w], [w]) for w in (3, 4, 5, 6)])
    matches = match_blocks(table, encoded([[4, 3, 5, 6]]), encoded([[3, 4, 5, 6]]))
    assert [phrase_of(table, b)[1] for b in matches.block_M] == [(3,), (4,), (5,), (6,)]
    events = collect_events(matches)
    assert bigrams_of(events) == [(b1, LEFT, b2), (b3, RIGHT, b4)]
    assert events.neutral_X.tolist() == [b1, b3]


def test_one_predecessor_with_two_successors_is_one_group():
    # a b c | A B C and the blocks b|B, b c|B C.
    table = table_of([([3], [3]), ([4], [4]), ([4, 5], [4, 5])])
    events = collect_events(match_blocks(table, encoded([[3, 4, 5]]), encoded([[3, 4, 5]])))
    assert bigrams_of(events) == [(0, RIGHT, 1), (0, RIGHT, 2)]
    assert events.group_G.tolist() == [0]
    assert events.group_offsets_G1.tolist() == [0, 2]


def test_no_matches_have_no_events():
    events = collect_events(match_blocks(table_of([([3], [3])]), encoded([[4]]), encoded([[4]])))
    assert len(events) == 0
    assert events.group_offsets_G1.tolist() == [0]
    assert len(events.neutral_X) == 0


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
