"""N-best lists as arrays: the compiled paths, features and parts are those of the readable definitions."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.models.phrase.definition import score_steps, sparse_ids
from tests.models.phrase.small_phrase_models import SPARSE_CASES, random_case
from tests.models.small_models import random_words
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.training import TunedPhrases
from xlate.text.vocabulary import Numbering


def words_of(decoder: PhraseDecoder, words: list[str]) -> list[list[str]]:
    """The target words of every hypothesis, from their numbers."""
    found = TunedPhrases(decoder).listing(decoder.weights, decoder, words)
    numbering = Numbering(decoder.model.target_vocabulary, words)
    return [numbering.words(found.words_T[a:b]) for a, b in pairwise(found.word_offsets_C1.tolist())]


@pytest.mark.parametrize(("kind", "templates"), SPARSE_CASES)
def test_features_and_parts_are_those_of_the_definitions(kind, templates):
    rng, model, weights_D, sparse_F = random_case([1, 2], kind, templates)
    search = PhraseSearch(algorithm="stack", stack=30, nbest=40, distinct=False, distortion_limit=4)
    decoder = PhraseDecoder(model, weights_D, search, sparse_F=sparse_F)
    for length in (1, 8, 66):
        words = random_words(rng, length)
        space = decoder.space(words)
        found = decoder.space_list(space)
        offsets_P1, ids_M = model.sparse.ids(found.parts[1])
        step = 0
        for derivation, target in zip(decoder.derivations(space, found), words_of(decoder, words), strict=True):
            expected = score_steps(model, weights_D, words, derivation.steps, sparse_F)
            assert derivation.features_D == pytest.approx(expected.features_D, abs=1e-9)
            assert derivation.score == pytest.approx(expected.score, abs=1e-9)
            assert derivation.words == expected.words == target
            offsets_N1, expected_ids = sparse_ids(model, words, derivation.steps)
            parts = found.parts[0][step : step + len(derivation.steps)]
            ids = [ids_M[offsets_P1[p] : offsets_P1[p + 1]].tolist() for p in parts]
            assert ids == [expected_ids[a:b].tolist() for a, b in pairwise(offsets_N1)]
            step += len(derivation.steps)


def test_lines_have_the_features_that_those_of_moses_have(rng):
    _, model, weights_D, _ = random_case(3, "wbe", None)
    decoder = PhraseDecoder(model, weights_D, PhraseSearch(algorithm="stack"))
    [found] = decoder.translate(random_words(rng, 6))
    assert [value for _, values in decoder.shown_features(found) for value in values] == found.features_D[:-1].tolist()
