"""Jumps and their costs against loops over words."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import assert_same, encoded, linked_pairs, linked_texts
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.phrases.distortion import Distortion, jumps
from xlate.text.vocabulary import BEGIN_ID

WORDS = 8


def plain_jumps(source, links):
    """(word left, word landed on, jump) of one sentence."""
    before, word, found = -1, BEGIN_ID, []
    for t in sorted({t for _, t in links}):
        linked = sorted(s for s, other in links if other == t)
        if linked[0] != before:
            found.append((word, source[linked[0]], linked[0] - before))
        before, word = linked[-1], source[linked[-1]]
    return found


@settings(max_examples=40)
@given(linked_pairs(), st.integers(1, 3))
def test_jumps_equal_a_walk_along_the_target_and_costs_the_formula(corpus, reach):
    source, _, links = linked_texts(corpus)
    found = [jump for words, _, pairs in corpus for jump in plain_jumps(words, pairs)]
    assert list(zip(*(array.tolist() for array in jumps(source, links)), strict=True)) == found
    model = Distortion.count(source, links, WORDS, reach, 2.0)
    cut = [(left, landed, max(-reach, min(reach, d))) for left, landed, d in found]
    overall = Counter(d for _, _, d in cut)
    for costs_VK, side in ((model.outbound_VK, 0), (model.inbound_VK, 1)):
        seen, words = Counter((row[side], row[2]) for row in cut), Counter(row[side] for row in cut)
        for word in range(WORDS):
            shares = []
            for d in range(-reach, reach + 1):
                share = (overall[d] + 1) / (len(cut) + 2 * reach + 1)
                shares.append((seen[word, d] + 2 * share) / (words[word] + 2))
                assert costs_VK[word, d + reach] == pytest.approx(-math.log(shares[-1]), rel=1e-5)
            assert sum(shares) == pytest.approx(1)
    assert model.reach == reach


def test_costs_come_back_from_disk(tmp_path):
    model = Distortion.count(encoded([[3, 4]]), Links.from_pairs([{(0, 1), (1, 0)}]), WORDS)
    model.save(tmp_path)
    assert_same(Distortion.load(tmp_path), model)


def test_links_of_another_text():
    with pytest.raises(InputError, match="unequal"):
        Distortion.count(encoded([]), Links.from_pairs([set()]), WORDS)
