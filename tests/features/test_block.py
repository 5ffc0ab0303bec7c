"""Families of sparse features of blocks, their names and numbers; optional floats by name.

The costs of blocks are tested where they are used: `tests/candidates/test_block_instances.py` builds them from words,
and the enumeration of `tests/models/small_models.py` scores them.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.small_models import block_set, model_and_arpa
from tests.phrases.small_corpora import (
    bigrams_by_trial,
    corpora,
    encoded,
    matches_by_trial,
    table_of,
    tables,
    texts,
)
from xlate.errors import InputError
from xlate.features.block import (
    FAMILIES,
    MORE_FLOATS,
    BigramIndex,
    BlockNames,
    MoreFloats,
    bigram_families,
    more_floats,
    sides,
    split_key,
    standing,
)
from xlate.phrases.blocks import BlockSet
from xlate.phrases.matching import collect_events, match_blocks
from xlate.text.vocabulary import Vocabulary


def test_names_are_told_from_a_models_own() -> None:
    assert more_floats(["block_count", "direct", "forward", "forward"]) == ("forward", "block_count")
    nothing = block_set({})
    assert MoreFloats.of(nothing, list(MORE_FLOATS)).of_units(np.array([-1], np.int32)).tolist() == [[0, 0, 1]]
    with pytest.raises(InputError, match=r"(?s)no such optional float.*direct.*forward_lexical"):
        MoreFloats.of(nothing, ["direct"])


def shown(blocks, family, before, b):
    """What a family sees, by words."""
    table = blocks.table
    phrases = [tuple(table.target_phrases[int(table.target_B[x])].tolist()) for x in (before, b)]
    return {"BB": (before, b), "TP": tuple(phrases), "WB": (phrases[0][-1], phrases[1][0])}[family]


def readable(blocks, key):
    """A key in the terms of `shown`."""
    family, left, right = split_key(key)
    if family != "TP":
        return family, (left, right)
    return family, tuple(tuple(blocks.table.target_phrases[row].tolist()) for row in (left, right))


@settings(max_examples=60, deadline=None)
@given(tables, corpora, st.integers(0, 2), st.sets(st.sampled_from(list(FAMILIES))))
def test_features_are_what_follows_itself_more_often_than_the_threshold(table, corpus, threshold, families):
    blocks = counted(table, *texts(corpus))
    seen = Counter()
    for source, target in corpus:
        rows = matches_by_trial(table, source, target)
        for m, _, n in bigrams_by_trial(rows):
            seen.update((family, shown(blocks, family, rows[m][0], rows[n][0])) for family in families)
    index = BigramIndex.frequent(named(blocks), sorted(families), threshold)
    keys = index.keys_F.tolist()
    assert keys == sorted(keys)
    assert {readable(blocks, key) for key in keys} == {what for what, number in seen.items() if number > threshold}
    assert [family for family, size in index.sizes for _ in range(size)] == [split_key(key)[0] for key in keys]


def test_names_tell_the_family_and_the_words():
    index = BigramIndex.frequent(small().words, ["WB", "TP", "BB"], 0)
    assert list(index.names(np.arange(len(index)))) == [
        "BB:im|in>das|the", "BB:im|in>das haus|the house", "BB:das|the>haus|house", "BB:das|the>|||",
        "TP:in>the", "TP:in>the house", "TP:the>house", "TP:the>|", "WB:in>the", "WB:the>house", "WB:the>|",
    ]  # fmt: skip


def test_a_family_nobody_knows():
    words = small().words
    with pytest.raises(InputError, match="no such family"):
        sides(words.blocks, "XY")


def test_blocks_that_end_alike_share_a_context_when_only_words_count():
    words = small().words
    index = BigramIndex.frequent(words, ["WB"], 0)
    last_B, _ = sides(words.blocks, "WB")
    begun = {split_key(key)[1] for key in index.keys_F.tolist()}
    first_with = {last: b for b, last in reversed(list(enumerate(last_B.tolist()))) if last in begun}
    assert index.standing_B1.tolist() == [*(first_with.get(last, -1) for last in last_B.tolist()), -1]
    nothing = np.zeros(0, np.uint64)
    families = bigram_families(words.blocks, nothing)
    assert (standing(families, nothing) == -1).all()


def test_a_model_under_other_weights_keeps_what_they_do_not_change():
    model, _ = model_and_arpa(1)
    before = model.families, model.blocks.table.source_finder, model.arrays
    weights = np.asarray(model.feature_weights)
    assert (weights != 0).any()
    other = model.reweighted(feature_weights=np.where(np.arange(len(weights)) == 0, 2.0, 0.0))
    assert other.families is before[0]
    assert other.blocks.table.source_finder is before[1]
    assert other.arrays.feature_weights_F.tolist() != before[2].feature_weights_F.tolist()
    # Fewer features have a weight, so fewer blocks need be told apart.
    some, all_of_them = (set(m.standing_B1.tolist()) for m in (other, model))
    assert len(some) < len(all_of_them)
    assert model.arrays is before[2]


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
