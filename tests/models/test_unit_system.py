"""Weights that systems of phrase pairs and of rules are given."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.hierarchical.small_hierarchical_models import random_rules
from tests.models.phrase.small_phrase_models import random_phrase_model, with_sparse
from xlate.errors import InputError
from xlate.models.hierarchical.decoder import HierarchicalDecoder, RuleSearch
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch

RNG = np.random.default_rng(1)
PHRASES, RULES = random_phrase_model(RNG, "hier"), random_rules(RNG)
SPARSE = with_sparse(RNG, PHRASES)
ONES = np.ones(len(SPARSE.sparse or ()))
REFUSED = {
    "too few floats": lambda: PhraseDecoder(PHRASES, np.ones(PHRASES.size - 1), PhraseSearch()),
    "no number": lambda: HierarchicalDecoder(RULES, np.full(RULES.size, np.nan), RuleSearch()),
    "sparse weights of a model without": lambda: HierarchicalDecoder(
        RULES, np.ones(RULES.size), RuleSearch(), sparse_F=np.ones(1)
    ),
    "a part of the sparse weights": lambda: PhraseDecoder(
        SPARSE, np.ones(SPARSE.size), PhraseSearch(), sparse_F=ONES[1:]
    ),
    "an infinite sparse weight": lambda: PhraseDecoder(
        SPARSE, np.ones(SPARSE.size), PhraseSearch(), sparse_F=ONES * np.inf
    ),
    "readable cubes": lambda: PhraseDecoder(PHRASES, np.ones(PHRASES.size), PhraseSearch(algorithm="cube"), fast=False),
}


@pytest.mark.parametrize("made", REFUSED.values(), ids=REFUSED)
def test_what_a_system_cannot_use(made) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError):
        made()


def test_without_sparse_weights_all_are_0() -> None:
    decoder = PhraseDecoder(SPARSE, np.ones(SPARSE.size), PhraseSearch())
    assert decoder.sparse_F.tolist() == [0.0] * len(ONES)
    assert decoder.changed(sparse_F=ONES).sparse_F.tolist() == ONES.tolist()
