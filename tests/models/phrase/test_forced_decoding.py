"""Forced decoding to a given translation: the best of all derivations that have its words."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.phrase.small_phrase_models import enumerate_derivations
from tests.models.phrase.test_sparse import random_case
from tests.models.small_models import random_words
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch


@pytest.mark.parametrize("kind", [None, "wbe", "hier", "hier5"])
def test_the_best_derivation_of_every_translation_is_found(kind):
    rng, model, weights_D, sparse_F = random_case(4, kind, "bigrams" if kind == "wbe" else "every")
    search = PhraseSearch(algorithm="stack", stack=10**9, threshold=0.0, distortion_limit=3, options=1)
    decoder = PhraseDecoder(model, weights_D, search, sparse_F=sparse_F)
    whole = PhraseSearch(algorithm="stack", stack=10**9, threshold=0.0, distortion_limit=3, options=100)
    for length in (1, 3, 4):
        words = [*random_words(rng, length)[: length - 1], "zz"]
        best = {}
        for derivation in enumerate_derivations(model, weights_D, whole, words, sparse_F):
            best.setdefault(tuple(derivation.words), derivation.score)
        for target in list(best)[:: max(1, len(best) // 40)]:
            found = decoder.force(words, target)
            assert found is not None
            assert tuple(found.words) == target
            assert found.score == pytest.approx(best[target], abs=1e-9)


def test_what_cannot_be_reached_is_none():
    _, model, weights_D, _ = random_case(4, "hier", "local")
    decoder = PhraseDecoder(model, weights_D, PhraseSearch(algorithm="stack"))
    assert decoder.force(["a", "b"], ["nowhere"]) is None
    assert decoder.force(["a", "b"], []) is None
    assert decoder.force([], ["u"]) is None
    nothing = decoder.force([], [])
    assert nothing is not None
    assert nothing.words == []
    assert np.isfinite(decoder.force(["zz"], ["zz"]).score)
