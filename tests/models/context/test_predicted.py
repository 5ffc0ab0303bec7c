"""Predictions in a sentence: against scores by hand, and as floats and options of the phrase model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.models.phrase.small_phrase_models import random_phrase_model, random_weights
from tests.models.small_models import SOURCE
from xlate.arrays.ragged import row_numbers
from xlate.candidates.context_instances import Translations
from xlate.features.context import ContextFeatures, TargetFeatures
from xlate.features.word_values import every_word
from xlate.kernels.learning.candidates import crossed_ids
from xlate.kernels.search.predictions import PhraseSpans, Predicted
from xlate.models.context.model import Classifier, ContextModel
from xlate.models.context.predicted import PredictedScores
from xlate.models.derivation import COPIED
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.model import PhraseModel, SentencePhrases
from xlate.phrases.occurrences import listed_pairs
from xlate.scoring.weights import Weights
from xlate.search.settings import PhraseSearch
from xlate.text.vocabulary import EncodedText

SIZE = 1 << 12
WORDS = ["b", "zz", "a", "c", "b"]


def no_factors(_: Sequence[str]) -> tuple[()]:
    return ()


def models(seed: int, *, alone: bool = False, most: int = 2) -> tuple[ContextModel, PhraseModel]:
    rng = np.random.default_rng(seed)
    phrases = random_phrase_model(rng, "hier")
    table = phrases.table
    targets = TargetFeatures(table, ("pair", "words"), len(phrases.target_vocabulary))
    model = ContextModel(
        factors=no_factors,
        contexts=ContextFeatures((every_word(SOURCE.words),), 2, "distance", len(table.source_phrases)),
        targets=targets,
        choices=Translations(listed_pairs(table, rng.integers(0, 4, len(table)), most), targets),
        vocabulary=SOURCE,
        longest=2,
        weights=Weights(np.array([0.7]), rng.normal(size=SIZE), ("forward",)),
        alone=alone,
    )
    return model, phrases


def by_hand(model: ContextModel, words: list[str], start: int, end: int) -> dict[int, float]:
    """ln p of the listed pairs of a span, feature by feature."""
    table, ids = model.targets.table, SOURCE.ids(words)
    row = [p for p in range(len(table.source_phrases)) if table.source_phrases[p].tolist() == ids[start:end].tolist()]
    if not row:
        return {}
    spans = PhraseSpans(*(np.array([number]) for number in (0, start, end, row[0])))
    _, context_ids = model.contexts.of(EncodedText.from_ids([ids]), [], spans)
    listed, scores = model.choices.listed, {}
    for n in range(listed.offsets_P1[row[0]], listed.offsets_P1[row[0] + 1]):
        pair = int(listed.pair_N[n])
        scores[pair] = 0.7 * np.float32(listed.log_share_N[n]) + sum(
            model.weights.sparse_F[crossed_ids(np.int64([x]), np.int64([t]), SIZE)[0]]
            for x in context_ids.tolist()
            for t in model.targets.of(np.array([pair]))[1].tolist()
        )
    if model.alone or not scores:
        return {pair: -np.log1p(np.exp(-score)) for pair, score in scores.items()}
    total = np.log(sum(np.exp(score) for score in scores.values()))
    return {pair: score - total for pair, score in scores.items()}


def places_of(found: Predicted) -> dict[tuple[int, int, int], int]:
    """The place of each candidate by its span and pair."""
    rows = row_numbers(found.offsets_I1)
    keys = zip(found.spans.start_I[rows].tolist(), found.spans.end_I[rows].tolist(), found.pair_C.tolist(), strict=True)
    return {key: place for place, key in enumerate(keys)}


@pytest.mark.parametrize("alone", [False, True])
def test_probabilities_are_those_by_hand(alone: bool) -> None:
    """In one compiled call, and step by step."""
    seen = 0
    for seed, words in enumerate((WORDS, ["zz"], ["a"], *[WORDS] * 4)):
        model, _ = models(seed, alone=alone, most=3)
        found, steps = model.predict(words), Classifier.predict(model, words)
        spans = [(a, b) for a in range(len(words)) for b in (a + 1, a + 2) if b <= len(words)]
        expected = {(*span, pair): p for span in spans for pair, p in by_hand(model, words, *span).items()}
        given = {key: float(found.log_C[place]) for key, place in places_of(found).items()}
        assert given == pytest.approx(expected, abs=1e-4)
        assert list(given) == list(places_of(steps))
        assert found.offsets_I1.tolist() == steps.offsets_I1.tolist()
        assert found.share_C.tolist() == steps.share_C.tolist()
        np.testing.assert_allclose(found.log_C, steps.log_C, rtol=1e-12, atol=1e-12)
        seen += len(given)
    assert seen > 15


class OfTheSentence(PredictedScores):
    """The same predictions, none of which is known before."""

    def anywhere(self, pair_N: NDArray[np.integer]) -> NDArray[np.float64]:
        """Nothing."""
        return np.full((len(pair_N), 1), np.nan)


@pytest.mark.parametrize("only", [False, True])
def test_pairs_that_cannot_be_options_are_left_out_beforehand(only: bool) -> None:
    fewer = 0
    for seed in range(4):
        model, phrases = models(seed, most=1)
        for limit in (1, 2, 50):
            found = []
            for kind in (PredictedScores, OfTheSentence):
                full = replace(phrases, in_sentence=kind(model, only=only))
                weights_D = random_weights(np.random.default_rng(seed), full.size)
                decoder = PhraseDecoder(full, weights_D, PhraseSearch(options=limit))
                found.append((decoder.space(WORDS).options, len(decoder.ranked._columns["unit_R"])))
            (one, few), (other, all_of_them) = found
            for name in ("cell_offsets_C1", "pair_O", "static_O", "alone_O", "more_OE", "backward_OK", "first_O"):
                assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
            fewer += few < all_of_them
    assert fewer > 2


def random_phrases(seed: int, predicted: Predicted, pairs: int) -> SentencePhrases:
    """All predictions, and any phrases of the sentence: words that stand for themselves, and pairs wherever."""
    rng, rows = np.random.default_rng(seed), row_numbers(predicted.offsets_I1)
    start_O = rng.integers(0, len(WORDS), 300)
    end_O = np.minimum(start_O + rng.integers(1, 4, 300), len(WORDS))
    start_O, end_O = np.append(predicted.spans.start_I[rows], start_O), np.append(predicted.spans.end_I[rows], end_O)
    return SentencePhrases(WORDS, start_O, end_O, np.append(predicted.pair_C, rng.integers(-1, pairs, 300)))


def test_what_is_not_predicted_has_the_share_of_the_table() -> None:
    """Half a prediction is the mean of both probabilities."""
    for seed in range(3):
        model, phrases = models(seed)
        predicted = model.predict(WORDS)
        asked = random_phrases(seed, predicted, len(phrases.table))
        known, keys = places_of(predicted), zip(*(column.tolist() for column in asked[1:]), strict=True)
        place_O = np.array([known.get(key, -1) for key in keys])
        assert place_O[: len(known)].tolist() == list(range(len(known)))
        there_O, copied_O = place_O >= 0, asked.pair_O == COPIED
        share_O = phrases.table.scores_B4[asked.pair_O, 2]
        expected_O = np.where(there_O, predicted.log_C[place_O], np.log(np.maximum(share_O, 1e-300)))
        expected_O = np.where(copied_O, 0.0, np.maximum(expected_O, -100.0))
        assert PredictedScores(model).of(asked)[:, 0] == pytest.approx(expected_O)
        only_O = PredictedScores(model, only=True).of(asked)[:, 0]
        assert only_O == pytest.approx(np.where(there_O | copied_O, expected_O, -np.inf))
        assert (~there_O & ~copied_O).sum() > 100
        half_C = PredictedScores(model, share=0.5).of(asked)[: len(known), 0]
        assert np.exp(half_C) == pytest.approx((np.exp(predicted.log_C) + np.exp(predicted.share_C)) / 2, abs=1e-6)


def test_pruned_options_leave_every_word_its_best() -> None:
    model, phrases = models(6, most=3)
    scores = PredictedScores(model, only=True, threshold=0.6, best=1)
    full = replace(phrases, in_sentence=scores)
    decoder = PhraseDecoder(full, random_weights(np.random.default_rng(1), full.size), PhraseSearch(options=50))
    options, found = decoder.space(WORDS).options, model.predict(WORDS)
    kept = {(int(a), int(b), int(p)) for a, b, p in zip(options.start_O, options.end_O, options.pair_O, strict=True)}
    expected = {(1, 2, COPIED)}
    for i, (first, last) in enumerate(zip(found.offsets_I1[:-1], found.offsets_I1[1:], strict=True)):
        best = int(first + np.argmax(found.log_C[first:last]))
        span = int(found.spans.start_I[i]), int(found.spans.end_I[i])
        if found.log_C[best] >= np.log(0.6) or span[1] - span[0] == 1:
            expected.add((*span, int(found.pair_C[best])))
    assert kept == expected
    assert decoder.translate(WORDS)[0].words


def test_the_limit_of_options_is_of_what_they_score_in_the_sentence() -> None:
    model, phrases = models(9, most=3)
    full = replace(phrases, in_sentence=PredictedScores(model))
    weights_D = random_weights(np.random.default_rng(4), full.size)
    # The prediction alone says what is best, and the other floats nothing.
    weights_D[:] = 0.0
    weights_D[full.sentence_slots] = 1.0
    every, one = (PhraseDecoder(full, weights_D, PhraseSearch(options=n)).space(WORDS).options for n in (1000, 1))
    for c in range(len(every.cell_offsets_C1) - 1):
        first, last = every.cell_offsets_C1[c : c + 2]
        kept = range(one.cell_offsets_C1[c], one.cell_offsets_C1[c + 1])
        assert (np.diff(every.alone_O[first:last]) <= 1e-12).all()
        assert [one.alone_O[o] for o in kept] == every.alone_O[first:last].tolist()[:1]
