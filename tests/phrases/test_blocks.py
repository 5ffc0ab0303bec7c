"""Block counts, costs and options: against counting by words, by hand, and from damaged files."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
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
    assert len(blocks) == len(table)
    assert blocks.count_B.tolist() == [count[b] for b in everything]
    assert blocks.left_B.tolist() == [left[b] for b in everything]
    assert blocks.right_B.tolist() == [right[b] for b in everything]
    seen = {
        (key >> 32, key & 0xFFFFFFFF): number
        for key, number in zip(blocks.bigram_keys_U.tolist(), blocks.bigram_count_U.tolist(), strict=True)
    }
    assert seen == dict(bigram)
    assert blocks.bigram_keys_U.tolist() == sorted(blocks.bigram_keys_U.tolist())
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
    for smoothing in (0.5, 2.0):
        orientation = [
            [-math.log((number + smoothing) / (left + right + 2 * smoothing)) for number in (left, right)]
            for left, right in zip(blocks.left_B.tolist(), blocks.right_B.tolist(), strict=True)
        ]
        np.testing.assert_allclose(blocks.orientation_cost_B2(smoothing), orientation, rtol=1e-6, atol=1e-6)


def test_without_smoothing_an_orientation_never_seen_has_a_least_probability():
    table = table_of([([3], [3]), ([4], [4]), ([5], [5])])
    costs_B2 = block_set(table, [[3, 4, 5]], [[3, 4, 5]]).orientation_cost_B2(0.0)
    np.testing.assert_allclose(costs_B2[1, [LEFT, RIGHT]], [-math.log(1e-7), 0], rtol=1e-6)
    np.testing.assert_allclose(costs_B2[0], [math.log(2)] * 2, rtol=1e-6)


@pytest.fixture
def saved(tmp_path):
    table = table_of([([3], [3]), ([4], [4]), ([3, 4], [3, 4])])
    blocks = block_set(table, [[3, 4], [4, 3]], [[3, 4], [3, 4]])
    blocks.save(tmp_path / "blocks")
    return blocks, tmp_path / "blocks"


def test_what_was_saved_comes_back(saved):
    blocks, folder = saved
    again = BlockSet.load(folder)
    for name in ("count_B", "left_B", "right_B", "bigram_keys_U", "bigram_count_U", "lexical_B"):
        assert getattr(again, name).tolist() == getattr(blocks, name).tolist()
        assert getattr(again, name).dtype == getattr(blocks, name).dtype
    assert [phrase_of(again.table, b) for b in range(3)] == [phrase_of(blocks.table, b) for b in range(3)]


def test_a_block_set_over_another_table_is_refused(saved):
    _, folder = saved
    table_of([([3], [3])]).save(folder / "table")
    with pytest.raises(InputError, match="does not belong to the folder above"):
        BlockSet.load(folder)
    (folder / "table" / "header.json").unlink()
    with pytest.raises(InputError, match="not a complete phrase table"):
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


@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_a_discount_makes_what_was_seen_once_cost_more(discount):
    """a|x once, a|y twice, b|y once: without a discount a|x costs nothing."""
    table = table_of([([3], [3]), ([3], [4]), ([4], [4])])
    blocks = block_set(table, [(3,), (3,), (3,), (4,)], [(3,), (4,), (4,), (4,)])
    assert blocks.count_B.tolist() == [1, 2, 1]
    expected = [-math.log((n - discount) / total) for n, total in ((1, 1), (2, 3), (1, 3))]
    np.testing.assert_allclose(blocks.direct_cost_B(discount), expected, atol=1e-6)


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
