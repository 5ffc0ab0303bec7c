"""Lexical tables by counting; Model 1 against maximisation written in dictionaries."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import assert_same, encoded, linked_pairs, linked_texts, random_corpus, table_of, texts
from xlate.align.lexical import NULL, Model1, dictionary, lexical_table
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.kernels.counting.alignment import model1_costs
from xlate.kernels.memory import find_all, pair_keys
from xlate.phrases.table import phrase_pairs
from xlate.text.vocabulary import Vocabulary


@given(linked_pairs())
def test_shares_are_those_of_counting(corpus):
    count = Counter()
    for source, target, links in corpus:
        count.update((source[i], target[j]) for i, j in links)
        count.update((word, NULL) for i, word in enumerate(source) if i not in {i for i, _ in links})
        count.update((NULL, word) for j, word in enumerate(target) if j not in {j for _, j in links})
    table = lexical_table(*linked_texts(corpus), decimals=None)
    assert list(zip(table.source_K.tolist(), table.target_K.tolist(), strict=True)) == sorted(count)
    for k, (s, t) in enumerate(sorted(count)):
        totals = [sum(n for pair, n in count.items() if pair[side] == word) for side, word in ((0, s), (1, t))]
        assert table.count_K[k] == count[s, t]
        assert table.target_given_source_K[k] == pytest.approx(count[s, t] / totals[0])
        assert table.source_given_target_K[k] == pytest.approx(count[s, t] / totals[1])


def test_parts_of_a_text_are_counted_in_little_memory(rng, monkeypatch):
    def traced():
        tracemalloc.start()
        table = lexical_table(*large)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return table, peak

    large = linked_texts(random_corpus(rng, 2000, 40, longest=9))
    whole, most = traced()
    monkeypatch.setattr("xlate.align.lexical.PART_SENTENCES", 100)
    parts, little = traced()
    assert little < most / 5
    assert_same(parts, whole)


def binomial(hits, tries, rate):
    """ln of Dunning's likelihood of a number of hits."""
    return hits * math.log(rate or 1) + (tries - hits) * math.log(1 - rate or 1)


def test_significance_is_dunnings_likelihood_ratio():
    # Links: a-x 3, a-y 1, b-x 1, b-y 5; chance would link a-y and b-x more often.
    links = [(3, 5)] * 3 + [(3, 6), (4, 5)] + [(4, 6)] * 5
    table = lexical_table(*linked_texts([([s], [t], {(0, 0)}) for s, t in links]))
    together = binomial(3, 4, 3 / 4) + binomial(1, 6, 1 / 6) - binomial(3, 4, 4 / 10) - binomial(1, 6, 4 / 10)
    assert list(zip(table.source_K, table.target_K, strict=True)) == [(3, 5), (3, 6), (4, 5), (4, 6)]
    assert table.significance_K == pytest.approx([2 * together, 0, 0, 2 * together])


def test_a_dictionary_by_hand():
    source, target = Vocabulary.build([["Haus", "alt", "3"]]), Vocabulary.build([["house", "home", "old", "3", "."]])
    pairs = ["Haus house"] * 3 + ["Haus home"] * 2 + ["alt old", "alt .", "3 3", "3 3"]
    ids = [(source.id(s), target.id(t)) for s, t in map(str.split, pairs)]
    table = lexical_table(*linked_texts([([s], [t], {(0, 0)}) for s, t in ids]))
    every = {"least_count": 1, "least_probability": 0.0, "least_significance": 0.0, "words_only": False, "most": None}

    def pairs_of(**given):
        found = dictionary(table, source, target, **(every | given))
        return [f"{word} {one.target}" for word, same in found.items() for one in same]

    old = dictionary(table, source, target, **every)["alt"][1]
    assert old[:4] == ("old", 0.5, 1.0, 1)
    assert pairs_of() == ["3 3", "alt .", "alt old", "Haus house", "Haus home"]
    assert pairs_of(words_only=True) == ["alt old", "Haus house", "Haus home"]
    assert pairs_of(most=1) == ["3 3", "alt .", "Haus house"]
    assert pairs_of(least_count=3) == ["Haus house"]
    assert pairs_of(least_probability=0.55) == ["3 3", "Haus house"]
    assert pairs_of(least_significance=5) == ["3 3"]


def test_shares_have_seven_decimals_and_rounding_never_gives_zero():
    table = lexical_table(*linked_texts([([3], [word], {(0, 0)}) for word in (4, 5, 6)]))
    assert table.target_given_source_K.tolist() == [0.3333333] * 3
    corpus = [([3] * 30, [4] + [5] * 29, [(i, i) for i in range(30)])]
    rare = lexical_table(*linked_texts(corpus), decimals=1)
    forward = dict(zip(rare.target_K.tolist(), rare.target_given_source_K.tolist(), strict=True))
    assert forward == {4: pytest.approx(1 / 30), 5: 1.0}


SENTENCES = st.lists(st.integers(3, 6), max_size=4)
CORPORA = st.lists(st.tuples(SENTENCES, SENTENCES), max_size=5)


def plain_model1(corpus, iterations):
    p = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        expected, total = defaultdict(float), defaultdict(float)
        for source, target in corpus:
            for s in source:
                below = sum(p[s, t] for t in [0, *target])
                for t in [0, *target]:
                    expected[s, t] += p[s, t] / below
                    total[t] += p[s, t] / below
        p = defaultdict(float, {(s, t): value / total[t] for (s, t), value in expected.items()})
    return p


def probability(model, source, target):
    """p(s|t), 0 for words that never stood in one sentence pair."""
    row = find_all(model.table, pair_keys(np.array([target]), np.array([source])))[0]
    return float(model.probability_K[row]) if row >= 0 else 0.0


@settings(max_examples=40)
@given(CORPORA, st.integers(1, 4))
def test_probabilities_equal_the_textbook(corpus, iterations):
    model = Model1.train(*texts(corpus), 7, iterations)
    expected = plain_model1(corpus, iterations)
    assert len(model.keys_K) == len(expected)
    for (s, t), value in expected.items():
        assert probability(model, s, t) == pytest.approx(value, rel=1e-12)
    for t in range(7):
        seen = [probability(model, s, t) for s in range(7)]
        assert not any(seen) or sum(seen) == pytest.approx(1)


def test_the_weight_of_a_phrase_pair_is_the_mean_over_null_and_the_target_words():
    corpus = [([3, 4], [5]), ([3], [5, 6])]
    model = Model1.train(*texts(corpus), 7, 2)
    pairs = phrase_pairs(table_of([([3, 4], [5]), ([3, 4], [5, 6])]))
    costs = model1_costs(pairs, model.table, model.probability_K, 0.2)
    expected = []
    for target in ([5], [5, 6]):
        factors = [sum(probability(model, s, t) for t in [0, *target]) / (len(target) + 1) for s in (3, 4)]
        expected.append(-sum(np.log(max(f, 0.2)) for f in factors))
    assert costs.tolist() == pytest.approx(expected, rel=1e-6)


def test_sides_of_unequal_length_are_refused():
    for count in (lambda *sides: lexical_table(*sides, Links.from_pairs([[]])), lambda *sides: Model1.train(*sides, 7)):
        with pytest.raises(InputError, match="differ in number of sentences"):
            count(encoded([[3]]), encoded([[3], [4]]))
