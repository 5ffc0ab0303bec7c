"""Features with history in every search, list, lattice and forced derivation, against their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.models import test_every_system as suite
from tests.models.phrase.small_phrase_models import enumerate_derivations, random_case, random_weights
from xlate.array_types import Floats
from xlate.errors import InputError
from xlate.kernels.search.phrase_moves import BEGIN, COVERED, END, END_BEFORE
from xlate.models.derivation import Step
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.history import HistoryFeature, histories_named
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.options import PlacedPhrases

WHOLE = {"algorithm": "stack", "stack": 10**9, "threshold": 0.0, "distortion_limit": 3, "options": 10}


def first_and_last(_: PhraseModel, phrases: PlacedPhrases) -> Floats:
    return np.stack([phrases.first_O, phrases.last_O], axis=1).reshape(-1).astype(np.float64)


def words_move(state, option, _place, data, after):
    """The last word before a phrase with its first word, and with the end; words before the first are numbered 0."""
    if option < 0:
        return np.sin(state + 0.5)
    after[0] = int(data[2 * option + 1])
    return np.sin(3.0 * state + 7.0 * data[2 * option])


def jumps_move(state, option, place, _data, after):
    """How many phrases in a row began elsewhere than where the one before ended, and how much was translated."""
    if option < 0:
        return -0.25 * state
    after[0] = min(state + 1, 3) if place[BEGIN] != place[END_BEFORE] else 0
    return np.sin(after[0] + 0.1 * place[COVERED] + (place[END] - place[BEGIN]))


WORDS = HistoryFeature("Words0", first_and_last, words_move, lambda _, phrases: np.sin(phrases.first_O * 1.0))
JUMPS = HistoryFeature("Jumps0", lambda *_: np.zeros(0), jumps_move)


def values(model: PhraseModel, steps: tuple[Step, ...]) -> tuple[float, float]:
    """Both features of a derivation, from their definitions."""
    words, jumps, last, row, at, covered = 0.0, 0.0, 0, 0, 0, 0
    for step in steps:
        ids = model.target_vocabulary.ids(step.target_words).tolist()
        words, last = words + np.sin(3.0 * last + 7.0 * ids[0]), ids[-1]
        begin, end = step.source_span
        row = min(row + 1, 3) if begin != at else 0
        jumps += np.sin(row + 0.1 * covered + end - begin)
        at, covered = end, covered + end - begin
    return words + np.sin(last + 0.5), jumps - 0.25 * row


CASES = [((WORDS,), "hier"), ((JUMPS, WORDS), "wbe")]
KINDS = pytest.mark.parametrize(("features", "kind"), CASES)


def system(features: tuple[HistoryFeature, ...], kind: str, **search: object) -> PhraseDecoder:
    _, model, _, sparse_F = random_case(5, kind, "every" if kind == "hier" else "bigrams")
    model = replace(model, histories=features)
    weights_D = random_weights(np.random.default_rng(1), model.size)
    weights_D[model.history_slots] = [0.9, -0.8][: len(features)]
    return PhraseDecoder(model, weights_D, PhraseSearch(**{**WHOLE, **search}), sparse_F=sparse_F)  # type: ignore[arg-type]


@KINDS
def test_every_search_sorts_derivations_by_the_definitions(features: tuple[HistoryFeature, ...], kind: str) -> None:
    decoder = system(features, kind, nbest=10**6, distinct=False)
    model, words, slots = decoder.model, ["a", "zz", "c"], decoder.model.history_slots
    plain_D, weights_K = np.delete(decoder.weights_D, slots), decoder.weights_D[slots]
    floats, score_of, best_of = {}, {}, {}
    plain = replace(model, histories=())
    for found in enumerate_derivations(plain, plain_D, decoder.search, words, decoder.sparse_F):
        named = dict(zip(("Words0", "Jumps0"), values(model, found.steps), strict=True))
        floats[found.steps] = [named[feature.name] for feature in features]
        score_of[found.steps] = found.score + float(weights_K @ floats[found.steps])
        target = tuple(found.words)
        best_of[target] = max(best_of.get(target, -np.inf), score_of[found.steps])
    for one in (decoder, decoder.changed(fast=False), decoder.with_search(algorithm="cube", pop_limit=10**9)):
        assert one.with_search(nbest=1).translate(words)[0].score == pytest.approx(max(score_of.values()), abs=1e-9)
        listed = one.translate(words)
        assert len(listed) == len(score_of)
        for derivation in listed:
            assert derivation.score == pytest.approx(score_of[derivation.steps], abs=1e-9)
            assert derivation.features_D[slots] == pytest.approx(floats[derivation.steps], abs=1e-9)
    for target, score in list(best_of.items())[:: max(1, len(best_of) // 10)]:
        forced = decoder.force(words, target)
        assert forced.score == pytest.approx(score, abs=1e-9)


@KINDS
def test_lattices_and_beams(features: tuple[HistoryFeature, ...], kind: str) -> None:
    suite.test_arcs_have_the_features_of_their_derivations(system(features, kind, options=2))
    decoder = system(features, kind, stack=20, options=3)
    words = ["a", "b", "zz", "d", "c", "a", "b", "d"]
    slow = decoder.changed(fast=False).translate(words)[0]
    assert decoder.translate(words)[0].steps == slow.steps


def test_refusals() -> None:
    with pytest.raises(InputError, match="two features with the same name"):
        HistoryFeature("Words0", first_and_last, words_move)
    with pytest.raises(InputError, match="feature with history"):
        histories_named(["Nothing0"])
    with pytest.raises(InputError, match="feature with history"):
        histories_named(["Words0", "Words0"])
