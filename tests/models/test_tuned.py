"""Systems of costs as tuners see them: weights go in and come out, lists are those of the system under them."""

from __future__ import annotations

import itertools

import pytest

from tests.models.test_every_system import SYSTEMS
from xlate.models.tuned import TunedCosts
from xlate.text.vocabulary import Numbering

SENTENCES = [["a", "b"], ["b", "zz", "a"], ["d", "a"], []]


@pytest.mark.parametrize("name", ["block", "distortion more"])
def test_lists_are_those_of_the_system_under_the_weights(name: str) -> None:
    """The last weight scales the sparse features; their sum is what it is at weight 1."""
    tuned = TunedCosts(SYSTEMS[name]())
    weights = tuned.trained
    assert weights.dense_D[-1] == 1.0
    weights.dense_D[-1] = 2.5
    changed = tuned.weighted(weights)
    assert changed.weights.dense_D == pytest.approx(tuned.system.weights.dense_D)
    assert changed.weights.sparse_F == pytest.approx(tuned.system.weights.sparse_F * 2.5)
    for words, one in zip(SENTENCES, tuned.hypotheses(weights, SENTENCES, 5), strict=True):
        expected = changed.with_search(nbest=5).translate(words)
        scores = [derivation.score for derivation in expected]
        assert one.dense_CD @ weights.dense_D == pytest.approx(scores, abs=1e-4)
        ends, numbering = one.word_offsets_C1.tolist(), Numbering(tuned.system.target_vocabulary, words)
        texts = [list(numbering.words(one.words_T[a:b])) for a, b in itertools.pairwise(ends)]
        assert texts == [derivation.words for derivation in expected]
