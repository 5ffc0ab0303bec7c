"""Ranked pairs: what is asked for, when, and together with what, makes no difference to any bit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.phrase.small_phrase_models import random_phrase_model, random_weights, with_sparse
from xlate.models import unit_model
from xlate.models.phrase.options import RankedPairs, RankedPhrases


def of_source(ranked: RankedPhrases, row: int) -> RankedPairs:
    rows = np.array([row])
    ranked.rank(rows)
    return ranked.units(rows)


def bits(rows: RankedPairs) -> list[bytes]:
    return [array.tobytes() for array in vars(rows).values()]


@pytest.mark.parametrize(("at_a_time", "most", "sparse"), [(1, 1 << 20, True), (3, 0, False), (1 << 14, 0, True)])
def test_order_and_company_make_no_difference(monkeypatch, at_a_time, most, sparse):
    """Nor does it matter what was forgotten because it was too much, and is ranked anew."""
    monkeypatch.setattr(unit_model, "AT_A_TIME", at_a_time)
    monkeypatch.setattr(unit_model, "MOST", most)
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
    assert (apart._place_P > 0).sum() == (count if most else 1)
