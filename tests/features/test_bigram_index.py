"""The index of block bigrams: ids, thresholds and names."""

from __future__ import annotations

import numpy as np

from tests.phrases.small_corpora import (
    encoded,
    table_of,
)
from xlate.features.bigrams import BigramIndex, BlockNames
from xlate.phrases.blocks import BlockSet
from xlate.phrases.matching import collect_events, match_blocks
from xlate.text.vocabulary import Vocabulary


def counted(table, source, target) -> BlockSet:
    matches = match_blocks(table, source, target)
    return BlockSet.count(table, matches, collect_events(matches))


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
