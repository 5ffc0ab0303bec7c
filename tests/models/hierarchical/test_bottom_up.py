"""The left-to-right decoder beside the CKY decoder of whole grammars: the same translations with the same scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.synchronous import bottom_up_grammar
from tests.models.hierarchical.small_hierarchical_models import random_rule_weights, random_rules
from xlate.array_types import Floats
from xlate.formats.scfg import COPIES, LANGUAGE
from xlate.models.derivation import COPIED
from xlate.models.grammar.system import GrammarSystem
from xlate.models.hierarchical.decoder import HierarchicalDecoder, RuleSearch
from xlate.models.hierarchical.model import BACKTRACK, COLUMNS, LM, HierarchicalModel
from xlate.search.settings import GrammarSearch


def bottom_up_decoder(model: HierarchicalModel, weights_D: Floats, max_span: int) -> GrammarSystem:
    """The exact CKY decoder of a model under float weights; those of backtracks, which a grammar has not, are 0."""
    copied = float(model.rule_features(np.array([COPIED]))[0] @ weights_D)
    weights = dict(zip(COLUMNS, weights_D.tolist(), strict=True))
    del weights[COLUMNS[LM]]
    weights |= {LANGUAGE: float(weights_D[LM]), COPIES: copied}
    return GrammarSystem(
        bottom_up_grammar(model, max_span), weights, model.lm, GrammarSearch(pop_limit=10**9, nbest=15)
    )


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from(["a", "b", "c", "d", "zz"]), min_size=1, max_size=8),
    st.sampled_from([3, 10]),
)
def test_both_find_the_same_translations(seed: int, words: list[str], max_span: int) -> None:
    rng = np.random.default_rng(seed)
    model, weights_D = random_rules(rng, 2), random_rule_weights(rng)
    weights_D[BACKTRACK] = 0.0
    search = RuleSearch(stack=10**9, threshold=0.0, options=10**6, algorithm="stack", max_span=max_span, nbest=15)
    ours = HierarchicalDecoder(model, weights_D, search).translate(words)
    theirs = bottom_up_decoder(model, weights_D, max_span).translate(words)
    assert [d.score for d in ours] == pytest.approx([t.score for t in theirs], abs=1e-4)
    assert ours[0].words == theirs[0].words or ours[0].score == pytest.approx(ours[1].score, abs=1e-4)
