"""Hash tables, numbered keys, tries and rows against dictionaries and sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from tests.phrases.small_corpora import encoded
from xlate.arrays.ragged import offsets_of
from xlate.kernels.memory import (
    EMPTY,
    best_of_rows,
    build_table,
    distinct_rows,
    find,
    find_all,
    intern_rows,
    new_keys,
    number_of,
    preorder,
    room_for,
    spell,
)

KEYS = st.lists(st.integers(0, 2**64 - 2), unique=True, max_size=40)


@settings(deadline=None)
@given(KEYS, KEYS)
def test_equal_to_a_dictionary(keys: list[int], others: list[int]) -> None:
    table = build_table(np.array(keys, np.uint64))
    rows = {key: row for row, key in enumerate(keys)}
    asked = [*keys, *others, 2**64 - 1]
    expected = [rows.get(key, -1) for key in asked]
    assert find_all(table, np.array(asked, np.uint64)).tolist() == expected
    assert [find(table, np.uint64(key)) for key in asked[:3]] == expected[:3]
    assert len(keys) * 3 <= len(table.keys_H) * 2


@pytest.mark.parametrize("keys", [[5, 9, 5], [1, int(EMPTY)]])
def test_keys_that_do_not_fit(keys: list[int]) -> None:
    with pytest.raises(ValueError, match="appears twice or is the empty mark"):
        build_table(np.array(keys, np.uint64))


@njit(cache=True)
def number_all(keys_Q, capacity):
    keys = new_keys(capacity)
    number_Q = np.empty(len(keys_Q), np.int64)
    for q in range(len(keys_Q)):
        keys = room_for(keys, 1)
        number_Q[q] = number_of(keys, keys_Q[q])
    return keys, number_Q


def test_keys_are_numbered_as_they_come(rng):
    keys_Q = rng.integers(0, 3000, size=20_000).astype(np.uint64) << np.uint64(31)
    keys, number_Q = number_all(keys_Q, 1)
    size = int(keys.size_1[0])
    assert keys.keys_K[:size].tolist() == list(dict.fromkeys(keys_Q.tolist()))
    np.testing.assert_array_equal(keys.keys_K[number_Q], keys_Q)
    assert size > 2000


ROWS = st.lists(st.lists(st.integers(0, 3) | st.just(2**31 - 1), max_size=5), max_size=30)


@given(ROWS)
def test_nodes_stand_for_sequences(rows):
    text = encoded(rows)
    trie, node_S = intern_rows(text.ids_T, text.offsets_S1)
    distinct = {tuple(row) for row in rows}
    assert len({(tuple(row), int(node)) for row, node in zip(rows, node_S, strict=True)}) == len(distinct)
    assert len(set(node_S.tolist())) == len(distinct)
    prefixes = {row[:k] for row in distinct for k in range(len(row) + 1)} | {()}
    assert trie.size_1[0] == len(prefixes)
    ids_T, offsets_S1 = spell(trie.parent_N, trie.word_N, node_S)
    np.testing.assert_array_equal(ids_T, text.ids_T)
    np.testing.assert_array_equal(offsets_S1, text.offsets_S1)
    # Nodes in preorder are sequences in their order.
    size = len(prefixes)
    rank_N = preorder(trie.parent_N[:size], trie.word_N[:size])
    assert sorted(rank_N.tolist()) == list(range(size))
    assert [rows[s] for s in np.argsort(rank_N[node_S], kind="stable")] == sorted(rows)


def test_growing_keeps_what_was_there(rng):
    rows = [rng.integers(0, 10_000, size=rng.integers(0, 9)).tolist() for _ in range(3000)]
    text = encoded(rows)
    trie, node_S = intern_rows(text.ids_T, text.offsets_S1)
    assert trie.size_1[0] > 5000
    assert len(set(node_S.tolist())) == len({tuple(row) for row in rows})
    np.testing.assert_array_equal(spell(trie.parent_N, trie.word_N, node_S)[0], text.ids_T)


SCORES = st.lists(st.lists(st.sampled_from([0.0, -1.5, 2.0, 2.5, -np.inf]), max_size=30), max_size=6)


@settings(max_examples=60, deadline=None)
@given(SCORES, st.integers(0, 5))
def test_the_best_come_first_and_of_equals_the_first(rows: list[list[float]], most: int) -> None:
    offsets = offsets_of([len(row) for row in rows])
    scores = np.array([score for row in rows for score in row], np.float64)
    expected = [
        int(offsets[r]) + at
        for r, row in enumerate(rows)
        for at in sorted(range(len(row)), key=lambda at: -row[at])[:most]
    ]
    assert best_of_rows(scores, offsets, most).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=40))
def test_numbers_are_those_of_a_dictionary(rows: list[tuple[int, int]]) -> None:
    seen: dict[tuple[int, int], int] = {(0, 0): 0}
    expected = [seen.setdefault(row, len(seen)) for row in rows]
    floats_OK = np.array(rows, np.float64).reshape(-1, 2)
    number_O, first_F = distinct_rows(floats_OK.view(np.uint64))
    assert number_O.tolist() == expected
    assert [rows[first] for first in first_F.tolist()] == list(seen)[1:]
