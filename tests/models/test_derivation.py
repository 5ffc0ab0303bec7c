"""Sentences in pieces: the pieces translated one by one, their lists put together, and nothing else changed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.phrase.small_phrase_models import random_phrase_model, random_weights
from tests.models.small_models import jumping, model_and_arpa
from xlate.models.block.decoder import BlockDecoder, BlockSearch
from xlate.models.derivation import best_sums
from xlate.models.distortion import DistortionDecoder, DistortionSearch
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.text.tokens import cut

LONG = ["a", "b", "d", ".", "c", "a", ",", "b", "a", "b", "c", "d", "a", "a", "b", ".", "c"]
MODELS = ("phrase", "orientation", "distortion")


def decoder_of(kind: str, **search: object):
    """A decoder of a small random model."""
    if kind == "phrase":
        rng = np.random.default_rng(3)
        model = random_phrase_model(rng, "hier")
        return PhraseDecoder(model, random_weights(rng), PhraseSearch(**{"algorithm": "stack", **search}))  # type: ignore[arg-type]
    if kind == "orientation":
        return BlockDecoder(model_and_arpa(0)[0], BlockSearch(**search))  # type: ignore[arg-type]
    return DistortionDecoder(jumping(0)[0], DistortionSearch(**search))  # type: ignore[arg-type]


@given(st.lists(st.lists(st.integers(-9, 0), min_size=1, max_size=4), max_size=4), st.integers(1, 12))
def test_best_sums_are_those_of_the_enumeration(lists: list[list[int]], most: int) -> None:
    lists = [sorted(scores, reverse=True) for scores in lists]
    found = best_sums(lists, most)
    every = sorted((sum(choice) for choice in itertools.product(*lists)), reverse=True)
    assert [sum(scores[p] for scores, p in zip(lists, places, strict=True)) for places in found] == every[:most]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("kind", MODELS)
def test_the_best_of_a_long_sentence_are_the_best_of_its_pieces(kind: str) -> None:
    whole = decoder_of(kind, max_words=6).translate(LONG)
    spans = cut(LONG, 6)
    parts = [decoder_of(kind).translate(LONG[a:b])[0] for a, b in spans]
    assert spans == [(0, 4), (4, 7), (7, 13), (13, 17)]
    assert decoder_of(kind, max_words=len(LONG)).translate(LONG)[0].steps == decoder_of(kind).translate(LONG)[0].steps
    assert whole[0].words == [word for part in parts for word in part.words]
    assert whole[0].score == pytest.approx(sum(part.score for part in parts))
    assert list(whole[0].source) == LONG
    # Every source word is translated once, where it stands.
    assert sorted(n for step in whole[0].blocks for n in range(*step.source_span)) == list(range(len(LONG)))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("distinct", [True, False])
def test_lists_of_a_long_sentence(kind: str, distinct: bool) -> None:
    decoder = decoder_of(kind, max_words=6, nbest=7, distinct=distinct)
    found = decoder.translate(LONG)
    assert 1 < len(found) <= 7
    assert [d.score for d in found] == sorted((d.score for d in found), reverse=True)
    assert not distinct or len({tuple(d.words) for d in found}) == len(found)
    for derivation in found:
        assert derivation.score == pytest.approx(float(decoder.weights_D @ derivation.features_D))
        assert decoder.nbest_line(0, derivation).count(" ||| ") == (5 if kind == "phrase" else 4)
