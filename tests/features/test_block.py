"""Features of blocks against the model's formulas; families, their names and numbers."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.small_models import block_set, model_and_arpa, unweighted
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
from xlate.errors import InputError
from xlate.features.block import (
    FAMILIES,
    FLOATS,
    MORE_FLOATS,
    BigramIndex,
    BlockNames,
    MoreFloats,
    begun_with,
    bigram_families,
    frequent_keys,
    more_floats,
    sides,
    split_key,
    standing,
)
from xlate.kernels.features.blocks import Before, Placed, bigrams_weight, block_costs
from xlate.kernels.pairs import NEUTRAL, RIGHT
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.matching import collect_events, match_blocks
from xlate.text.vocabulary import Vocabulary

ARPA = """\
\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-2.0\t<unk>
-99\t<s>\t-0.5
-1.0\t</s>
-0.7\tthe\t-0.3
-0.9\thouse\t-0.1

\\2-grams:
-0.2\t<s> the
-0.4\tthe house

\\end\\
"""
DAS, HAUS, TIER = 3, 4, 5
HOUSE, THE, CAT = 3, 4, 5
TARGET = Vocabulary(["house", "the", "cat"])


@pytest.fixture
def lm(tmp_path) -> NgramModel:
    (tmp_path / "tiny.arpa").write_text(ARPA)
    return NgramModel.from_arpa(read_arpa(tmp_path / "tiny.arpa"))


@pytest.fixture
def blocks() -> BlockSet:
    """das|the twice, haus|house once on its right and once on its left, das haus|the house once."""
    table = table_of([([DAS], [THE]), ([HAUS], [HOUSE]), ([DAS, HAUS], [THE, HOUSE]), ([TIER], [CAT])])
    sides = encoded([[DAS, HAUS], [HAUS, DAS]]), encoded([[THE, HOUSE]] * 2)
    matches = match_blocks(table, *sides)
    return BlockSet.count(table, matches, collect_events(matches))


def costs(blocks, lm, block, orientation, state):
    """The five costs by name, and the state behind the block."""
    numbers = {phrase_of(blocks.table, b): b for b in range(len(blocks))}
    keys_F = frequent_keys(blocks, "BB", 0)
    out_5 = np.full(5, np.nan, np.float32)
    arrays = unweighted(blocks, lm, TARGET, keys_F).feature_arrays
    after = block_costs(arrays, lm.arrays, Before(-1, 0, state), Placed(numbers[block], 0, orientation), out_5)
    return dict(zip(FLOATS, out_5.tolist(), strict=True)), after


def log10(value: float) -> float:
    """A log10 figure of the ARPA text as a natural one."""
    return value * math.log(10)


def test_a_block_at_the_beginning_of_a_sentence(blocks, lm):
    found, after = costs(blocks, lm, ((DAS, HAUS), (THE, HOUSE)), NEUTRAL, lm.begin_state)
    # N(b) is 1 of 5 matches; das and haus are each always the and house in the blocks of single words.
    expected = {
        "unigram": math.log(5),
        "orientation": 0.0,
        "lm_first": log10(0.2),
        "lm_rest": log10(0.4),
        "lexical": 0.0,
    }
    assert found == pytest.approx(expected, rel=1e-6)
    assert after == lm.score_words(0, np.array([lm.vocabulary.id("house")], np.int32))[1]


def test_a_block_never_matched_with_a_word_that_the_language_model_lacks(blocks, lm):
    found, after = costs(blocks, lm, ((TIER,), (CAT,)), RIGHT, lm.begin_state)
    expected = {
        "unigram": math.log(5 / 0.5),
        "orientation": math.log(2),
        "lm_first": log10(0.5 + 2.0),
        "lm_rest": 0.0,
        "lexical": -math.log(1e-7),
    }
    assert found == pytest.approx(expected, rel=1e-6)
    assert after == lm.empty_state


@pytest.fixture
def scored() -> BlockSet:
    """a|u with p(T|S) 0.5 and lex(T|S) 0.25, and b|v with neither."""
    blocks = block_set({("a", "u"): (2, 0, 0, 0.5), ("b", "v"): (1, 0, 0, 0.5)})
    scores_B4 = np.array([[0.1, 0.2, 0.5, 0.25], [1.0, 1.0, 0.0, 0.0]])
    return replace(blocks, table=replace(blocks.table, scores_B4=scores_B4))


def test_costs_are_of_the_forward_scores_with_a_highest_one(scored: BlockSet) -> None:
    found = MoreFloats.of(scored, ["block_count", "forward_lexical", "forward"])
    assert found.names == ("forward", "forward_lexical", "block_count")
    expected = [[math.log(2), math.log(4), 1.0], [100.0, 100.0, 1.0]]
    np.testing.assert_allclose(found.cost_BX, expected, rtol=1e-6)
    assert found.cost_BX.dtype == np.float32


def test_a_copied_word_is_one_block_and_costs_nothing_else(scored: BlockSet) -> None:
    found = MoreFloats.of(scored, ["forward", "block_count"]).of_units(np.array([-2, 1, 0], np.int32))
    np.testing.assert_allclose(found, [[0.0, 1.0], [100.0, 1.0], [math.log(2), 1.0]], rtol=1e-6)


def test_no_floats_have_no_columns() -> None:
    assert MoreFloats.none().of_units(np.array([3, -1], np.int32)).shape == (2, 0)
    nothing = block_set({})
    assert MoreFloats.of(nothing, list(MORE_FLOATS)).of_units(np.array([-1], np.int32)).tolist() == [[0, 0, 1]]


def test_names_are_told_from_a_models_own(scored: BlockSet) -> None:
    assert more_floats(["block_count", "direct", "forward", "forward"]) == ("forward", "block_count")
    with pytest.raises(InputError, match=r"(?s)no such optional float.*direct.*forward_lexical"):
        MoreFloats.of(scored, ["direct"])


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


@pytest.mark.parametrize("seed", range(6))
def test_the_context_of_a_block_scores_as_the_block_itself(seed):
    model, _ = model_and_arpa(seed)
    families, weights = model.families, model.arrays.feature_weights_F
    size = len(model.blocks)
    # A search asks for the blocks of a sentence only, among them words that are copied.
    blocks = np.array([b for b in range(size) if b % 3 != seed % 3] + [-1], np.int32)
    context_O = standing(families, model.begun, blocks)
    assert set(context_O.tolist()) <= set(blocks.tolist())
    assert context_O[-1] == -1
    differ = 0
    for before, context in zip(blocks[:-1].tolist(), context_O.tolist(), strict=False):
        scores = [float(bigrams_weight(families, weights, before, b)) for b in range(size)]
        stand_in = [float(bigrams_weight(families, weights, context, b)) if context >= 0 else 0.0 for b in range(size)]
        assert scores == stand_in
        differ += any(scores)
    assert differ > 0


def test_blocks_of_one_target_phrase_share_a_context_when_only_target_families_are_there():
    words = small().words
    blocks = words.blocks
    index = BigramIndex.frequent(words, ["WB"], 0)
    every = np.arange(len(blocks))
    context_B = standing(index.families, begun_with(index.families, index.keys_F), every)
    last_B, _ = sides(blocks, "WB")
    begun = {split_key(key)[1] for key in index.keys_F.tolist()}
    for b in range(len(blocks)):
        assert (context_B[b] >= 0) == (last_B[b] in begun)
        if context_B[b] >= 0:
            assert last_B[context_B[b]] == last_B[b]
    assert [family for family, _ in index.sizes] == ["WB"]
    nothing = np.zeros(0, np.uint64)
    families = bigram_families(blocks, nothing)
    assert (standing(families, begun_with(families, nothing), every) == -1).all()


def test_a_model_under_other_weights_keeps_what_they_do_not_change():
    model, _ = model_and_arpa(1)
    before = model.families, model.blocks.table.source_finder, model.arrays
    weights = np.asarray(model.feature_weights)
    assert (weights != 0).any()
    other = model.reweighted(feature_weights=np.where(np.arange(len(weights)) == 0, 2.0, 0.0))
    assert other.families is before[0]
    assert other.blocks.table.source_finder is before[1]
    assert other.arrays.feature_weights_F.tolist() != before[2].feature_weights_F.tolist()
    every = np.arange(len(model.blocks), dtype=np.int32)
    # Fewer features have a weight, so fewer blocks need be told apart.
    some, all_of_them = (set(standing(m.families, m.begun, every).tolist()) for m in (other, model))
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


def test_names_of_large_block_numbers_are_cut_at_the_right_bit():
    words = small().words
    assert words.feature((4 << 31) | 1) == f"BB:{words.block(4)}>{words.block(1)}"
