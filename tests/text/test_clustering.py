"""Word classes by exchange."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.phrases.small_corpora import encoded
from xlate.errors import InputError
from xlate.text.clustering import exchange_classes


def likelihood(sentences, class_of):
    """From the definition: a class bigram model, sentence ends in a class of their own."""
    pairs, first, second = {}, {}, {}
    for s in sentences:
        row = ["#", *(class_of[w] for w in s), "#"]
        for a, b in itertools.pairwise(row):
            pairs[a, b] = pairs.get((a, b), 0) + 1
            first[a], second[b] = first.get(a, 0) + 1, second.get(b, 0) + 1
    total = sum(n * np.log(n) for n in pairs.values())
    return total - sum(n * np.log(n) for side in (first, second) for n in side.values())


@pytest.mark.parametrize("seed", range(2))
def test_likelihood_is_that_of_the_definition_and_never_falls(seed):
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(3, 15, size=rng.integers(0, 9)).tolist() for _ in range(60)]
    class_V, likelihoods = exchange_classes(encoded(sentences), 16, 4, seed)
    assert likelihoods[-1] == pytest.approx(likelihood(sentences, class_V.tolist()))
    assert (np.diff(likelihoods) >= -1e-9).all()
    used = sorted({w for s in sentences for w in s})
    assert (class_V[used] >= 0).all()
    assert (np.delete(class_V, used) == -1).all()
    # No exchange of one word is better.
    for word in used:
        for other in range(4):
            changed = class_V.copy()
            changed[word] = other
            assert likelihood(sentences, changed.tolist()) <= likelihoods[-1] + 1e-6


def test_a_seed_gives_the_same_classes():
    rng = np.random.default_rng(1)
    text = encoded([rng.integers(3, 60, size=12) for _ in range(100)])
    first, again, other = (exchange_classes(text, 60, 5, seed)[0].tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_few_words_and_few_classes():
    assert exchange_classes(encoded([[3, 4]]), 5, 7, 1)[0].tolist() == [-1, -1, -1, 0, 1]
    with pytest.raises(InputError, match="classes"):
        exchange_classes(encoded([[3]]), 4, 1, 1)
