"""The left-to-right decoder beside the CKY decoder of the same grammar: the same translations with the same scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.hierarchical.bottom_up import bottom_up_decoder
from tests.models.hierarchical.small_hierarchical_models import random_rule_weights, random_rules, with_structure
from xlate.errors import InputError
from xlate.models.hierarchical.decoder import HierarchicalDecoder, RuleSearch
from xlate.models.hierarchical.model import BACKTRACK

EXACT = {"stack": 10**9, "threshold": 0.0, "options": 10**6, "algorithm": "stack"}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), words=st.lists(st.sampled_from(["a", "b", "c", "d", "zz"]), min_size=1, max_size=8))
@pytest.mark.parametrize("max_span", [3, 10])
def test_both_find_the_same_translations(max_span: int, seed: int, words: list[str]) -> None:
    rng = np.random.default_rng(seed)
    model, weights_D = random_rules(rng, 2), random_rule_weights(rng)
    weights_D[BACKTRACK] = 0.0
    cky = bottom_up_decoder(model, weights_D, max_span, 15)
    search = RuleSearch(max_span=max_span, nbest=15, **EXACT)
    ours = HierarchicalDecoder(model, weights_D, search).translate(words)
    theirs = cky.translate(words)
    assert [d.score for d in ours] == pytest.approx([t.score for t in theirs], abs=1e-4)
    chart = HierarchicalDecoder(model, weights_D, replace(search, algorithm="cky", pop_limit=10**9)).translate(words)
    assert [d.score for d in chart] == pytest.approx([d.score for d in ours], abs=1e-6)
    assert ours[0].words == theirs[0].words or ours[0].score == pytest.approx(ours[1].score, abs=1e-4)
    features = dict(zip(cky.feature_names, theirs[0].features_D, strict=True))
    assert features["RulePenalty0"] + features["CopiedWords"] == len(ours[0].steps)


def test_structure_features_are_not_searched_bottom_up() -> None:
    rng = np.random.default_rng(5)
    model, sparse_F = with_structure(rng, random_rules(rng))
    weights_D = random_rule_weights(rng, model.size)
    with pytest.raises(InputError, match="across the borders of rules"):
        HierarchicalDecoder(model, weights_D, RuleSearch(algorithm="cky"), sparse_F=sparse_F)


def test_pieces_of_a_long_sentence_keep_their_gaps() -> None:
    """A sentence of more than `max_words` words has the rules of its pieces where their words stand."""
    rng = np.random.default_rng(6)
    model, weights_D = random_rules(rng), random_rule_weights(rng)
    words = ["c", "a", "b", "a"] * 50
    decoder = HierarchicalDecoder(model, weights_D, RuleSearch(max_words=8, algorithm="stack"))
    found = decoder.translate(words)[0]
    for step in found.steps:
        assert step.span[0] <= step.source_span[0] <= step.source_span[1] <= step.span[1]
        assert all(step.span[0] <= begin < end <= step.span[1] for begin, end in step.gaps)
    assert any(step.gaps and step.span[0] >= 8 for step in found.steps)
    linked = {source for source, _ in decoder.word_links(found)}
    assert linked <= set(range(len(words)))
    assert max(linked) >= len(words) - 8
