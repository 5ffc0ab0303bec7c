"""Block counts, costs and options: against counting by words, by hand, and from damaged files."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import (
    assert_same,
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
from xlate.kernels.pairs import LEFT, RIGHT
from xlate.phrases.blocks import BlockSet
from xlate.phrases.matching import collect_events, match_blocks

FLOOR = 1e-7


def block_set(table, source, target, counted=None) -> BlockSet:
    """The block set counted over the sentences that `counted` holds, over all without it."""
    matches = match_blocks(table, encoded(source), encoded(target))
    if counted is not None:
        matches = matches.select(np.isin(matches.sentence_M, sorted(counted)))
    return BlockSet.count(table, matches, collect_events(matches), FLOOR)


def counts_by_trial(table, corpus):
    """N(b), N_L(b), N_R(b) and N(b', b) by trying all spans and comparing every two matches."""
    count, by_side, bigram = Counter(), (Counter(), Counter()), Counter()
    for source, target in corpus:
        rows = matches_by_trial(table, source, target)
        count.update(row[0] for row in rows)
        for m, orientation, n in bigrams_by_trial(rows):
            by_side[orientation][rows[n][0]] += 1
            bigram[rows[m][0], rows[n][0]] += 1
    return count, by_side[LEFT], by_side[RIGHT], bigram


def lexical_cost_by_trial(table, count, b):
    """-ln p(S|T) as TZ07 section 3.1 writes it, from dictionaries."""
    together, alone = Counter(), Counter()
    for k in range(len(table)):
        source, target = phrase_of(table, k)
        if len(source) == len(target) == 1:
            together[source[0], target[0]] += count[k]
            alone[source[0]] += count[k]
    source, target = phrase_of(table, b)
    cost = 0.0
    for s in source:
        support = [together[s, t] / alone[s] for t in target if together[s, t]]
        cost -= math.log(max(sum(support) / len(support), FLOOR) if support else FLOOR)
    return cost


@settings(max_examples=50, deadline=None)
@given(st.data(), tables, corpora)
def test_equal_to_counting_by_trial_over_the_counted_sentences(data, table, corpus):
    counted = data.draw(st.sets(st.integers(0, len(corpus) - 1)))
    blocks = block_set(table, *([pair[side] for pair in corpus] for side in (0, 1)), counted)
    count, left, right, bigram = counts_by_trial(table, [corpus[s] for s in sorted(counted)])
    everything = range(len(table))
    for found_B, counted_B in ((blocks.count_B, count), (blocks.left_B, left), (blocks.right_B, right)):
        assert found_B.tolist() == [counted_B[b] for b in everything]
    assert [divmod(key, 1 << 32) for key in blocks.bigram_keys_U.tolist()] == sorted(bigram)
    assert blocks.bigram_count_U.tolist() == [bigram[pair] for pair in sorted(bigram)]
    expected = [lexical_cost_by_trial(table, count, b) for b in everything]
    np.testing.assert_allclose(blocks.lexical_B, expected, rtol=1e-6, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(tables, corpora)
def test_options_and_costs_equal_to_sorting_and_dividing(table, corpus):
    source, target = texts(corpus)
    matches = match_blocks(table, source, target)
    events = collect_events(matches)
    blocks = BlockSet.count(table, matches, events)
    options = defaultdict(list)
    for b in range(len(table)):
        options[phrase_of(table, b)[0]].append(b)
    offsets_P1, option_O = blocks.options
    for row, words in enumerate(sorted(options)):
        by_count = sorted(options[words], key=lambda b: (-blocks.count_B[b], b))
        assert option_O[offsets_P1[row] : offsets_P1[row + 1]].tolist() == by_count
    total = max(1, len(matches))
    unigram = [-math.log(max(number, 0.5) / total) for number in blocks.count_B.tolist()]
    np.testing.assert_allclose(blocks.unigram_cost_B, unigram, rtol=1e-6, atol=1e-6)
    for smoothing in (0.0, 0.5, 2.0):
        costs_B2 = blocks.orientation_cost_B2(smoothing).tolist()
        for costs, *seen in zip(costs_B2, blocks.left_B.tolist(), blocks.right_B.tolist(), strict=True):
            total = sum(seen) + 2 * smoothing
            shares = [(number + smoothing) / total if total else 0.5 for number in seen]
            # Without smoothing an orientation never seen has the least probability.
            assert costs == pytest.approx([-math.log(max(share, 1e-7)) for share in shares], rel=1e-6, abs=1e-6)


@pytest.fixture
def saved(tmp_path):
    table = table_of([([3], [3]), ([4], [4]), ([3, 4], [3, 4])])
    blocks = block_set(table, [[3, 4], [4, 3]], [[3, 4], [3, 4]])
    blocks.save(tmp_path / "blocks")
    return blocks, tmp_path / "blocks"


def test_what_was_saved_comes_back(saved):
    blocks, folder = saved
    assert_same(BlockSet.load(folder), blocks)


def test_a_block_set_over_another_table_is_refused(saved):
    _, folder = saved
    table_of([([3], [3])]).save(folder / "table")
    with pytest.raises(InputError, match="does not belong to the folder above"):
        BlockSet.load(folder)


def test_an_interrupted_save_over_an_older_block_set_is_no_block_set(saved, monkeypatch):
    blocks, folder = saved

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("xlate.arrays.stored.ArrayStream.finish", full)
    with pytest.raises(OSError, match="No space"):
        blocks.save(folder)
    monkeypatch.undo()
    with pytest.raises(InputError, match="not a complete block set"):
        BlockSet.load(folder)


def test_a_discount_makes_what_was_seen_once_cost_more():
    """a|x once, a|y twice, b|y once: without a discount a|x costs nothing."""
    table = table_of([([3], [3]), ([3], [4]), ([4], [4])])
    blocks = block_set(table, [(3,), (3,), (3,), (4,)], [(3,), (4,), (4,), (4,)])
    assert blocks.count_B.tolist() == [1, 2, 1]
    for discount, shares in ((0.0, [1, 2 / 3, 1 / 3]), (0.5, [0.5, 1.5 / 3, 0.5 / 3])):
        np.testing.assert_allclose(blocks.direct_cost_B(discount), -np.log(shares), atol=1e-6)


@pytest.mark.parametrize(
    ("costs", "value"),
    [
        *((BlockSet.orientation_cost_B2, smoothing) for smoothing in (-1.0, math.nan, math.inf)),
        *((BlockSet.direct_cost_B, discount) for discount in (-0.1, 1.0, math.nan)),
    ],
)
def test_unusable_smoothing_and_discounts_are_refused(costs, value):
    with pytest.raises(InputError, match="unusable"):
        costs(block_set(table_of([([3], [3])]), [(3,)], [(3,)]), value)
