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
    table_of,
    tables,
    texts,
)
from xlate.features.bigrams import BigramIndex, BlockNames, feature_keys
from xlate.phrases.blocks import BlockSet
from xlate.phrases.matching import collect_events, match_blocks
from xlate.text.vocabulary import Vocabulary


def counted(table, source, target) -> BlockSet:
    matches = match_blocks(table, source, target)
    return BlockSet.count(table, matches, collect_events(matches))


@settings(max_examples=60, deadline=None)
@given(tables, corpora, st.integers(0, 2))
def test_features_are_the_bigrams_above_the_threshold(table, corpus, threshold):
    index = BigramIndex.frequent(named(counted(table, *texts(corpus))), ["BB"], threshold)
    seen = Counter()
    for source, target in corpus:
        rows = matches_by_trial(table, source, target)
        seen.update((rows[m][0], rows[n][0]) for m, _, n in bigrams_by_trial(rows))
    often = sorted(bigram for bigram, number in seen.items() if number > threshold)
    assert len(index) == len(often)
    left_K, right_K = np.array(often, dtype=np.int32).reshape(-1, 2).T
    assert index.keys_F.tolist() == feature_keys("BB", left_K, right_K).tolist()


def named(blocks) -> BlockNames:
    """Names in which every word is the number of its place."""
    words = [Vocabulary(str(word) for word in range(phrases.ids_T.max(initial=0) + 1)) for phrases in
             (blocks.table.source_phrases, blocks.table.target_phrases)]  # fmt: skip
    return BlockNames(blocks, *words)


def small() -> BigramIndex:
    """im|in before das|the and das haus|the house, das|the before haus|house and a bar, |."""
    source, target = Vocabulary(["im", "das", "haus", "|"]), Vocabulary(["in", "the", "house", "|"])
    table = table_of([([3], [3]), ([4], [4]), ([5], [5]), ([4, 5], [4, 5]), ([6], [6])])
    text = encoded([[3, 4, 5], [4, 6]])
    blocks = counted(table, text, text)
    return BigramIndex.frequent(BlockNames(blocks, source, target), ["BB"], 0)


def test_names_are_words_in_the_order_of_the_ids():
    index = small()
    assert list(index.names(np.arange(len(index)))) == [
        "BB:im|in>das|the",
        "BB:im|in>das haus|the house",
        "BB:das|the>haus|house",
        "BB:das|the>|||",
    ]


def test_names_of_large_block_numbers_are_cut_at_the_right_bit():
    words = small().words
    assert words.feature((4 << 31) | 1) == f"BB:{words.block(4)}>{words.block(1)}"
