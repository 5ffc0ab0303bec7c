"""What speaks for translations in context: explanations add up to the predictions, and count what is in the text."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.models.context.test_predicted import WORDS, models, places_of
from tests.models.small_models import SOURCE
from xlate.models.context.explained import changes, influences
from xlate.text.encoded import EncodedText

SENTENCES = [["a", "b"], WORDS, [], ["c", "a", "b", "a", "b"], ["a"], ["b"]]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("alone", [False, True])
def test_what_is_said_to_change_a_phrase_adds_up_to_its_probabilities(seed: int, alone: bool) -> None:
    model, _ = models(seed, alone=alone, most=3)
    found = changes(model, WORDS)
    predicted = model.predict(WORDS)
    known = places_of(predicted)
    assert len(found) == len(predicted.spans)
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
    assert found.places == 3
    expected: Counter[str] = Counter()
    for sentence in SENTENCES:
        around = ["<begin>", *sentence, "<end>"]
        for start in range(len(sentence) - 1):
            if sentence[start : start + 2] == ["a", "b"]:
                for place, at in (("-1", start), ("-2", start - 1), ("+1", start + 3), ("+2", start + 4)):
                    if 0 <= at < len(around) and around[at] in ("<begin>", "<end>", *SOURCE.words[3:]):
                        expected[f"all[{place}]={around[at]}"] += 1
    differing = {name: count for name, count in expected.items() if count < 3}
    assert dict(zip(found.names, found.count_X.tolist(), strict=True)) == differing
    assert found.weight_XC @ found.share_C == pytest.approx(np.zeros(len(found.names)))
    assert found.share_C.tolist() == sorted(found.share_C.tolist(), reverse=True)
