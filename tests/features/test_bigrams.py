"""The binary families: what counts as a feature, and which blocks a decoder may take for one another."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.features.test_bigram_index import counted, named, small
from tests.models.small_models import model_and_arpa
from tests.phrases.small_corpora import bigrams_by_trial, corpora, matches_by_trial, tables, texts
from xlate.errors import InputError
from xlate.features.bigrams import FAMILIES, BigramIndex, Contexts, bigram_families, families_of, sides, split_key
from xlate.kernels.features.blocks import bigrams_weight


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
    assert [family for family, ids in index.ranges for _ in keys[ids]] == [split_key(key)[0] for key in keys]


def test_names_tell_the_family_and_the_words():
    index = BigramIndex.frequent(small().words, ["WB", "TP"], 0)
    assert list(index.names(np.arange(len(index)))) == [
        "TP:in>the", "TP:in>the house", "TP:the>house", "TP:the>|", "WB:in>the", "WB:the>house", "WB:the>|",
    ]  # fmt: skip


def test_a_family_nobody_knows():
    words = small().words
    with pytest.raises(InputError, match="no such family"):
        sides(words.blocks, "XY")


@pytest.mark.parametrize("seed", range(6))
def test_the_context_of_a_block_scores_as_the_block_itself(seed):
    model, _ = model_and_arpa(seed)
    families, weights = model.families, model.arrays.feature_weights_F
    size = len(model.blocks)
    # A search asks for the blocks of a sentence only, among them words that are copied.
    blocks = np.array([b for b in range(size) if b % 3 != seed % 3] + [-1], dtype=np.int32)
    context_O = model.contexts.standing(blocks)
    assert set(context_O.tolist()) <= set(blocks.tolist())
    assert context_O[-1] == -1
    differ, shared = 0, 0
    for before, context in zip(blocks[:-1].tolist(), context_O.tolist(), strict=False):
        scores = [float(bigrams_weight(families, weights, before, b)) for b in range(size)]
        stand_in = [float(bigrams_weight(families, weights, context, b)) if context >= 0 else 0.0 for b in range(size)]
        assert scores == stand_in
        differ += any(scores)
        shared += context not in (-1, before)
    assert differ > 0


def test_blocks_of_one_target_phrase_share_a_context_when_only_target_families_are_there():
    words = small().words
    blocks = words.blocks
    index = BigramIndex.frequent(words, ["WB"], 0)
    every = np.arange(len(blocks))
    context_B = Contexts.of(bigram_families(blocks, index.keys_F), index.keys_F).standing(every)
    last_B, _ = sides(blocks, "WB")
    begun = {split_key(key)[1] for key in index.keys_F.tolist()}
    for b in range(len(blocks)):
        assert (context_B[b] >= 0) == (last_B[b] in begun)
        if context_B[b] >= 0:
            assert last_B[context_B[b]] == last_B[b]
    assert families_of(index.keys_F) == ("WB",)
    nothing = np.zeros(0, np.uint64)
    assert (Contexts.of(bigram_families(blocks, nothing), nothing).standing(every) == -1).all()


def test_a_model_under_other_weights_keeps_what_they_do_not_change():
    model, _ = model_and_arpa(1)
    before = model.families, model.source_finder, model.arrays
    weights = np.asarray(model.feature_weights)
    assert (weights != 0).any()
    other = model.reweighted(feature_weights=np.where(np.arange(len(weights)) == 0, 2.0, 0.0))
    assert other.families is before[0]
    assert other.source_finder is before[1]
    assert other.arrays.feature_weights_F.tolist() != before[2].feature_weights_F.tolist()
    every = np.arange(len(model.blocks), dtype=np.int32)
    # Fewer features have a weight, so fewer blocks need be told apart.
    assert len(set(other.contexts.standing(every).tolist())) < len(set(model.contexts.standing(every).tolist()))
    assert model.arrays is before[2]
