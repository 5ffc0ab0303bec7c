"""Sentences in pieces: the pieces translated one by one, their lists put together, and nothing else changed."""

from __future__ import annotations

import itertools

import pytest

from tests.models.test_every_system import SYSTEMS
from xlate.text.tokens import cut

LONG = ["a", "b", "d", ".", "c", "a", ",", "b", "a", "b", "c", "d", "a", "a", "b", ".", "c"]


@pytest.mark.parametrize("distinct", [True, False])
def test_lists_of_a_long_sentence_are_the_best_sums_of_those_of_its_pieces(distinct: bool) -> None:
    whole = SYSTEMS["phrase"]().with_search(stack=50, nbest=7, distinct=distinct)
    spans, found = cut(LONG, 6), whole.with_search(max_words=6).translate(LONG)
    parts = [whole.translate(LONG[a:b]) for a, b in spans]
    every = sorted(itertools.product(*parts), key=lambda chosen: -sum(part.score for part in chosen))
    best: dict[tuple[object, ...], float] = {}
    for number, chosen in enumerate(every[:7]):
        words = [word for part in chosen for word in part.words]
        best.setdefault((*words, 0 if distinct else number), sum(part.score for part in chosen))
    assert whole.with_search(max_words=len(LONG)).translate(LONG) == whole.translate(LONG)
    assert spans == [(0, 4), (4, 7), (7, 13), (13, 17)]
    assert [derivation.score for derivation in found] == pytest.approx(list(best.values()))
    assert [(*derivation.words, 0 if distinct else n) for n, derivation in enumerate(found)] == list(best)
    for derivation in found:
        assert derivation.score == pytest.approx(float(whole.weights_D @ derivation.features_D))
        # Every source word is translated once, where it stands.
        assert sorted(n for step in derivation.blocks for n in range(*step.source_span)) == list(range(len(LONG)))
