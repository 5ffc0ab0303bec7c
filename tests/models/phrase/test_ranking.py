"""Ranked pairs: what is asked for, when, and together with what, makes no difference to any bit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.phrase.small_phrase_models import random_phrase_model, random_weights, with_sparse
from xlate.models import unit_model
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.options import RankedPairs, RankedPhrases


def of_source(ranked: RankedPhrases, row: int) -> RankedPairs:
    rows = np.array([row])
    ranked.rank(rows)
    return ranked.units(rows)


def bits(rows: RankedPairs) -> list[bytes]:
    return [array.tobytes() for array in vars(rows).values()]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("at_a_time", [1, 3, 1 << 14])
def test_order_and_company_make_no_difference(monkeypatch, sparse, at_a_time):
    monkeypatch.setattr(unit_model, "AT_A_TIME", at_a_time)
    rng = np.random.default_rng(3)
    model = random_phrase_model(rng, "hier", most=6)
    if sparse:
        model = with_sparse(rng, model, plain=("pair", "lengths"))
    weights_D = random_weights(rng, model.size)
    sparse_F = rng.normal(size=len(model.sparse)) if model.sparse is not None else None
    count = len(model.table.source_phrases)
    together, apart = (RankedPhrases(model, weights_D, 2, sparse_F) for _ in range(2))
    together.rank(np.arange(count))
    for row in rng.permutation(count).tolist():
        assert bits(of_source(together, row)) == bits(of_source(apart, row))
    assert together.sizes(np.arange(count)).max() == 2


def test_what_is_too_much_is_forgotten_and_ranked_anew(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, weights = random_phrase_model(rng, "hier"), random_weights(rng)
    sentences = [["a", "b", "c"], ["d"], ["c", "a"], ["b", "d", "a"]] * 3

    def found(most: int) -> tuple[list[tuple[list[str], float]], int]:
        monkeypatch.setattr(unit_model, "MOST", most)
        decoder = PhraseDecoder(model, weights, PhraseSearch(algorithm="stack", nbest=3))
        lists = [[(list(d.words), d.score) for d in decoder.translate(words)] for words in sentences]
        return [pair for one in lists for pair in one], int((decoder.ranked._place_P > 0).sum())

    kept, known = found(1 << 20)
    forgotten, few = found(0)
    assert kept == forgotten
    assert few < known
