"""How good predictions in context are, and what speaks for them."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from tests.models.context.test_predicted import WORDS, models, places_of
from tests.models.small_models import SOURCE
from xlate.kernels.search.predictions import PhraseSpans
from xlate.models.context.inspection import Quality, changes, influences, reliability
from xlate.text.vocabulary import EncodedText

# Instances of (probability, p(e|f), right) each, and how often their phrase was seen.
INSTANCES = [
    (5, [(0.7, 0.2, True), (0.2, 0.7, False), (0.1, 0.1, False)]),
    (9, [(0.5, 0.5, True), (0.5, 0.5, False)]),
    (10, [(0.05, 0.6, True), (0.95, 0.4, False)]),
    (5000, [(0.25, 0.3, False), (0.75, 0.7, True)]),
]


def quality() -> Quality:
    rows = [row for _, candidates in INSTANCES for row in candidates]
    p, share, right = (np.array(column) for column in zip(*rows, strict=True))
    offsets = np.cumsum([0] + [len(candidates) for _, candidates in INSTANCES])
    return Quality(offsets, np.log(p), np.log(share), right.astype(np.bool_), np.array([n for n, _ in INSTANCES]))


def test_accuracy_by_hand() -> None:
    made = quality()
    assert (made.accuracy, made.baseline) == (0.75, 0.75)
    bands = made.by_times()
    assert list(bands) == ["1-9", "10-99", "1000-"]
    assert [tuple(band.values()) for band in bands.values()] == [(2, 1.0, 0.5), (1, 0.0, 1.0), (1, 1.0, 1.0)]


def test_calibration_by_hand() -> None:
    best = quality().best
    assert best.count_B.tolist() == [0, 0, 0, 0, 0, 1, 0, 2, 0, 1]
    assert best.said_B[[5, 7, 9]] == pytest.approx([0.5, 0.725, 0.95])
    assert best.right_B[[5, 7, 9]] == pytest.approx([1.0, 1.0, 0.0])
    assert np.isnan(best.right_B[0])
    assert best.error == pytest.approx((0.5 + 2 * 0.275 + 0.95) / 4)
    assert quality().every.count_B.sum() == 9
    assert reliability(np.array([0.0, 1.0]), np.ones(2, np.bool_)).count_B.tolist() == [1, *[0] * 8, 1]
    assert math.isnan(reliability(np.zeros(0), np.zeros(0, np.bool_)).error)


SENTENCES = [["a", "b"], WORDS, [], ["c", "a", "b", "a", "b"], ["a"], ["b"]]


@pytest.mark.parametrize("alone", [False, True])
def test_what_is_said_to_change_a_phrase_adds_up_to_its_probabilities(alone: bool) -> None:
    model, _ = models(1, alone=alone, most=3)
    found = changes(model, WORDS)
    predicted = model.predict(WORDS)
    known = places_of(predicted)
    assert len(found) == len(predicted.spans.start_I)
    assert [one.largest for one in found] == sorted((one.largest for one in found), reverse=True)
    for one in found:
        added_C = one.weight_XC.sum(axis=0)
        if alone:
            score_C = model.weights.dense_D[0] * np.log(one.share_C) + added_C
            assert 1 / (1 + np.exp(-score_C)) == pytest.approx(one.probability_C)
        else:
            scaled_C = one.share_C * np.exp(added_C)
            assert scaled_C / scaled_C.sum() == pytest.approx(one.probability_C)
        places = [known[one.start, one.end, pair] for pair in one.pair_C.tolist()]
        assert np.exp(predicted.log_C[places]) == pytest.approx(one.probability_C)
        assert len(one.names) == len(one.weight_XC)


def test_features_are_counted_where_the_phrase_stands() -> None:
    model, phrases = models(0, most=9)
    table = phrases.table
    text = EncodedText.encode(SENTENCES, SOURCE)
    wanted = SOURCE.ids(["a", "b"]).tolist()
    row = next(p for p in range(len(table.source_phrases)) if table.source_phrases[p].tolist() == wanted)
    assert len(model.choices.of(np.array([row])).number_C)
    found = influences(model, row, text, ())
    spans = [
        (sentence, start, start + 2, row)
        for sentence, words in enumerate(SENTENCES)
        for start in range(len(words))
        if words[start : start + 2] == ["a", "b"]
    ]
    assert found.places == len(spans) == 3
    _, ids = model.contexts.of(text, [], PhraseSpans(*np.array(spans).T))
    counts = Counter(model.contexts.names(ids, table.source_phrases, SOURCE))
    assert dict(zip(found.names, found.count_X.tolist(), strict=True)) == {
        name: count for name, count in counts.items() if count < 3
    }
    assert found.weight_XC @ found.share_C == pytest.approx(np.zeros(len(found.names)))
    assert found.share_C.tolist() == sorted(found.share_C.tolist(), reverse=True)
