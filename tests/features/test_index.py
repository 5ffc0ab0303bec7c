"""The index of block bigrams: ids, thresholds and names."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import (
    bigrams_by_trial,
    corpora,
    encoded,
    matches_by_trial,
    phrase_of,
    table_of,
    tables,
    texts,
)
from xlate.features.index import BlockNames, FeatureIndex
from xlate.phrases.blocks import BlockSet
from xlate.phrases.events import collect_events
from xlate.phrases.matching import match_blocks
from xlate.text.vocabulary import Vocabulary


def counted(table, source, target) -> BlockSet:
    matches = match_blocks(table, source, target)
    return BlockSet.count(table, matches, collect_events(matches), np.ones(len(matches), dtype=bool))


@settings(max_examples=60, deadline=None)
@given(tables, corpora, st.integers(0, 2))
def test_features_are_the_bigrams_above_the_threshold(table, corpus, threshold):
    index = FeatureIndex.frequent(counted(table, *texts(corpus)), ["BB"], threshold)
    seen = Counter()
    for source, target in corpus:
        rows = matches_by_trial(table, source, target)
        seen.update((rows[m][0], rows[n][0]) for m, _, n in bigrams_by_trial(rows))
    often = sorted(bigram for bigram, number in seen.items() if number > threshold)
    assert len(index) == len(often)
    pairs = [(before, b) for before in range(len(table) + 1) for b in range(len(table) + 1)]
    ids = {pair: i for i, pair in enumerate(often)}
    assert [index.id((pair[0] << 31) | pair[1]) for pair in pairs] == [ids.get(pair, -1) for pair in pairs]


def small() -> tuple[FeatureIndex, BlockNames]:
    """im|in before das|the and das haus|the house, das|the before haus|house and a bar, |."""
    source, target = Vocabulary(["im", "das", "haus", "|"]), Vocabulary(["in", "the", "house", "|"])
    table = table_of([([3], [3]), ([4], [4]), ([5], [5]), ([4, 5], [4, 5]), ([6], [6])])
    text = encoded([[3, 4, 5], [4, 6]])
    blocks = counted(table, text, text)
    return FeatureIndex.frequent(blocks, ["BB"], 0), BlockNames(blocks, source, target)


def test_names_are_words_in_the_order_of_the_ids():
    index, words = small()
    assert list(index.names(words)) == [
        "BB:im|in>das|the",
        "BB:im|in>das haus|the house",
        "BB:das|the>haus|house",
        "BB:das|the>|||",
    ]
    numbers = {phrase_of(words.blocks.table, b): b for b in range(len(words.blocks))}
    assert index.id((numbers[(3,), (3,)] << 31) | numbers[(4, 5), (4, 5)]) == 1


def test_names_of_large_block_numbers_are_cut_at_the_right_bit():
    _, words = small()
    assert words.feature((4 << 31) | 1) == f"BB:{words.block(4)}>{words.block(1)}"


def test_find_gives_the_first_names_that_hold_a_text():
    index, words = small()
    assert index.find("haus|", words) == [1, 2]
    assert index.find(">das", words) == [0, 1]
    assert index.find("das", words, limit=2) == [0, 1]
    assert index.find("Das", words) == []


def test_an_empty_index_knows_nothing():
    index = FeatureIndex.empty()
    _, words = small()
    assert len(index) == 0
    assert index.id(0) == -1
    assert list(index.names(words)) == []
