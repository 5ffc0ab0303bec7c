"""The trie numbers equal sequences alike and others apart, and sorts them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.phrases.small_corpora import encoded
from xlate.kernels.memory.trie import intern_rows, preorder, spell

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


@given(ROWS)
def test_preorder_is_the_order_of_the_sequences(rows):
    text = encoded(rows)
    trie, node_S = intern_rows(text.ids_T, text.offsets_S1)
    size = int(trie.size_1[0])
    rank_N = preorder(trie.parent_N[:size], trie.word_N[:size])
    assert sorted(rank_N.tolist()) == list(range(size))
    by_rank = [rows[s] for s in np.argsort(rank_N[node_S], kind="stable")]
    assert by_rank == sorted(rows)


def test_growing_keeps_what_was_there(rng):
    rows = [rng.integers(0, 10_000, size=rng.integers(0, 9)).tolist() for _ in range(3000)]
    text = encoded(rows)
    trie, node_S = intern_rows(text.ids_T, text.offsets_S1)
    assert trie.size_1[0] > 5000
    assert len(set(node_S.tolist())) == len({tuple(row) for row in rows})
    np.testing.assert_array_equal(spell(trie.parent_N, trie.word_N, node_S)[0], text.ids_T)
