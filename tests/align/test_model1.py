"""Model 1 against expectation maximisation written with dictionaries."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.align.model1 import Model1
from xlate.errors import InputError
from xlate.kernels.counting.lexical import NULL, model1_costs
from xlate.kernels.counting.sides import PhrasePairs
from xlate.text.encoded import EncodedText

SENTENCES = st.lists(st.integers(3, 6), max_size=4)
CORPORA = st.lists(st.tuples(SENTENCES, SENTENCES), max_size=5)


def text(sentences: list[list[int]]) -> EncodedText:
    return EncodedText.from_ids([np.array(s, dtype=np.int32) for s in sentences])


def plain_model1(corpus, iterations):
    p = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        expected, total = defaultdict(float), defaultdict(float)
        for source, target in corpus:
            for s in source:
                below = sum(p[s, t] for t in [NULL, *target])
                for t in [NULL, *target]:
                    expected[s, t] += p[s, t] / below
                    total[t] += p[s, t] / below
        p = defaultdict(float, {(s, t): value / total[t] for (s, t), value in expected.items()})
    return p


@given(CORPORA, st.integers(1, 4))
def test_probabilities_equal_the_textbook(corpus, iterations):
    model = Model1.train(text([s for s, _ in corpus]), text([t for _, t in corpus]), 7, iterations)
    expected = plain_model1(corpus, iterations)
    assert len(model.keys_K) == len(expected)
    for (s, t), value in expected.items():
        assert model.probability(s, t) == pytest.approx(value, rel=1e-12)
    for t in range(7):
        seen = [model.probability(s, t) for s in range(7)]
        assert not any(seen) or sum(seen) == pytest.approx(1)


def test_words_that_come_together_find_each_other():
    corpus = [([3, 4], [5, 6]), ([3], [5]), ([4, 3], [6, 5])] * 3
    model = Model1.train(text([s for s, _ in corpus]), text([t for _, t in corpus]), 7, 30)
    assert model.probability(3, 5) > 0.8
    assert model.probability(4, 6) > 0.8


def test_the_weight_of_a_phrase_pair_is_the_mean_over_null_and_the_target_words():
    corpus = [([3, 4], [5]), ([3], [5, 6])]
    model = Model1.train(text([s for s, _ in corpus]), text([t for _, t in corpus]), 7, 2)
    phrases = text([[3, 4], [5, 6], [5]])
    costs = model1_costs(
        PhrasePairs(
            np.array([0, 0], np.int32), np.array([1, 2], np.int32), phrases.ids_T, phrases.offsets_S1, phrases.ids_T,
            phrases.offsets_S1,
        ),
        model.table, model.probability_K, 0.2,
    )  # fmt: skip
    expected = []
    for target in ([5, 6], [5]):
        factors = [sum(model.probability(s, t) for t in [NULL, *target]) / (len(target) + 1) for s in (3, 4)]
        expected.append(-sum(np.log(max(f, 0.2)) for f in factors))
    assert costs.tolist() == pytest.approx(expected, rel=1e-6)


def test_sides_of_unequal_length():
    with pytest.raises(InputError, match="sides of unequal length"):
        Model1.train(text([[3]]), text([]), 7)
