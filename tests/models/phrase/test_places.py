"""Scores of the places where phrases are put: by their definition, and cube pruning against stack search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.models.phrase.small_phrase_models import RandomPlaces, random_phrase_model, random_weights
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.sentence_scores import SentencePhrases

WORDS = ["d", "a", "b", "zz", "c"]


def placed(seed: int, kind: str, **search: object) -> PhraseDecoder:
    rng = np.random.default_rng(seed)
    model = replace(random_phrase_model(rng, kind), placed=RandomPlaces())
    settings = {"stack": 10**9, "threshold": 0.0, "options": 3, "nbest": 200, **search}
    return PhraseDecoder(model, random_weights(rng, model.size), PhraseSearch(**{"algorithm": "stack", **settings}))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["wbe", "hier"])
def test_cubes_without_limits_find_what_stacks_find(kind: str) -> None:
    stacks = placed(1, kind)
    cubes = stacks.with_search(algorithm="cube", pop_limit=10**6)
    found, expected = ([d.score for d in one.translate(WORDS)] for one in (cubes, stacks))
    assert found == pytest.approx(expected, abs=1e-9)
    assert len(found) == 200


def test_the_float_is_the_sum_over_phrases_of_their_places() -> None:
    system = placed(2, "hier")
    slot, places, moved = system.model.place_slot, RandomPlaces(), 0
    assert system.model.columns[slot] == "Place0"
    for derivation in system.translate(WORDS)[:50]:
        total, covered = 0.0, 0
        for step in derivation.steps:
            start, end = step.source_span
            shift = max(-1, min(1, covered - start))
            moved += shift != 0
            scores = places.of(SentencePhrases(WORDS, np.array([start]), np.array([end]), np.array([step.unit])))
            total += scores[0, shift + 1]
            covered += end - start
        assert derivation.features_D[slot] == pytest.approx(total)
    assert moved > 10


@pytest.mark.parametrize("algorithm", ["stack", "cube"])
def test_the_best_translation_scores_what_its_floats_weigh(algorithm: str) -> None:
    """Its score is the sum that the compiled search made, its floats are from their definitions."""
    for seed in range(5):
        system = placed(seed, "wbe", nbest=1, algorithm=algorithm, pop_limit=10**6)
        [best] = system.translate(WORDS)
        assert best.score == pytest.approx(float(system.weights_D @ best.features_D))
