"""The decoder, from left to right and bottom-up, against the enumeration of all derivations of the grammar."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.hierarchical.definition import score_rules_of
from tests.models.hierarchical.small_hierarchical_models import (
    enumerate_rules,
    random_rule_weights,
    random_rules,
    with_structure,
)
from xlate.errors import InputError
from xlate.models.hierarchical.decoder import HierarchicalDecoder, RuleSearch
from xlate.models.hierarchical.moves import tree

EXACT = {"stack": 10**9, "threshold": 0.0, "options": 1000, "pop_limit": 10**6, "nbest": 10**6, "distinct": False}
SENTENCES = ["a", "d", "zz a", "c a b", "b a c a", "a b zz c a", "d a b c a"]


@pytest.mark.parametrize(
    ("algorithm", "seed", "max_span", "structure"),
    [
        ("stack", 0, 10, False),
        ("stack", 3, 2, True),
        ("cube", 1, 2, False),
        ("cube", 11, 10, True),
        ("cky", 0, 10, False),
        ("cky", 1, 2, False),
    ],
)
def test_every_derivation_is_found(algorithm, seed, max_span, structure):
    rng = np.random.default_rng(seed)
    model, sparse_F = random_rules(rng, 2 if structure else 3), None
    if structure:
        model, sparse_F = with_structure(rng, model)
    weights_D = random_rule_weights(rng, model.size)
    search = RuleSearch(algorithm=algorithm, max_span=max_span, **EXACT)
    decoder = HierarchicalDecoder(model, weights_D, search, sparse_F=sparse_F)
    for sentence in SENTENCES[:5] if structure or algorithm == "cky" else SENTENCES:
        words = sentence.split()
        expected = enumerate_rules(model, weights_D, max_span, words, sparse_F)
        found = decoder.translate(words)
        assert [d.score for d in found] == pytest.approx([d.score for d in expected], abs=1e-6)
        # Lists are scored anew; this is what the search itself charged.
        charged = decoder.graph(words).best_paths(10**6)[1].tolist()
        assert charged == pytest.approx([d.score for d in expected], abs=1e-6)
        assert found[0].words == expected[0].words or found[0].score == pytest.approx(expected[1].score)
        best = decoder.with_search(nbest=1).translate(words)[0]
        assert best.score == pytest.approx(expected[0].score, abs=1e-6)
        for derivation in found[:: max(1, len(found) // 50)]:
            again = score_rules_of(model, weights_D, words, derivation.steps, sparse_F)
            np.testing.assert_allclose(derivation.features_D, again.features_D, atol=1e-6)
    if structure:
        without = decoder.changed(sparse_F=None).translate(words)
        assert [d.score for d in without] != pytest.approx([d.score for d in found], abs=1e-3)


def test_the_tree_of_a_derivation_nests_gaps():
    rng = np.random.default_rng(7)
    decoder = HierarchicalDecoder(random_rules(rng), random_rule_weights(rng), RuleSearch(**EXACT))
    for derivation in decoder.translate(["c", "a", "b", "a", "b"])[:200]:
        above = []
        for depth, step in tree(derivation.steps):
            del above[depth:]
            assert step.glued == (depth == 0)
            if above:
                assert step.span in above[-1].gaps
            above.append(step)


def test_structure_features_are_not_searched_bottom_up():
    rng = np.random.default_rng(5)
    model, sparse_F = with_structure(rng, random_rules(rng))
    weights_D = random_rule_weights(rng, model.size)
    with pytest.raises(InputError, match="across the borders of rules"):
        HierarchicalDecoder(model, weights_D, RuleSearch(algorithm="cky"), sparse_F=sparse_F)
