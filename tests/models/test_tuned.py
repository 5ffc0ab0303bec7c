"""Systems of costs as tuners see them: weights go in and come out, lists are those of the system under them."""

from __future__ import annotations

import itertools

import pytest

from tests.models.test_every_system import SYSTEMS
from xlate.models.tuned import TunedCosts
from xlate.text.vocabulary import Numbering

SENTENCES = [["a", "b"], ["b", "zz", "a"], ["d", "a"], []]


@pytest.fixture(params=["block", "distortion", "distortion more"])
def tuned(request: pytest.FixtureRequest) -> TunedCosts:
    return TunedCosts(SYSTEMS[request.param]())


def test_the_weights_it_has_give_its_own_translations(tuned: TunedCosts) -> None:
    found = tuned.hypotheses(tuned.trained, SENTENCES, 5)
    for words, one in zip(SENTENCES, found, strict=True):
        expected = tuned.system.with_search(nbest=5).translate(words)
        scores_C = one.dense_CD @ tuned.trained.dense_D
        assert scores_C == pytest.approx([derivation.score for derivation in expected], abs=1e-4)
        ends, numbering = one.word_offsets_C1.tolist(), Numbering(tuned.system.target_vocabulary, words)
        texts = [list(numbering.words(one.words_T[a:b])) for a, b in itertools.pairwise(ends)]
        assert texts == [derivation.words for derivation in expected]


def test_the_last_weight_scales_the_sparse_features(tuned: TunedCosts) -> None:
    weights = tuned.trained
    weights.dense_D[-1] = 2.5
    changed = tuned.weighted(weights)
    assert changed.weights.sparse_F == pytest.approx(tuned.system.weights.sparse_F * 2.5)
    # The feature is what it is at weight 1, so that weights times features is the score.
    for one, words in zip(tuned.hypotheses(weights, SENTENCES, 3), SENTENCES, strict=True):
        expected = [derivation.score for derivation in changed.with_search(nbest=3).translate(words)]
        assert one.dense_CD @ weights.dense_D == pytest.approx(expected, abs=1e-4)
